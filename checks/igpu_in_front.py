"""The integrated GPU is device 0, in front of the discrete card.

Why
  HIP numbers AMD GPUs in the order of the compute driver, and an integrated GPU can come first. A script that takes
  `cuda:0` then runs on it: slow, short of memory, and often with no code for it in the torch build ("HIP error: invalid
  device function").

Fix
  Hide it: `export HIP_VISIBLE_DEVICES=<number of the discrete card>` in the job, or turn the integrated GPU off in the
  firmware setup (BIOS) if nothing is connected to it.

References
  https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import VISIBLE_AMD, chosen_by, is_integrated, of_vendor
from rocdoctor.insight.texts.pasted import all_values, first_value, said, shown
from rocdoctor.insight.texts.symptoms import crashes
from rocdoctor.judging.check import (
    Confidence,
    Finding,
    Fix,
    Outcome,
    check,
    cite,
    finding,
    machine_with_amd,
    not_applicable,
    unknown,
    warning,
)
from rocdoctor.knowledge.lookup import arch_list_covers, gfx_target
from rocdoctor.model.evidence import Known, NotKnown, value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.shell_command import CommandText, shell
from rocdoctor.model.subject import MACHINE

_IN_USE, _OFF, _PROCESSOR = "device-in-use", "igpu-said-off", "processor-has-graphics"
_EXPLAINS = ("gpu-arch-not-built", "mixed-gpu-archs", "not-environment", "kernel-lib-arch-unsupported")


@check(machine_with_amd, cause="igpu-shadows-dgpu")
def igpu_in_front(machine: Machine) -> Outcome:
    gpus = [gpu for gpu in of_vendor(machine, "amd") if value_or(gpu.driver, "amdgpu") == "amdgpu"]
    integrated = [gpu for gpu in gpus if is_integrated(gpu)]
    discrete = [gpu for gpu in gpus if value_or(gpu.integrated, True) is False]
    if (used := _used(machine, integrated)) is not None and len(integrated) < len(gpus):
        return used
    if not discrete or not (integrated or said(machine, _PROCESSOR)):
        return not_applicable("no integrated AMD GPU alongside a discrete one")
    torch = machine.torch
    if value_or(torch.version, None) is not None and isinstance(torch.hip, Known) and torch.hip.value is None:
        return not_applicable("the installed torch does not use AMD GPUs")
    suspected = _suspected(machine, integrated, discrete)
    try:
        found = _in_front(machine, gpus, integrated, discrete)
    except NotKnown:
        if suspected is None:
            raise
        return suspected
    return found if found is not None and found.severity != "info" else suspected or found


def _in_front(machine: Machine, gpus: list[Gpu], integrated: list[Gpu], discrete: list[Gpu]) -> Finding | None:
    if not integrated:
        raise unknown("whether the processor's graphics are switched on is not in this evidence", "undecided")
    torch = machine.torch
    order = _torch_order(machine, gpus)
    sure: Confidence = "certain"
    if order is None:
        order, sure = _driver_order(gpus)
        if order[0] in integrated:
            if chosen_by(machine, VISIBLE_AMD) is not None:
                return None
            if not machine.environment.complete:
                raise unknown("the environment is not wholly known, and a variable may hide this GPU")
    if order[0] not in integrated:
        return None
    front = order[0]
    numbers = ",".join(str(place) for place, gpu in enumerate(order) if gpu in discrete)
    name = value_or(front.gfx, "")
    uncovered = bool(name) and isinstance(torch.arch_list, Known) and not arch_list_covers(torch.arch_list.value, name)
    no_code = f", for which this torch has no code ({name})" if uncovered else f" ({name})" if name else ""
    return finding(
        "warning" if isinstance(torch.hip, Known) else "info",
        f"HIP device 0 is the integrated GPU{no_code}: it comes before the discrete card, and no variable hides it.",
        evidence=(cite(front.pci_id), cite(front.kfd_node), cite(discrete[0].kfd_node)),
        fix=Fix(
            "Hide the integrated GPU (iGPU) from the job, or switch it off in the BIOS",
            command=shell("export HIP_VISIBLE_DEVICES={numbers:numbers}", numbers=numbers),
            sets=("HIP_VISIBLE_DEVICES", numbers),
            safety="safe",
            verify='python3 -c "import torch; print(torch.cuda.get_device_name(0))"',
        ),
        confidence=sure,
        subject=front.subject,
    )


def _used(machine: Machine, integrated: list[Gpu]) -> Finding | None:
    """What a program says of the GPU that it took: an integrated one, and no other."""
    named = said(machine, _IN_USE)
    targets = set(all_values(named, "gfx"))
    gpu = next((one for one in integrated if value_or(one.gfx, None) in targets), None)
    if gpu is None or targets != {value_or(gpu.gfx, None)}:
        return None
    numbers = _discrete(machine)
    return warning(
        f"The program runs on the integrated GPU ({value_or(gpu.gfx, '')}), not on the discrete card.",
        evidence=(*shown(named), cite(gpu.gfx)),
        fix=Fix(
            "Choose the discrete card with HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES (rocminfo lists the order), or "
            "switch the integrated GPU (iGPU) off in the BIOS",
            command=_hide(numbers),
            sets=("HIP_VISIBLE_DEVICES", numbers) if numbers else None,
            safety="safe",
            verify='python3 -c "import torch; print(torch.cuda.get_device_name(0))"',
        ),
        confidence="certain",
        subject=gpu.subject,
        explains=_EXPLAINS,
    )


def _suspected(machine: Machine, integrated: list[Gpu], discrete: list[Gpu]) -> Finding | None:
    """Programs crash, and both kinds of GPU are offered to them: of one they have no code, or code of the other."""
    crashed = crashes(machine)
    if not crashed or said(machine, _OFF) or chosen_by(machine, VISIBLE_AMD) is not None:
        return None
    if not integrated and any(isinstance(gpu.kfd_node, Known) for gpu in discrete):
        return None  # a list of what the runtime offers is here, and the processor's graphics is not in it
    named = said(machine, _PROCESSOR)
    inside = value_or(integrated[0].gfx, "") if integrated else first_value(named, "gfx") or ""
    if _native(inside):
        return None
    # A card without code in the usual builds fails by itself, too.
    native = [gpu for gpu in discrete if _native(value_or(gpu.gfx, ""))]
    card = (native or discrete)[0]
    numbers = _discrete(machine) if integrated else ""
    outside = value_or(card.gfx, value_or(card.name, "AMD"))
    where = cite(integrated[0].gfx) if integrated else shown(named[:1])[0]
    offered = "HIP offers them" if integrated else "the processor may offer them"
    return warning(
        f"Programs crash, and {offered} an integrated GPU ({inside or 'AMD'}) alongside the card ({outside}): most "
        f"builds "
        "have no code for it, and many programs load their code for every GPU that is offered.",
        evidence=(*shown(crashed)[:1], where, cite(card.gfx)),
        fix=Fix(
            "Hide the integrated GPU (iGPU) from the program with HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES "
            "(rocminfo lists the order), or switch it off in the BIOS; if this changes nothing, look elsewhere",
            command=_hide(numbers),
            sets=("HIP_VISIBLE_DEVICES", numbers) if numbers else None,
            safety="safe",
        ),
        confidence="possible",
        subject=integrated[0].subject if integrated else MACHINE,
        explains=_EXPLAINS if native else (),
    )


def _native(gfx: str) -> bool:
    target = gfx_target(gfx)
    return target is not None and target.wheel_native is True


def _discrete(machine: Machine) -> str:
    """HIP's numbers of the discrete cards; "" where these are not known."""
    gpus = of_vendor(machine, "amd")
    if not all(isinstance(gpu.hip_index, Known) for gpu in gpus):
        return ""
    return ",".join(map(str, sorted(value_or(gpu.hip_index, 0) for gpu in gpus if not is_integrated(gpu))))


def _hide(numbers: str) -> CommandText:
    """The setting that leaves the discrete cards."""
    if not numbers:
        return "export HIP_VISIBLE_DEVICES=NUMBER_OF_THE_CARD"
    return shell("export HIP_VISIBLE_DEVICES={numbers:numbers}", numbers=numbers)


def _torch_order(machine: Machine, gpus: list[Gpu]) -> list[Gpu] | None:
    """The order in which torch itself listed them."""
    by_bdf = {value_or(gpu.bdf, None): gpu for gpu in gpus}
    devices = sorted(machine.torch.devices, key=lambda one: one.index)
    order = [by_bdf.get(value_or(device.bdf, "?")) for device in devices]
    known = [gpu for gpu in order if gpu is not None]
    whole = [device.index for device in devices] == list(range(value_or(machine.torch.device_count, len(devices))))
    return known if known and whole and len(known) == len(order) else None


def _driver_order(gpus: list[Gpu]) -> tuple[list[Gpu], Confidence]:
    """HIP's own numbers, else the order of the compute driver's nodes, which HIP follows."""
    if all(isinstance(gpu.hip_index, Known) for gpu in gpus):
        return sorted(gpus, key=lambda gpu: value_or(gpu.hip_index, 0)), "certain"
    for gpu in gpus:
        if not isinstance(gpu.kfd_node, Known):
            raise unknown(gpu.kfd_node)
    return sorted(gpus, key=lambda gpu: value_or(gpu.kfd_node, 0)), "likely"
