"""torch sees fewer GPUs than this machine offers to it.

Why
  The driver lists the GPUs and the installed torch is built for them, yet `torch.cuda.device_count()` is smaller.
  Visibility variables, a job scheduler or a container narrow it on purpose. Without any of these a permission, an
  override or a library that fails at start is the reason.

Fix
  Look at the other findings first: a closed device node, a wrong HSA_OVERRIDE_GFX_VERSION and a broken import each give
  this symptom. `AMD_LOG_LEVEL=3 python -c "import torch; torch.cuda.device_count()"` shows what HIP stumbles over.

References
  https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
  https://pytorch.org/docs/stable/notes/hip.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import (
    VISIBLE_AMD,
    VISIBLE_NVIDIA,
    chosen_by,
    count_words,
    has_node,
    is_driven,
    is_integrated,
    of_vendor,
)
from rocdoctor.insight.software.torch_stack import of_interpreter
from rocdoctor.judging.check import (
    Fix,
    Outcome,
    check,
    cite,
    finding,
    info,
    machine_with_gpus,
    not_applicable,
    unknown,
)
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Gpu, Machine


@check(machine_with_gpus)
@of_interpreter
def torch_gpu_count_mismatch(machine: Machine) -> Outcome:
    torch = machine.torch
    if known(torch.version) is None:
        return not_applicable("torch is not installed in this interpreter")
    amd = value_or(torch.hip, None) is not None
    if not amd and known(torch.cuda) is None:
        return not_applicable("a CPU build of torch sees no GPU")
    if value_or(torch.import_error, None) is not None:
        return not_applicable("torch cannot be imported")
    vendor = "amd" if amd else "nvidia"
    if not of_vendor(machine, vendor):
        return not_applicable("torch is built for GPUs of another vendor")
    seen = known(torch.device_count)
    low = _offered(machine, vendor)
    if seen >= low:
        return None
    who = "amd" if amd else "nvidia"
    fewer = f"torch sees {count_words(seen)} of {low} that the driver offers"
    evidence = [cite(torch.device_count)]
    variable = chosen_by(machine, VISIBLE_AMD if amd else VISIBLE_NVIDIA)
    if variable is not None:
        fix = Fix(f"Change or unset {variable} where it is set, if this is not wanted", safety="safe")
        return info(f"{fewer}: {variable} is set.", evidence=evidence, fix=fix)
    if value_or(machine.kfd_nodes_hidden, 0) or value_or(machine.container.kind, "none") != "none":
        return info(
            f"{fewer}; a container or scheduler gives this process its share.",
            evidence=evidence,
            fix=Fix("If more are wanted, ask the scheduler or start the container with more devices", safety="manual"),
        )
    if not machine.environment.complete:
        raise unknown("the environment is not wholly known, and a variable may select GPUs")
    tool = "rocminfo" if who == "amd" else "nvidia-smi"
    fix = Fix(
        f"Compare with what {tool} lists for this user, then look at torch's messages at the start",
        command='python3 -c "import torch; print(torch.cuda.device_count())"',
        safety="safe",
    )
    return finding(
        "error" if seen == 0 else "warning",
        f"{fewer}, and no variable selects them.",
        evidence=tuple(evidence),
        fix=fix,
    )


def _offered(machine: Machine, vendor: str) -> int:
    """How many devices torch should see at least; the runtime may leave integrated GPUs out beside discrete ones."""
    if not (machine.kfd_complete if vendor == "amd" else machine.gpus_complete):
        raise unknown("the evidence may not show every GPU of the driver")
    gpus = of_vendor(machine, vendor)
    usable = [gpu for gpu in gpus if (has_node(gpu) if vendor == "amd" else is_driven(gpu))]
    usable = [gpu for gpu in usable if value_or(gpu.compute_mode, "").lower() != "prohibited"]
    if any(value_or(gpu.mig, False) for gpu in usable):
        raise unknown("MIG changes what torch counts", "undecided")
    discrete = [gpu for gpu in usable if not is_integrated(gpu)]
    return sum(_devices(gpu) for gpu in discrete or usable)


def _devices(gpu: Gpu) -> int:
    return max(1, len(gpu.compute_nodes))
