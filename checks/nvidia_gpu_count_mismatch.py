"""nvidia-smi counts a different number of GPUs than this machine shows.

Why
  The driver leaves out GPUs that it could not start, that are kept for a virtual machine, or that a container or a job
  scheduler hides from this process. A copied output may also show fewer GPUs than it counts. Training uses what the
  driver offers, so a GPU that is left out costs its share without any error.

Fix
  Compare `nvidia-smi -L` with `lspci -d 10de:`. For a GPU that is missing, look at the Xid and NVRM lines of the kernel
  log.

References
  https://docs.nvidia.com/deploy/nvidia-smi/index.html (Attached GPUs)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.nvidia import nvidia_gpus
from rocdoctor.insight.gpus.presence import is_reserved
from rocdoctor.judging.check import Fix, Outcome, check, cite, info, machine_with_nvidia
from rocdoctor.model.evidence import Known, known
from rocdoctor.model.facts import Machine


@check(machine_with_nvidia)
def nvidia_gpu_count_mismatch(machine: Machine) -> Outcome:
    attached = known(machine.nvidia_attached)
    usable = [gpu for gpu in nvidia_gpus(machine) if not is_reserved(gpu)]
    here = len(usable)
    cited = [cite(machine.nvidia_attached, f"{attached} attached")]
    if attached == here:
        return None
    if attached > here:
        return info(
            f"nvidia-smi counts {attached} GPUs, and this evidence shows {here} of them: this report covers only "
            f"{'that one' if here == 1 else 'those'} only.",
            evidence=cited,
            fix=Fix("Give the whole output", command="nvidia-smi -q -x", safety="safe"),
        )
    missing = [gpu.bdf.value for gpu in usable if isinstance(gpu.bdf, Known) and not isinstance(gpu.smi_index, Known)]
    named = f" ({', '.join(missing)})" if len(missing) == here - attached else ""
    return info(
        f"nvidia-smi counts {attached} GPUs, and {here} NVIDIA GPUs are on the PCI bus: "
        f"{here - attached} cannot be used "
        f"from here{named}.",
        evidence=cited,
        fix=Fix(
            "Find out whether a container or a job scheduler hides them, or the driver did not start them",
            command="lspci -d 10de:; sudo dmesg | grep -i nvrm",
            safety="safe",
        ),
    )
