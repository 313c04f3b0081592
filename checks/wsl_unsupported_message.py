"""A ROCm tool fails in the Windows Subsystem for Linux: unsupported there, or in this pairing of releases.

Why
  In WSL there is no amdgpu module and no /dev/kfd: the GPU is reached through /dev/dxg and the Windows driver. ROCm
  works there only for listed GPUs, with a listed pairing of Ubuntu release, ROCm release and Windows driver; rocm-smi
  and amd-smi do not work at all.

Fix
  Use the pairing in the ROCm on WSL guide (for example Ubuntu 22.04 or 24.04 with the ROCm release it names), install
  with amdgpu-install --usecase=wsl,rocm --no-dkms, and update the Windows driver to the one named. Or run native Linux.

References
  https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/docs/install/installrad/wsl/install-radeon.html
  https://learn.microsoft.com/windows/wsl/
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import (
    first_value,
    gpu_words,
    in_wsl,
    said,
    shown,
    training_gfx,
    training_gpus,
    vendors,
)
from rocdoctor.judging.check import Fix, NotApplicable, Outcome, Subjects, check, error, warning
from rocdoctor.knowledge.load import numbers
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Selected
from rocdoctor.model.subject import MACHINE

_SMI = ("amdgpu-not-loaded", "kfd-absent", "runtime-init-failed", "no-hip-device")
_UNSEEN = ("prose-only-cpu-agent", "prose-wsl-cpu-only", "torch-sees-no-gpu", "rocminfo-cpu-alone", "wddm-no-adapters")
_DXG = "HSA_ENABLE_DXG_DETECTION"
# GPUs and systems of the matrix in ROCm/librocdxg README.md (read 2026-11-24).
_LISTED_GFX = frozenset(("gfx1100", "gfx1101", "gfx1150", "gfx1151", "gfx1200", "gfx1201"))
_LISTED_UBUNTU = ("22.04", "24.04")
_LISTED_CARDS = "RX 7800 XT and up, PRO W7700 and up, RX 9000, AI PRO R9700, Ryzen AI 300 and Max"


def when_in_wsl(machine: Machine) -> Subjects[None]:
    """The machine, when it is, or is said to be, the Windows Subsystem for Linux."""
    if machine.messages and in_wsl(machine):
        return [Selected(MACHINE, None)]
    return NotApplicable("not in WSL")


@check(when_in_wsl, cause="wsl-unsupported")
def wsl_unsupported_message(machine: Machine) -> Outcome:
    place = said(machine, "wsl-environment")
    failed = said(machine, *_SMI)
    unseen = said(machine, *_UNSEEN)
    no_adapter = [one for one in place if "adapters" in one.values]
    amd = vendors(machine) == {"amd"} or bool(failed) or any("prose" not in one.values for one in place)
    if said(machine, "docker-device-node-missing"):
        return None  # its own row knows what to pass in place of the node
    if not amd or not (failed or no_adapter or unseen):
        return None
    why = _reasons(machine)
    os_id, os_version = value_or(machine.os.id, ""), value_or(machine.os.version_id, "")
    system = f"{os_id.capitalize()} {os_version}".strip() or "this distribution release"
    release = value_or(machine.rocm[0].version, None) if machine.rocm else None
    pairing = f"{system} with ROCm {release}" if release else system
    smi = [one for one in failed if one.values.get("tool") == "rocm-smi"]
    if smi:
        text = "rocm-smi and amd-smi do not work in WSL: there is no amdgpu module, and they are not supported there."
    elif no_adapter:
        text = (
            f"The ROCm runtime finds no GPU adapter in WSL ({pairing}): the GPU, the Windows driver "
            "and the release do not match."
        )
    elif failed:
        text = f"The ROCm runtime does not start in WSL ({pairing}): this combination is probably not supported."
    else:
        known = f" ({pairing})" if os_id or release else ""
        text = f"ROCm does not find the GPU in WSL{known}."
    text = " ".join((text, *why))
    return (error if not smi else warning)(
        text,
        evidence=shown((*(failed or no_adapter or unseen), *place)),
        fix=Fix(
            "Use a supported pairing from the ROCm on WSL guide (Ubuntu 22.04 or 24.04 and the ROCm release listed for "
            f"it, the matching Adrenalin driver in Windows, a listed GPU){_way(machine)}; or use native Linux. Do not "
            "install or load a kernel driver in WSL",
            verify="rocminfo | grep -A3 Agent",
        ),
        confidence="likely",
        explains=("kernel-module-not-loaded", "device-permission", "out-of-memory", "missing-shared-library"),
    )


def _reasons(machine: Machine) -> list[str]:
    """What of the machine is not in AMD's matrix for WSL, in sentences."""
    found = []
    outside = [gpu for gpu in training_gpus(machine) if value_or(gpu.gfx, "") not in ("", *_LISTED_GFX)]
    named = said(machine, "names-generation")
    old = first_value(named, "gcn") or (f"RDNA{rdna}" if (rdna := first_value(named, "rdna")) in ("1", "2") else None)
    if outside:
        gpu = f"{gpu_words(outside)} ({value_or(outside[0].gfx, '')})"
        found.append(
            f"{gpu} is not among the GPUs that are supported there ({_LISTED_CARDS}): native Linux is the "
            f"remaining option."
        )
    elif old and not training_gfx(machine):
        found.append(f"{old} is not supported there ({_LISTED_CARDS} are): native Linux is the remaining option.")
    if said(machine, "names-windows-10"):
        found.append("It needs Windows 11, and this is Windows 10.")
    version = value_or(machine.os.version_id, "")
    if value_or(machine.os.id, "") == "ubuntu" and version and not version.startswith(_LISTED_UBUNTU):
        found.append(f"Ubuntu {version} is not listed (22.04 and 24.04 are).")
    return found


def _way(machine: Machine) -> str:
    """How a release reaches the GPU: from 7.1 on by librocdxg, which up to 7.12 is loaded only when it is told to."""
    releases = [numbers(value_or(one.version, ""))[:2] for one in machine.rocm]
    if not any(one >= (7, 1) for one in releases):
        return ", installed with amdgpu-install --usecase=wsl,rocm --no-dkms so that the WSL runtime package is there"
    told = _DXG in machine.environment.variables or not any((7, 1) <= one < (7, 13) for one in releases)
    return ", with librocdxg installed for this ROCm" + ("" if told else f" and {_DXG}=1 exported")
