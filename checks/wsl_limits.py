"""This is the Windows Subsystem for Linux, which uses the Windows driver.

Why
  In WSL the GPU is reached through /dev/dxg and the Windows driver. There is no amdgpu or nvidia kernel module, no
  /dev/kfd and no PCI device of the GPU; rocm-smi and amd-smi do not work, and their complaint about a missing amdgpu
  module is expected. ROCm runs there only with the packages made for WSL, with listed Radeon cards, distribution
  releases and Windows drivers.

Fix
  Do not install a Linux kernel driver in WSL. Check the GPU with `rocminfo`, `nvidia-smi` (NVIDIA) or torch. If ROCm
  finds nothing, compare Windows driver, Ubuntu release and ROCm release with AMD's list for WSL, or use native Linux.

References
  https://rocm.docs.amd.com/projects/radeon/en/latest/docs/install/wsl/install-radeon.html
  https://docs.nvidia.com/cuda/wsl-user-guide/index.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.access import is_wsl
from rocdoctor.judging.check import Fix, Outcome, check, cite, info, not_applicable, quote, warning, whole_machine
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.question import Question

_SMI = ("amd-smi", "rocm-smi")
_LIST = "https://rocm.docs.amd.com/projects/radeon/en/latest/docs/compatibility/wsl/wsl_compatibility.html"


@check(whole_machine, cause="wsl-unsupported")
def wsl_limits(machine: Machine) -> Outcome:
    known(machine.container.kind)
    if not is_wsl(machine):
        return not_applicable("this is not WSL")
    kind = cite(machine.container.kind)
    failed = {Question.of(failure.question).program: failure for failure in machine.failures}
    smi = next((name for name in _SMI if name in failed), None)
    if "rocminfo" in failed:
        failure = failed["rocminfo"]
        system = value_or(machine.os.pretty_name, "")
        where = f" ({system})" if system else ""
        return warning(
            f"ROCm finds no GPU in WSL{where}: this combination of GPU, Windows driver, Ubuntu "
            "release and ROCm is not supported, or the WSL ROCm packages are missing.",
            evidence=[kind, quote(failure.question, failure.text or failure.why, failure.line)],
            fix=Fix(
                f"Use a combination that AMD lists for WSL ({_LIST}): Ubuntu release, ROCm with "
                "its WSL runtime, Windows "
                "driver",
                verify="rocminfo",
            ),
            explains=("device-permission", "kernel-module-not-loaded", "tool-failed"),
            confidence="likely",
        )
    if smi is not None:
        failure = failed[smi]
        # Where the runtime or torch lists the GPU, everything is as it should be.
        works = any(gpu.vendor == "amd" and isinstance(gpu.gfx, Known) for gpu in machine.gpus)
        works = works or value_or(machine.torch.device_count, 0) > 0
        return (info if works else warning)(
            f"{smi} does not work inside WSL: there is no amdgpu kernel module, so its error is expected.",
            evidence=[kind, quote(failure.question, failure.text or failure.why, failure.line)],
            fix=Fix(
                f"Ignore {smi} here and check the GPU with rocminfo or torch; do not install a kernel driver in WSL",
                command="rocminfo",
                safety="safe",
            ),
            explains=("kernel-module-not-loaded", "tool-failed"),
        )
    return info(
        "This is WSL: the GPU uses the Windows driver; rocm-smi, amd-smi, /dev/kfd and PCI facts do not exist here.",
        evidence=[kind],
        fix=Fix(
            "Use rocminfo, nvidia-smi or torch to see the GPU; look at drivers and sensors in Windows",
            safety="safe",
        ),
    )
