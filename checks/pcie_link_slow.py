"""The PCIe link of a busy GPU runs slower than it could.

Why
  A slower link (2.5 instead of 16 GT/s per lane, say) slows copies between host and GPU and collectives over PCIe.
  An idle GPU lowers the speed of its link on purpose to save power and raises it within microseconds, so a low speed
  means something only while the GPU works. Usual reasons under load: a riser or cable that cannot carry the higher
  speed, a speed that is forced in the firmware setup, a bad contact.

Fix
  Read the speed again while a job runs. Then look for "PCIe speed" or "Gen" in the firmware setup, set it to Auto, and
  try without a riser.

References
  Linux: drivers/pci/pci-sysfs.c (current_link_speed, max_link_speed)
  https://docs.kernel.org/gpu/amdgpu/thermal.html (pp_dpm_pcie)
"""

from __future__ import annotations

from rocdoctor.insight.links.pcie_path import (
    PathLink,
    asleep,
    ends_at_the_card,
    hypervisor_sign,
    slot_links,
    wired_on_purpose,
)
from rocdoctor.insight.texts.pasted import shown
from rocdoctor.insight.texts.symptoms import slowness
from rocdoctor.judging.check import (
    Fix,
    Outcome,
    check,
    cite,
    each_discrete_gpu,
    info,
    not_applicable,
    unknown,
    warning,
)
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, Machine, Message

_FAR = 3  # our choice: of two generations less; one generation less may be the slot's own
_BUSY_PERCENT = 50  # our choice: well above what a desktop draws, so that the link has had reason to speed up


@check(each_discrete_gpu)
def pcie_link_slow(machine: Machine, gpu: Gpu) -> Outcome:
    if sign := hypervisor_sign(machine, gpu):
        return not_applicable(sign)
    if value_or(gpu.pcie.removable, "") == "removable":
        return not_applicable("links of a Thunderbolt enclosure report speeds that they do not have")
    if gap := asleep(gpu):
        raise unknown(gap)
    links = slot_links(gpu)
    speeds = [(link, known(link.speed_gt_s), known(link.capable_speed_gt_s)) for link in links]
    slow = [(link, speed, capable) for link, speed, capable in speeds if speed < capable]
    far = next((one for one in slow if _FAR * one[1] <= one[2]), None)
    if far is not None and not isinstance(gpu.busy_percent, Known) and (complaints := slowness(machine)):
        return _suspected(machine, gpu, far, complaints)
    if ends_at_the_card(gpu):
        raise unknown("the GPU's own function may show a link inside the card; the bridges above it are not known")
    if not slow:
        return None
    busy = known(gpu.busy_percent)
    if busy < _BUSY_PERCENT:
        raise unknown(
            f"the GPU is {busy} % busy, and an idle link runs slower on purpose: look while a job runs", "undecided"
        )
    link, speed, capable = slow[0]
    if not _whole_link(link):
        raise unknown("how fast the slot can be is not in this evidence")
    laptop = wired_on_purpose(machine, gpu) is not None
    return (info if laptop else warning)(
        f"The PCIe link of this GPU runs at {speed:g} GT/s while the GPU is busy, although it can do "
        f"{capable:g} GT/s.{' Laptops may do this to save power.' if laptop else ''}",
        evidence=[
            cite(link.speed_gt_s, f"{speed:g} GT/s now"),
            cite(link.capable_speed_gt_s, f"can do {capable:g} GT/s"),
            cite(gpu.busy_percent, f"{busy} % busy"),
        ],
        confidence="likely",
        cause="" if laptop else "pcie-link-degraded",
        fix=Fix(
            "Read the speed again under load; set the PCIe speed to Auto in the firmware setup; try without a riser",
            command="cat /sys/bus/pci/devices/*/current_link_speed",
        ),
    )


def _suspected(
    machine: Machine, gpu: Gpu, slow: tuple[PathLink, float, float], complaints: tuple[Message, ...]
) -> Outcome:
    """A slow link, of which nobody knows whether the GPU was busy, and somebody who finds the GPU slow."""
    link, speed, capable = slow
    faster = next((other for other in machine.gpus if other is not gpu and _at_full_speed(other)), None)
    beside = " Another GPU of this machine had its full speed at that time." if faster is not None else ""
    return (warning if faster is not None else info)(
        f"The PCIe link of this GPU runs at {speed:g} GT/s, although it can do {capable:g} GT/s, and the writer "
        f"says that work on it is slow.{beside} An idle link may be slower on purpose.",
        evidence=[cite(link.speed_gt_s, f"{speed:g} GT/s now"), *shown(complaints)[:1]],
        confidence="possible",
        cause="pcie-link-degraded",
        fix=Fix(
            "Read the speed again under load (lspci -vv as root, LnkSta); if it is still low, set the slot's speed to "
            "Auto in "
            "the BIOS, and try another slot, without a riser or adapter",
            command="sudo lspci -vv | grep -E '^[0-9a-f:.]+ (VGA|3D|Display)|LnkCap:|LnkSta:'",
        ),
    )


def _at_full_speed(gpu: Gpu) -> bool:
    speed, capable = value_or(gpu.pcie.device.speed_gt_s, 0.0), value_or(gpu.pcie.device.max_speed_gt_s, 0.0)
    return 0 < capable <= speed


def _whole_link(link: PathLink) -> bool:
    """Whether the capability is that of both ends; nvidia-smi's maximum counts the slot in already."""
    if link.upper is not None and isinstance(link.upper.link.max_speed_gt_s, Known):
        return isinstance(link.lower.max_speed_gt_s, Known)
    return (
        isinstance(link.lower.max_speed_gt_s, Known) and link.lower.max_speed_gt_s.source.asked.program == "nvidia-smi"
    )
