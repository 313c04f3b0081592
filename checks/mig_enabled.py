"""A GPU is in MIG mode: it is split into instances, and no program can use all of it.

Why
  With Multi-Instance GPU a CUDA process sees one instance, with part of the memory and processors, and none of the
  other instances; GPUs in this mode do not exchange data over NVLink. That is good for many small jobs and wrong for
  training on whole GPUs. If a GPU in MIG mode has no instances, CUDA finds no device on it.

Fix
  If you want whole GPUs, stop all programs on the GPU, then run `sudo nvidia-smi -i N -mig 0` (older boards also need a
  GPU reset or a reboot). Otherwise select an instance: `CUDA_VISIBLE_DEVICES=MIG-<uuid>` (`nvidia-smi -L` lists them),
  or create them.

References
  https://docs.nvidia.com/datacenter/tesla/mig-user-guide/index.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.nvidia import equals_of
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_nvidia_gpu, info, not_applicable, warning
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.shell_command import shell


@check(each_nvidia_gpu)
def mig_enabled(machine: Machine, gpu: Gpu) -> Outcome:
    if not isinstance(gpu.mig, Known) and isinstance(gpu.compute_mode, Known):
        return not_applicable("nvidia-smi shows no MIG mode for this GPU")
    if not known(gpu.mig):
        return None
    evidence = [cite(gpu.mig, "MIG enabled")]
    devices = value_or(gpu.mig_devices, None)
    if isinstance(gpu.mig_devices, Known):
        evidence.append(cite(gpu.mig_devices, f"{devices} MIG devices"))
    number = value_or(gpu.smi_index, "N")
    off = shell("sudo nvidia-smi -i {gpu} -mig 0", gpu=number)
    if devices == 0:
        return warning(
            "This GPU is in MIG mode, but no instance has been created on it: CUDA finds no device there.",
            evidence=evidence,
            fix=Fix("Turn MIG off, or create instances", command=off, safety="manual", verify="nvidia-smi -L"),
            cause="visible-devices-conflict",
        )
    whole = [one for one in equals_of(machine, gpu) if isinstance(one.mig, Known) and not one.mig.value]
    parts = f"{devices} MIG device{'' if devices == 1 else 's'}" if devices else "MIG instances"
    if whole:
        return info(
            f"This GPU is split into {parts}, while {len(whole)} identical GPU{'' if len(whole) == 1 else 's'} of this "
            "machine can be used whole: a job over all GPUs does not work.",
            evidence=[*evidence, cite(whole[0].mig, "MIG disabled on an identical GPU")],
            fix=Fix(
                "Give jobs the whole GPUs only (CUDA_VISIBLE_DEVICES), or turn MIG off on this one",
                command=off,
                safety="manual",
                verify="nvidia-smi -L",
            ),
            confidence="possible",
        )
    return info(
        f"This GPU is split into {parts} (MIG mode): a process can use one of them, and training on the whole GPU is "
        "not possible.",
        evidence=evidence,
        fix=Fix("If whole GPUs are wanted, turn MIG off while nothing runs on it", command=off, safety="manual"),
    )
