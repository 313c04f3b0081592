"""The PCIe link of a GPU uses fewer lanes than it could.

Why
  Fewer lanes mean slower copies between host and GPU, and slower collectives between GPUs that are joined only by
  PCIe. Compute on the GPU itself is not slower. Usual reasons: the card is not seated well, dust or damage on the
  contacts, a riser or mining adapter, a slot with few lanes, lanes shared with another slot or an M.2 drive.

  The slot's link is what counts. AMD cards since Vega and Intel cards have a PCIe switch on board: the GPU itself then
  shows a link inside the card, so the bridges above it are checked instead. Cards built for x8 or x4, laptops and
  Thunderbolt enclosures are not faulty.

Fix
  Look at both ends with `lspci -vv` (`LnkCap` is what an end can do, `LnkSta` what the link does; as root). Then reseat
  the card, remove the riser, use the slot next to the processor, and look in the firmware setup for lane
  splitting (bifurcation).

References
  Linux: drivers/pci/pci.c, pcie_bandwidth_available
  https://docs.kernel.org/PCI/index.html
"""

from __future__ import annotations

from rocdoctor.insight.links.pcie_path import (
    PathLink,
    asleep,
    ends_at_the_card,
    equal_gpus,
    hypervisor_sign,
    narrowest,
    slot_links,
    wired_on_purpose,
)
from rocdoctor.judging.check import (
    Confidence,
    Evidence,
    Fix,
    Outcome,
    Severity,
    check,
    cite,
    each_discrete_gpu,
    finding,
    not_applicable,
    unknown,
)
from rocdoctor.knowledge.lookup import rule
from rocdoctor.model.evidence import Fact, Known, NotKnown, known, value_or
from rocdoctor.model.facts import Gpu, Machine

_CAUSE = "pcie-link-degraded"
_FEW = 2  # lanes: no board has a slot for a GPU with so few; it takes a riser, an adapter or a fault
_BUILT_WITH = 8  # lanes that a card can use at least when x1 or x2 is far below its design
_SERVER_TARGETS = ("gfx908", "gfx90a", "gfx942", "gfx950")
_FIX = Fix(
    "Reseat the card, remove risers and adapters, use the slot that is wired to the processor, and look for lane "
    "splitting in the firmware setup",
    command="sudo lspci -vv | grep -E '^[0-9a-f]|LnkCap:|LnkSta:'",
)
_DESIGN = Fix(
    "Compare with the manufacturer's data sheet, if transfers between GPU and main memory matter", safety="safe"
)


@check(each_discrete_gpu)
def pcie_link_narrow(machine: Machine, gpu: Gpu) -> Outcome:
    if sign := hypervisor_sign(machine, gpu):
        return not_applicable(sign)
    if gap := asleep(gpu):
        raise unknown(gap)
    links = slot_links(gpu)
    missing: NotKnown | None = None
    for place, link in enumerate(links):
        try:
            found = _judge(machine, gpu, link, own=place == 0)
        except NotKnown as problem:
            missing = missing or problem
            continue
        if found is not None:
            return found
    if missing is not None:
        raise missing
    return None


def _judge(machine: Machine, gpu: Gpu, link: PathLink, own: bool) -> Outcome:
    width = known(link.width)
    inside = own and ends_at_the_card(gpu)
    if inside and gpu.vendor == "intel":
        raise unknown("this card has a PCIe switch, and the slot's link is not in this evidence")
    capable, card, port = link.capable_width, link.lower.max_width, link.upper.link.max_width if link.upper else None
    evidence = [cite(link.width, f"x{width} now")]
    if isinstance(capable, Known) and width < capable.value:
        if not link.both_ends and not isinstance(card, Known):
            raise unknown("how many lanes the card has is not in this evidence")
        return _below(machine, gpu, link, width, capable.value, [*evidence, _cited(capable)])
    if isinstance(card, Known) and isinstance(port, Known) and width < card.value:
        return _slot_is_narrow(machine, gpu, width, card.value, [*evidence, _cited(port), _cited(card)])
    if own and not isinstance(capable, Known) and width <= _FEW and gpu.vendor != "intel":
        message = f"The PCIe link of this GPU has a width of x{width}, far less than discrete GPUs are built for."
        return _warn(machine, gpu, message, evidence, "likely")
    if inside:
        raise unknown("the GPU's own function may show a link inside the card; the bridges above it are not known")
    known(capable)
    return None


def _cited(fact: Fact[int]) -> Evidence:
    return cite(fact, f"can do x{value_or(fact, 0)}")


def _warn(machine: Machine, gpu: Gpu, message: str, evidence: list[Evidence], confidence: Confidence) -> Outcome:
    reason = wired_on_purpose(machine, gpu)
    if reason is None:
        return finding("warning", message, evidence=evidence, fix=_FIX, confidence=confidence, cause=_CAUSE)
    return finding("info", f"{message} In this {reason} that is most likely by design.", evidence=evidence, fix=_DESIGN)


def _below(machine: Machine, gpu: Gpu, link: PathLink, width: int, capable: int, evidence: list[Evidence]) -> Outcome:
    wider = [other for other in equal_gpus(machine, gpu) if value_or(narrowest(other), 0) > width]
    severity: Severity = "warning"
    if not link.both_ends and width > _FEW and not _counts_the_slot(link):
        if width >= _least_lanes():
            raise unknown(f"the link has x{width} of the card's x{capable}, and the lanes of the slot are not known")
        message = f"The PCIe link of this GPU has a width of x{width}, although the card can do x{capable}."
        return finding("info", f"{message} It is not known whether its slot has more.", evidence=evidence, fix=_FIX)
    if wider:
        best = narrowest(wider[0])
        evidence.append(cite(best, f"x{value_or(best, 0)} on an identical card"))
    elif width >= _least_lanes():
        severity = "warning" if _compute_card(machine, gpu) and not equal_gpus(machine, gpu) else "info"
    who = "both ends of the link" if link.both_ends else "the card"
    message = f"The PCIe link of this GPU has a width of x{width}, although {who} can do x{capable}."
    if severity == "info":
        return finding("info", f"{message} Slots that share their lanes do this.", evidence=evidence, fix=_FIX)
    return _warn(machine, gpu, message, evidence, "certain" if link.both_ends or wider else "likely")


def _counts_the_slot(link: PathLink) -> bool:
    """Whether the maximum is that of card and slot together, as nvidia-smi gives it."""
    most = link.lower.max_width
    return isinstance(most, Known) and most.source.asked.program == "nvidia-smi"


def _slot_is_narrow(machine: Machine, gpu: Gpu, width: int, card: int, evidence: list[Evidence]) -> Outcome:
    message = (
        f"The PCIe link of this GPU has a width of x{width}: its slot has no more lanes, while the card can do x{card}."
    )
    if width <= _FEW and card >= _BUILT_WITH:
        return _warn(machine, gpu, message, evidence, "certain")
    if width >= _least_lanes():
        return None
    return finding(
        "info",
        message,
        evidence=evidence,
        fix=Fix(
            "Move the card to a slot with more lanes, if there is one and transfers to the host matter", safety="manual"
        ),
    )


def _least_lanes() -> int:
    entry = rule("pcie-width")
    return int(entry.number("min_width")) if entry else _BUILT_WITH


def _compute_card(machine: Machine, gpu: Gpu) -> bool:
    """Whether it is a card for servers, whose slots are not split unseen."""
    if value_or(gpu.pci_class, "").startswith("12") or value_or(gpu.gfx, "") in _SERVER_TARGETS:
        return True
    # Graphics of laptops have no outputs of their own either.
    return value_or(gpu.pci_class, "").startswith(("0302", "0380")) and not value_or(machine.laptop, True)
