"""torch is a CPU-only build on a machine that has a GPU for training.

Why
  A CPU-only torch has no GPU code at all: `torch.cuda.is_available()` is False whatever the driver does, and training
  runs on the processor, slower by far. It comes from the CPU index, from a distribution package, or from an index that
  had no GPU build for this Python version, so that pip took what it found.

Fix
  Reinstall torch from the wheel index of this machine's GPUs, in the same environment, together with torchvision and
  torchaudio. Keep the index in the requirements file, or the next `pip install` may replace the build again.

References
  https://pytorch.org/get-started/locally/
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/3rd-party/pytorch-install.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import is_driven
from rocdoctor.insight.software.torch_command import right_build
from rocdoctor.insight.software.torch_stack import (
    backend,
    compute_gpus,
    for_training,
    installed,
    kept_out,
    needs_torch,
    of_interpreter,
    wheels_have,
)
from rocdoctor.judging.check import Fix, Outcome, check, cite, error, info, machine_with_gpus, not_applicable, warning
from rocdoctor.model.evidence import first_known, known, value_or
from rocdoctor.model.facts import Machine

_EXPLAINS = ("torch-gpu-count-mismatch", "gpu-arch-not-built")


@check(needs_torch(machine_with_gpus), cause="wrong-backend-build")
@of_interpreter
def torch_cpu_only_build(machine: Machine) -> Outcome:
    version = installed(machine.torch)
    if known(backend(machine.torch)) != "cpu":
        return None
    gpus = [gpu for vendor in ("amd", "nvidia") for gpu in compute_gpus(machine, vendor)]
    if not gpus:
        for gpu in machine.gpus:
            if gpu.vendor in ("amd", "nvidia") and not kept_out(machine, gpu.vendor) and is_driven(gpu) is None:
                known(gpu.driver)
        return not_applicable("no GPU here that torch could use")
    wanted = [gpu for gpu in gpus if for_training(gpu)]
    sure = [gpu for gpu in wanted if wheels_have(gpu)]
    first = (sure or wanted or gpus)[0]
    name = value_or(first.name, "GPU")
    text = f"torch {version} is a CPU-only build, so it cannot use the {name} of this machine."
    evidence = [
        cite(machine.torch.version),
        cite(backend(machine.torch), "built for neither ROCm nor CUDA"),
        cite(first.driver),
    ]
    fix = right_build(machine, first)
    if sure:
        return error(text, evidence=evidence, fix=fix, explains=_EXPLAINS)
    unsure = [gpu for gpu in wanted if wheels_have(gpu) is None]
    if unsure:
        # Where nothing tells what kind of GPU it is, there may be no wheel for it, or it may be an integrated one.
        known(first_known(unsure[0].pci_id, unsure[0].name))
        return warning(text, evidence=evidence, fix=fix, explains=_EXPLAINS, confidence="likely")
    return info(
        f"{text} Official wheels have no code made for this GPU either, or it is an integrated one.",
        evidence=evidence,
        fix=Fix(
            "Keep it if you want to train on the CPU; otherwise build torch for this GPU or use a community build",
            safety="manual",
        ),
    )
