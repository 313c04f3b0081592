"""Which combination of card, system, driver, ROCm and torch a machine runs, as the lists of AMD speak of it."""

from __future__ import annotations

from typing import Literal

from rocdoctor.insight.gpus.access import enclosure
from rocdoctor.insight.gpus.gfx_override import physical_gfx
from rocdoctor.insight.gpus.presence import is_integrated
from rocdoctor.knowledge.gpus.profiles import gpu_candidates
from rocdoctor.knowledge.install import Combination
from rocdoctor.model.evidence import NOT_ASKED, Known, Unknown, value_or
from rocdoctor.model.facts import Gpu, Machine


def combination(machine: Machine, gpu: Gpu, rocm: str, torch: str = "") -> Combination | Unknown:
    """What this GPU runs with, for a ROCm release; Unknown where the lists do not speak of such a machine.

    In a container only the image is seen, and AMD has lists of their own for virtual machines.
    """
    if enclosure(machine) is not None:
        return Unknown("the host system cannot be seen from inside a container")
    release = value_or(machine.kernel.release, "")
    wsl = "microsoft" in release.lower()
    guest = machine.container.virtual_machine
    if not wsl and isinstance(guest, Known) and guest.value:
        return Unknown("AMD has other lists for virtual machines")
    gfx = physical_gfx(machine, gpu)
    if not isinstance(gfx, Known):
        return gfx
    return Combination(
        gfx.value,
        _names(machine, gpu),
        rocm,
        value_or(machine.os.id, "").lower(),
        value_or(machine.os.version_id, ""),
        release,
        _driver(machine),
        torch,
        wsl,
    )


def _names(machine: Machine, gpu: Gpu) -> tuple[str, ...]:
    """The parts that the card may be; of an integrated GPU the processor, as AMD's lists name it; () if not known."""
    if is_integrated(gpu):
        model = value_or(machine.cpus.model, "")
        return (model,) if "w/ radeon" in model.lower() else ()
    if not isinstance(gpu.pci_id, Known):
        return ()
    device = gpu.pci_id.value.split(":")[-1]
    found = gpu_candidates("amd", device, value_or(gpu.revision, None), value_or(gpu.compute_units, None))
    return tuple(dict.fromkeys(name for profile in found for name in profile.names))


def _driver(machine: Machine) -> Literal["dkms", "kernel", ""]:
    told = machine.drivers.get("amdgpu", {}).get("version", NOT_ASKED)
    if isinstance(told, Known):
        return "dkms"
    return "kernel" if told.reason == "absent" else ""
