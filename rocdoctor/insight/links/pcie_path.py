"""The physical PCIe links between a GPU and the CPU, and what may be concluded from them.

The hops of a GPU are bridges. A link has two ends, so the chain "root port, switch, GPU" is taken in pairs from the GPU
upwards: the GPU and the port above it, then the switch's upstream port and the port above that. Between the two ports
of one switch there is no link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from rocdoctor.knowledge.lookup import chip_of_device
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Unknown, value_or
from rocdoctor.model.facts import Gpu, LinkState, Machine, Pcie, PcieHop

Number = TypeVar("Number", int, float)

# Families without a switch on the board: the GPU's own function is the end of the slot's link.
_WITHOUT_SWITCH = ("gcn1", "gcn2", "gcn3", "gcn4")
# Bridges of AMD's boards carry AMD's graphics vendor id; those of Vega 10 carry the id of AMD's processors.
_VEGA10_BRIDGES = (("1022", "1470"), ("1022", "1471"))
_MOBILE_WORDS = ("laptop", "mobile", "max-q", "notebook")

# Bit errors of a lane that PCI Express tolerates: one in 10^12 (PCI Express Base Specification, physical layer). A link
# of 32 GT/s x16, the widest and fastest without forward error correction, may thus repeat this many packets a second.
SPECIFIED_ERRORS_PER_S = 32e9 * 16 * 1e-12


@dataclass(frozen=True, slots=True)
class PathLink:
    """One link: ``upper`` is the end nearer to the CPU, None when the evidence does not show it."""

    upper: PcieHop | None
    lower: LinkState

    @property
    def width(self) -> Fact[int]:
        """The lanes in use; unknown when the two ends disagree."""
        return _same(self.lower.width, self.upper.link.width if self.upper else NOT_ASKED, "width")

    @property
    def speed_gt_s(self) -> Fact[float]:
        """The speed in use; unknown when the two ends disagree."""
        return _same(self.lower.speed_gt_s, self.upper.link.speed_gt_s if self.upper else NOT_ASKED, "speed")

    @property
    def both_ends(self) -> bool:
        """Whether it is known how wide each end could go."""
        return (
            self.upper is not None
            and isinstance(self.upper.link.max_width, Known)
            and isinstance(self.lower.max_width, Known)
        )

    @property
    def capable_width(self) -> Fact[int]:
        """The lanes that both ends have; of one end only when the other is unknown."""
        return _lower_of(self.lower.max_width, self.upper.link.max_width if self.upper else NOT_ASKED)

    @property
    def capable_speed_gt_s(self) -> Fact[float]:
        """The speed that both ends can do; of one end only when the other is unknown."""
        return _lower_of(self.lower.max_speed_gt_s, self.upper.link.max_speed_gt_s if self.upper else NOT_ASKED)


def _same(lower: Fact[Number], upper: Fact[Number], what: str) -> Fact[Number]:
    if isinstance(lower, Known) and isinstance(upper, Known) and lower.value != upper.value:
        return Unknown(f"the two ends of the PCIe link report a different {what}", "undecided", lower.source)
    return upper if isinstance(upper, Known) else lower


def _lower_of(lower: Fact[Number], upper: Fact[Number]) -> Fact[Number]:
    if isinstance(lower, Known) and isinstance(upper, Known):
        return lower if lower.value <= upper.value else upper
    return upper if isinstance(upper, Known) else lower


def path_links(pcie: Pcie) -> tuple[PathLink, ...]:
    """Every link of the path, the one at the GPU first."""
    chain = [None, *pcie.hops]
    links = [PathLink(chain.pop(), pcie.device)]
    while len(chain) > 2:
        lower = chain.pop()
        links.append(PathLink(chain.pop(), lower.link if lower else LinkState()))
    if len(chain) == 2 and chain[1] is not None:  # the port above is not in the evidence
        links.append(PathLink(None, chain[1].link))
    return tuple(links)


def has_board_switch(gpu: Gpu) -> bool:
    """Whether the board may hold a switch, so that the GPU's own function shows a link inside the card.

    AMD's boards from Vega on and Intel's have one: the link of the slot is the one above it.
    """
    if gpu.vendor == "intel":
        return True
    if gpu.vendor != "amd":
        return False
    chip = chip_of_device(gpu.pci_id.value.split(":")[-1]) if isinstance(gpu.pci_id, Known) else None
    if chip is not None:
        return chip.family not in _WITHOUT_SWITCH
    return not value_or(gpu.gfx, "").startswith(("gfx6", "gfx7", "gfx8"))


def _board_switch_shown(gpu: Gpu) -> bool:
    if len(gpu.pcie.hops) < 3:
        return False
    port = gpu.pcie.hops[-1]
    vendor, device = value_or(port.vendor_id, ""), value_or(port.device_id, "")
    if gpu.vendor == "amd":
        return vendor == "1002" or (vendor, device) in _VEGA10_BRIDGES
    return gpu.vendor == "intel" and vendor == "8086"


def slot_links(gpu: Gpu) -> tuple[PathLink, ...]:
    """The links outside the card, the slot's first."""
    links = path_links(gpu.pcie)
    return links[1:] if _board_switch_shown(gpu) else links


def ends_at_the_card(gpu: Gpu) -> bool:
    """Whether the first of ``slot_links`` may really lie inside the card, since no bridge above it is known."""
    return has_board_switch(gpu) and not gpu.pcie.hops


def asleep(gpu: Gpu) -> Unknown | None:
    """Why nothing can be said of the link of a sleeping GPU, None for one that is awake."""
    if value_or(gpu.runtime_status, "") == "suspended":
        return Unknown("the GPU sleeps, and so does its PCIe link", "suspended")
    return None


def hypervisor_sign(machine: Machine, gpu: Gpu) -> str | None:
    """Why the link figures are those of a hypervisor, not of lanes; None when nothing says so.

    A discrete GPU on the root bus itself exists in guests only: a real one sits below a root port.
    """
    guest = value_or(machine.container.virtual_machine, None)
    if guest is not None:
        article = "an" if guest[:1].lower() in "aeiou" else "a"
        return f"in {article} {guest} guest the hypervisor decides what the link reports"
    if any(hop.virtual for hop in gpu.pcie.hops):
        return "a port above the GPU is emulated by a hypervisor"
    bus = gpu.bdf.value.split(":")[1] if isinstance(gpu.bdf, Known) else ""
    if bus == "00" and not value_or(gpu.integrated, False) and gpu.vendor != "intel":
        return "the GPU sits on the root bus, which only a hypervisor does"
    return None


def wired_on_purpose(machine: Machine, gpu: Gpu) -> str | None:
    """Why few lanes are the design of this machine: a laptop or an external enclosure; None otherwise."""
    if value_or(gpu.pcie.removable, "") == "removable":
        return "external enclosure"
    name = value_or(gpu.name, "").lower()
    if value_or(machine.laptop, False) or any(word in name for word in _MOBILE_WORDS):
        return "laptop"
    return None


def equal_gpus(machine: Machine, gpu: Gpu) -> list[Gpu]:
    """The other cards of the same model, found by device id or else by name; empty when neither is known."""

    def model(one: Gpu) -> str | None:
        return value_or(one.pci_id, None) or value_or(one.name, None)

    mine = model(gpu)
    if mine is None:
        return []
    return [one for one in machine.gpus if one.index != gpu.index and one.vendor == gpu.vendor and model(one) == mine]


def narrowest(gpu: Gpu) -> Fact[int]:
    """The fewest lanes in use on the way to the GPU, links inside the card left out."""
    return _least([link.width for link in slot_links(gpu)])


def capable(gpu: Gpu) -> tuple[Fact[int], Fact[float]]:
    """The lanes and the GT/s that the whole way could do, whatever it does now."""
    links = slot_links(gpu)
    return _least([link.capable_width for link in links]), _least([link.capable_speed_gt_s for link in links])


def _least(facts: Sequence[Fact[Number]]) -> Fact[Number]:
    known = [fact for fact in facts if isinstance(fact, Known)]
    return min(known, key=lambda fact: fact.value) if known else facts[0]
