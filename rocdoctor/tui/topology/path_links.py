"""The PCIe links between the CPU and the GPUs as limbs of a tree, and which limb of a way carries least."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rocdoctor.insight.links.pcie import bandwidth_gb_s, words
from rocdoctor.insight.links.pcie_path import (
    PathLink,
    asleep,
    hypervisor_sign,
    path_links,
    slot_links,
    wired_on_purpose,
)
from rocdoctor.model.evidence import Fact, Known, Source, value_or
from rocdoctor.model.facts import Gpu, LinkState, Machine, Nic, PcieHop

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Limb:
    """One link. ``lower`` is the port of a switch at its lower end, None where that is the GPU itself.

    ``inside``: both ends are on the card. ``key`` names it by the addresses of its ends.
    """

    key: Key
    link: PathLink
    lower: PcieHop | None
    inside: bool

    @property
    def upper(self) -> PcieHop | None:
        """The port at its upper end; None where the evidence does not show it."""
        return self.link.upper

    @property
    def shown(self) -> bool:
        """Whether there is anything to say of it; a GPU on the root bus has no link."""
        facts: list[Fact[float] | Fact[int]] = [*_facts(self.link.lower)]
        return self.upper is not None or any(isinstance(fact, Known) for fact in facts)


def limbs(gpu: Gpu) -> tuple[Limb, ...]:
    """The links on the way to a GPU, from the CPU down."""
    hops, links = gpu.pcie.hops, path_links(gpu.pcie)
    inside = len(links) - len(slot_links(gpu))
    found: list[Limb] = []
    for at, link in enumerate(links):
        lower = hops[-2 * at] if at else None
        key = (link.upper.bdf if link.upper else "", lower.bdf if lower else f"gpu {gpu.index}")
        found.append(Limb(key, link, lower, at < inside))
    return tuple(reversed(found))


def now_words(link: PathLink) -> str:
    """What a link is trained to: ``16 GT/s x16``; what is not known of it is said."""
    speed, width = link.speed_gt_s, link.width
    if isinstance(speed, Known) and isinstance(width, Known):
        return words(speed.value, width.value)
    if isinstance(speed, Known):
        return f"{speed.value:g} GT/s, {_missing(link, 'lanes')}"
    if isinstance(width, Known):
        return f"x{width.value}, {_missing(link, 'speed')}"
    return "link not known"


def _missing(link: PathLink, what: str) -> str:
    """Why a figure is not there: nobody says it, or the two ends say different ones."""
    upper = link.upper.link if link.upper else LinkState()
    ends: tuple[Fact[float] | Fact[int], ...] = (link.lower.speed_gt_s, upper.speed_gt_s)
    if what == "lanes":
        ends = (link.lower.width, upper.width)
    return f"ends disagree on the {what}" if all(isinstance(end, Known) for end in ends) else f"{what} not known"


def could_words(link: PathLink) -> str:
    """What both ends could do where that is more than the link does now, or is not known; else nothing."""
    speed, width = link.capable_speed_gt_s, link.capable_width
    if not isinstance(speed, Known) and not isinstance(width, Known):
        return "limit not known" if isinstance(link.speed_gt_s, Known) or isinstance(link.width, Known) else ""
    if not _more(link.speed_gt_s, speed) and not _more(link.width, width):
        return ""
    if isinstance(speed, Known) and isinstance(width, Known):
        return f"could be {words(speed.value, width.value)}"
    return f"could be {speed.value:g} GT/s" if isinstance(speed, Known) else f"could be x{value_or(width, '?')}"


def _more(now: Fact[float] | Fact[int], most: Fact[float] | Fact[int]) -> bool:
    return isinstance(most, Known) and not (isinstance(now, Known) and now.value >= most.value)


def slower_than_it_could(link: PathLink) -> bool:
    """Whether the lanes run below the speed of both ends, as those of an idle GPU do."""
    return isinstance(link.speed_gt_s, Known) and _more(link.speed_gt_s, link.capable_speed_gt_s)


def rate_gb_s(link: PathLink) -> float | None:
    """GB/s that a link carries now, one direction; None where that is not known."""
    return _rate(link.speed_gt_s, link.width)


def _rate(speed: Fact[float], width: Fact[int]) -> float | None:
    return bandwidth_gb_s(speed.value, width.value) if isinstance(speed, Known) and isinstance(width, Known) else None


def narrowest_limb(machine: Machine, gpu: Gpu) -> tuple[Limb, str] | None:
    """The limb that carries least on the way to a GPU, and the word for it; None where nothing may be compared.

    Links inside the card do not count, nor do figures of hypervisors, of external enclosures and of sleeping GPUs. Of
    equals the one nearest to the CPU is taken, and where all carry the same, none. ``narrowest now``: not so at the
    speeds that the links could have, which an idle GPU lowers.
    """
    if hypervisor_sign(machine, gpu) or asleep(gpu) or wired_on_purpose(machine, gpu) == "external enclosure":
        return None
    outside = [limb for limb in limbs(gpu) if not limb.inside]
    rated = [(limb, rate) for limb in outside if (rate := rate_gb_s(limb.link)) is not None]
    if len({rate for _, rate in rated}) < 2:
        return None
    least = min(rate for _, rate in rated)
    found = next(limb for limb, rate in rated if rate == least)
    at_best = [_rate(limb.link.capable_speed_gt_s, limb.link.width) for limb, _ in rated]
    mine = _rate(found.link.capable_speed_gt_s, found.link.width)
    settled = [one for one in at_best if one is not None]
    lasting = mine is None or len(settled) < len(rated) or (mine == min(settled) and mine < max(settled))
    word = "narrowest" if lasting else "narrowest now"
    return found, word if len(rated) == len(outside) else f"{word} of those known"


def sources(limb: Limb) -> Iterator[Source]:
    """Where the figures of both ends of a link were read."""
    ends = [limb.link.lower, *([limb.upper.link] if limb.upper else [])]
    facts: list[Fact[float] | Fact[int]] = [fact for end in ends for fact in _facts(end)]
    for port in (limb.upper, limb.lower):
        if port is not None:
            facts += [port.aer_correctable, port.aer_nonfatal, port.aer_fatal]
    yield from (fact.source for fact in facts if isinstance(fact, Known))


def _facts(end: LinkState) -> tuple[Fact[float] | Fact[int], ...]:
    return end.speed_gt_s, end.width, end.max_speed_gt_s, end.max_width


@dataclass(slots=True)
class Branch:
    """A limb with what hangs at its lower end: a GPU, or a switch with further limbs and network cards."""

    limb: Limb | None
    gpu: Gpu | None = None
    below: dict[Key, Branch] = field(default_factory=dict)
    nics: list[Nic] = field(default_factory=list)

    def gpus(self) -> list[Gpu]:
        """The GPUs behind it."""
        own = [self.gpu] if self.gpu is not None else []
        return own + [gpu for branch in self.below.values() for gpu in branch.gpus()]


def grown(gpus: Iterable[Gpu]) -> dict[Key, Branch]:
    """The ways to some GPUs as one tree: what they share is there once."""
    roots: dict[Key, Branch] = {}
    for gpu in gpus:
        level, branch = roots, Branch(None)
        for limb in limbs(gpu):
            branch = level.setdefault(limb.key, Branch(limb if limb.shown else None))
            level = branch.below
        branch.gpu = gpu
    return roots


def hung(roots: dict[Key, Branch], nics: Sequence[Nic]) -> list[Nic]:
    """Put each network card at the lowest switch that it shares with a GPU; those that share none come back."""
    switches: dict[str, Branch] = {}

    def gather(level: dict[Key, Branch]) -> None:
        for branch in level.values():
            if branch.limb is not None and branch.limb.lower is not None:
                switches[branch.limb.lower.bdf] = branch
            gather(branch.below)

    gather(roots)
    left: list[Nic] = []
    for nic in nics:
        shared = [bdf for bdf in value_or(nic.bridges, ()) if bdf in switches]
        if shared:
            switches[shared[-1]].nics.append(nic)
        else:
            left.append(nic)
    return left
