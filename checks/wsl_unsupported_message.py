"""A ROCm tool fails in the Windows Subsystem for Linux: unsupported there, or in this pairing of releases.

Why
  In WSL there is no amdgpu module and no /dev/kfd: the GPU is reached through /dev/dxg and the Windows driver. ROCm
  works there only for listed GPUs, with a listed pairing of Ubuntu release, ROCm release and Windows driver; rocm-smi
  and amd-smi do not work at all.

Fix
  Use the pairing of the ROCm on WSL guide (for example Ubuntu 22.04 or 24.04 with the ROCm release it names), install
  with amdgpu-install --usecase=wsl,rocm --no-dkms, and update the Windows driver to the one named; or run native Linux.

References
  https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/docs/install/installrad/wsl/install-radeon.html
  https://learn.microsoft.com/windows/wsl/
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import said, shown, vendors, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error, warning
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine

_SMI = ("amdgpu-not-loaded", "kfd-absent", "runtime-init-failed", "no-hip-device")


@check(when_said("wsl-environment"), cause="wsl-unsupported")
def wsl_unsupported_message(machine: Machine) -> Outcome:
    place = said(machine, "wsl-environment")
    failed = said(machine, *_SMI)
    no_adapter = [one for one in place if "adapters" in one.values]
    amd = vendors(machine) == {"amd"} or bool(failed) or any("prose" not in one.values for one in place)
    if not amd or not (failed or no_adapter):
        return None
    os_id, os_version = value_or(machine.os.id, ""), value_or(machine.os.version_id, "")
    system = f"{os_id.capitalize()} {os_version}".strip() or "this distribution release"
    release = value_or(machine.rocm[0].version, None) if machine.rocm else None
    pairing = f"{system} with ROCm {release}" if release else system
    smi = [one for one in failed if one.values.get("tool") == "rocm-smi"]
    if smi:
        text = "rocm-smi and amd-smi do not work in WSL: there is no amdgpu module, and they are not supported there."
    elif no_adapter:
        text = f"The ROCm runtime finds no GPU adapter in WSL ({pairing}): GPU, Windows driver or release do not fit."
    else:
        text = f"The ROCm runtime does not start in WSL ({pairing}): this pairing is probably not a supported one."
    return (error if not smi else warning)(
        text,
        evidence=shown((*failed, *place)),
        fix=Fix(
            "Use a supported pairing from the ROCm on WSL guide (Ubuntu 22.04 or 24.04 and the ROCm release listed for "
            "it, the matching Adrenalin driver in Windows, a listed GPU), installed with amdgpu-install "
            "--usecase=wsl,rocm --no-dkms so that the WSL runtime package is there; or use native Linux. Do not "
            "install or load a kernel driver in WSL",
            verify="rocminfo | grep -A3 Agent",
        ),
        confidence="likely",
        explains=("kernel-module-not-loaded", "device-permission", "out-of-memory", "missing-shared-library"),
    )
