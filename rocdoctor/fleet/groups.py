"""Which nodes are equals, what is usual among them, and what of a node is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from rocdoctor.compare.traits import OF_GPU, OF_MACHINE, Trait, number, same, shown
from rocdoctor.fleet.classes import CERTAIN, DIFFERENT, GPU_MISSING, HOST_BELOW, LIKELY, LINK_BELOW
from rocdoctor.fleet.record import NodeRecord, SeenGpu, Sighting, Traits
from rocdoctor.fleet.verdicts import FleetFinding
from rocdoctor.judging.subjects import number_ranges
from rocdoctor.model.lazy_re import regex

# Shares and numbers here are our judgement; no measured fleet stands behind them.
FEWEST = 5  # of fewer nodes more than half says little
_ROLLOUT = 0.2  # two values that each so many have: a change under way
_ON_PURPOSE = frozenset(("islands", "environment", "container", "python"))
# What names the settings under which figures may be compared.
_OF_FIGURES = ("vbios", "firmware", "driver", "compute_partition", "memory_partition", "mig", "power_cap_w")
_LINKS = {
    "pcie_width": "pcie-link-degraded",
    "pcie_speed_gt_s": "pcie-link-degraded",
    "pcie_capable_gt_s": "pcie-link-degraded",
    "fabric_peers": "gpu-hardware-fault",
    "nvlinks": "gpu-hardware-fault",
    "memory_bytes": "gpu-hardware-fault",
    "compute_units": "gpu-hardware-fault",
}
_HOST = frozenset(("memory_bytes", "sockets", "nics"))
_BOUGHT_SHARE, _BOUGHT = 0.02, 2  # more nodes than that with one smaller value were bought so, and have lost nothing
_NOT_UP = frozenset(
    ("armed", "dormant", "down", "init", "lowerlayerdown", "notpresent", "testing")
)  # they carry nothing
_MOST_PORTS = 240  # signs that say which ports a node has
_CARDS = regex(r"(\d{1,4}) x (\S{1,40}) ([^,]{1,60})")


@cache
def _traits() -> tuple[dict[str, Trait], dict[str, Trait]]:
    return {one.trait.key: one.trait for one in OF_MACHINE}, {one.trait.key: one.trait for one in OF_GPU}


def chips_of(gpus: Sequence[SeenGpu]) -> str:
    """The chips of a node, each once: a node that lost a GPU stays among its equals."""
    return "+".join(sorted({one.chip for one in gpus if one.chip is not None}))


def kinds(records: Iterable[NodeRecord], before: Mapping[str, str]) -> dict[str, str]:
    """The kind of each node: chips and processor. One that shows no GPU is what it was, or what its processor says."""
    found: dict[str, str] = {}
    bare: list[NodeRecord] = []
    for one in records:
        chips = chips_of(one.gpus)
        was = before.get(one.node, "")
        if chips and one.traits.get("cpu") is None and was.startswith(f"{chips} "):
            found[one.node] = was
        elif chips:
            found[one.node] = f"{chips} {one.traits.get('cpu') or ''}".strip()
        else:
            bare.append(one)
    counts = Counter(found.values())
    for one in bare:
        cpu = one.traits.get("cpu")
        alike = [kind for kind, _ in counts.most_common() if cpu and kind.endswith(f" {cpu}")]
        found[one.node] = before.get(one.node) or (alike[0] if alike else f"no GPU {cpu or ''}".strip())
    return found


def same_board(before: str, now: str) -> bool:
    """Whether a node of this kind may be what it was before: it shows no chip that it did not have."""
    return set(now.split(" ")[0].split("+")) <= set(before.split(" ")[0].split("+"))


def figure_group(kind: str, record: NodeRecord) -> str:
    """Nodes whose figures may be compared: of one kind, with equal firmware, driver, mode and power cap."""
    if not record.gpu_traits:
        return kind
    values = [Counter(one.get(key) for one in record.gpu_traits).most_common(1)[0][0] for key in _OF_FIGURES]
    return "|".join((kind, record.traits.get("amdgpu") or record.traits.get("nvidia") or "", *map(str, values)))


@dataclass(slots=True)
class Norm:
    """What is usual among the nodes of one kind; empty where they are too few to say."""

    kind: str
    count: int
    traits: dict[str, str] = field(default_factory=dict)
    gpu_traits: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    hosts: dict[str, Counter[str | None]] = field(default_factory=dict)  # how many nodes have which value
    sizes: Counter[int] = field(default_factory=Counter)  # how many nodes have how many GPUs
    bdfs: tuple[str | None, ...] | None = None
    gpus: int | None = None
    rollouts: list[FleetFinding] = field(default_factory=list)


def norm(kind: str, records: Sequence[NodeRecord]) -> Norm:
    """What more than half of those that know it have; a value that is being rolled out is usual for nobody."""
    found = Norm(kind, len(records))
    if len(records) < FEWEST:
        return found
    of_machine, of_gpu = _traits()
    for key, trait in of_machine.items():
        counts = Counter(one.traits.get(key) for one in records)
        if key in _HOST:
            found.hosts[key] = counts
        value = _majority(found, trait, counts)
        if value is not None:
            found.traits[key] = value
    whole = [one for one in records if one.complete and one.gpus]
    sizes = found.sizes = Counter(len(one.gpus) for one in whole)
    if sizes and sizes.most_common(1)[0][1] * 2 > len(whole) >= FEWEST:
        found.gpus = sizes.most_common(1)[0][0]
        whole = [one for one in whole if len(one.gpus) == found.gpus]
        places = Counter(tuple(gpu.bdf for gpu in one.gpus) for one in whole).most_common(1)[0]
        found.bdfs = places[0] if places[1] * 2 > len(whole) else None
    sets = Counter(id(one.gpu_traits) for one in whole)
    by_id = {id(one.gpu_traits): one.gpu_traits for one in whole}
    for key, trait in of_gpu.items():
        if key in ("bdf", "name"):
            continue
        rows: Counter[tuple[str | None, ...]] = Counter()
        for which, count in sets.items():
            rows[tuple(one.get(key) for one in by_id[which])] += count
        first = _first_values(found, trait, rows)
        if first is not None:
            found.gpu_traits[key] = first
    for title in {title for one in records for title in one.tables}:
        digests: Counter[str | None] = Counter(one.tables.get(title) for one in records)
        table = _majority(found, None, digests, title)
        if table is not None:
            found.tables[title] = table
    return found


def _first_values(found: Norm, trait: Trait, rows: Counter[tuple[str | None, ...]]) -> tuple[str | None, ...] | None:
    known = Counter({row: count for row, count in rows.items() if None not in row})
    total = sum(known.values())
    if total < FEWEST:
        return None
    told: Counter[str | None] = Counter({row[0] if len(set(row)) == 1 else None: count for row, count in known.items()})
    if _rolled_out(found, trait, told, total):
        return None
    row, count = known.most_common(1)[0]
    return row if count * 2 > total else None


def _majority(found: Norm, trait: Trait | None, counts: Counter[str | None], what: str = "") -> str | None:
    known: Counter[str | None] = Counter({value: count for value, count in counts.items() if value is not None})
    total = sum(known.values())
    if total < FEWEST or _rolled_out(found, trait, known, total, what):
        return None
    value, count = known.most_common(1)[0]
    if trait is not None and trait.kind != "text":
        count = sum(times for other, times in known.items() if other is not None and same(trait, str(value), other))
    return value if count * 2 > total else None


def _rolled_out(found: Norm, trait: Trait | None, known: Mapping[str | None, int], total: int, what: str = "") -> bool:
    """Whether two values are each so common that a change is under way, which is then said of the fleet."""
    large = [
        (value, count)
        for value, count in Counter(known).most_common(2)
        if value is not None and count > _ROLLOUT * total
    ]
    if len(large) < 2 or (trait is not None and same(trait, str(large[0][0]), str(large[1][0]))):
        return False
    words = trait.words if trait is not None else f"{what}s"
    if trait is None or trait.key not in _ON_PURPOSE:
        (one, many), (other, fewer) = large
        told = "two sets" if trait is None else f"{shown(trait, str(one))} and {shown(trait, str(other))}"
        change = "a change that is under way, so no node counts as odd"
        message = f"{words}: {told}, on {many} and {fewer} of {total} nodes; {change}"
        found.rollouts.append(FleetFinding("rollout", words, fewer, total, found.kind, message))
    return True


class Oddities:
    """What sets nodes of a kind apart; worked out once for each distinct set of traits."""

    def __init__(self, among: Norm) -> None:
        self.norm = among
        self._known: dict[tuple[str, int], tuple[Sighting, ...]] = {}
        self._blinds: dict[tuple[str, int], bool] = {}
        self._kept: list[object] = []  # whose identity is a key stays alive

    def of(self, record: NodeRecord, had: int | None = None, ports: str = "") -> list[Sighting]:
        """Sightings of the centre; ``had`` GPUs and ``ports`` are what the node itself had before."""
        found = list(self._once("machine", record.traits, lambda: self._machine(record.traits)))
        if (lost := self._ports_lost(record.traits.get("nics"), ports)) is not None:
            found = [lost, *(one for one in found if one.check not in (HOST_BELOW, f"{DIFFERENT}.nics"))]
        here, usual = len(record.gpus), self.norm.gpus or had
        if record.complete and usual is not None and here < usual:
            if here < (had or 0) or not self._bought(here, usual):
                found.append(self._missing(record, usual))
            else:
                found.append(_different(f"{here} GPUs, {usual} on peer nodes; it never had more.", "gpus"))
        elif not record.complete and usual is not None and here < usual:
            found.append(_different(f"{here} GPUs listed, {usual} on peer nodes; the list may be cut short.", "gpus"))
        elif record.gpu_traits and record.complete and self.norm.gpus in (None, here):
            found += self._once("gpus", record.gpu_traits, lambda: self._gpus(record.gpu_traits))
        for title, value in self.norm.tables.items():
            mine = record.tables.get(title)
            if mine is not None and mine != value:
                found.append(_different(f"The {title}s differ from those of {self.norm.count} peer nodes.", title))
        return found

    def undecided(self, record: NodeRecord, had: int | None) -> frozenset[str]:
        """What cannot be told from this record, for want of values here or of equals."""
        if not record.complete and len(record.gpus) < (self.norm.gpus or had or 1):
            return CERTAIN | LIKELY  # of GPUs that it does not list no check says anything
        found: set[str] = set()
        if not record.complete or (self.norm.gpus or had) is None:
            found.add(GPU_MISSING)
        usual = self.norm.traits
        if _HOST.isdisjoint(usual) or self._blind("machine", record.traits, lambda: self._blind_to_host(record.traits)):
            found.add(HOST_BELOW)
        links = self.norm.gpu_traits
        compared = record.complete and len(record.gpus) == self.norm.gpus and not links.keys().isdisjoint(_LINKS)
        gpus = record.gpu_traits
        if not compared or self._blind("gpus", gpus, lambda: any(map(self._blind_to_links, gpus))):
            found.add(LINK_BELOW)
        return frozenset(found)

    def _blind_to_host(self, traits: Traits) -> bool:
        return any(_one_sided(key in self.norm.traits, traits.get(key)) for key in _HOST)

    def _blind_to_links(self, gpu: Traits) -> bool:
        return any(_one_sided(key in self.norm.gpu_traits, gpu.get(key)) for key in _LINKS)

    def _blind(self, what: str, key: object, make: Callable[[], bool]) -> bool:
        at = (what, id(key))
        if at not in self._blinds:
            self._kept.append(key)
            self._blinds[at] = make()
        return self._blinds[at]

    def _once(self, what: str, key: object, make: object) -> tuple[Sighting, ...]:
        at = (what, id(key))
        if at not in self._known:
            self._kept.append(key)
            self._known[at] = tuple(make())  # type: ignore[operator]
        return self._known[at]

    def _machine(self, traits: Traits) -> Iterable[Sighting]:
        named = _traits()[0]
        for key, value in self.norm.traits.items():
            mine, trait = traits.get(key), named[key]
            if mine is None or key in _ON_PURPOSE or same(trait, value, mine):
                continue
            words = f"{trait.words}: {shown(trait, mine)}; {shown(trait, value)} on peer nodes."
            if key in _HOST and self._lost(key, mine, value):
                yield Sighting(HOST_BELOW, "", "warning", "certain", None, _capital(words))
            else:
                yield _different(_capital(words), key)

    def _bought(self, gpus: int, usual: int) -> bool:
        """Whether a node that never showed more GPUs may well be meant so: half of them or none, or several alike."""
        return gpus * 2 <= usual or self.norm.sizes[gpus] > max(_BOUGHT, _BOUGHT_SHARE * self.norm.count)

    def _lost(self, key: str, mine: str, usual: str) -> bool:
        """Whether a node has less than its equals because something broke; some are bought with less."""
        if mine == "none" or self.norm.hosts[key][mine] > max(_BOUGHT, _BOUGHT_SHARE * self.norm.count):
            return False
        if key != "nics":
            return _less(mine, usual)
        here, there = _rates(mine), _rates(usual)
        return here is not None and there is not None and here < there

    def _ports_lost(self, mine: str | None, before: str) -> Sighting | None:
        """A node that had as many as its equals was not bought with fewer, or none, however many have lost some."""
        usual = self.norm.traits.get("nics")
        if mine is None or usual is None or not before:
            return None
        here, there, had = _rates(mine), _rates(usual), _rates(before)
        if here is None or there is None or had is None or here >= min(there, had):
            return None
        words = f"InfiniBand and RoCE ports: {mine}; {before} here earlier, {usual} on peer nodes."
        return Sighting(HOST_BELOW, "", "warning", "certain", None, words)

    def _gpus(self, gpus: Sequence[Traits]) -> Iterable[Sighting]:
        named = _traits()[1]
        for key, row in self.norm.gpu_traits.items():
            trait = named[key]
            odd: dict[str, list[int]] = {}
            for at, (value, one) in enumerate(zip(row, gpus, strict=False)):
                mine = one.get(key)
                if mine is None or value is None or same(trait, value, mine):
                    continue
                if key in _LINKS and _less(mine, value):
                    words = f"{trait.words}: {shown(trait, mine)}; {shown(trait, value)} on peer nodes."
                    yield Sighting(LINK_BELOW, _LINKS[key], "warning", "certain", at, _capital(words))
                else:
                    odd.setdefault(f"{shown(trait, mine)}; {shown(trait, value)} on peer nodes", []).append(at)
            for words, places in odd.items():
                yield _different(_capital(f"{trait.words} of gpu {number_ranges(places)}: {words}."), key)

    def _missing(self, record: NodeRecord, usual: int) -> Sighting:
        here = {one.bdf for one in record.gpus}
        gone = [(at, bdf) for at, bdf in enumerate(self.norm.bdfs or ()) if bdf is not None and bdf not in here]
        named = len(gone) == usual - len(record.gpus)
        where = f" (none at {', '.join(str(bdf) for _, bdf in gone[:4])})" if named else ""
        words = f"{len(record.gpus)} GPUs on the bus, {usual} on peer nodes or earlier{where}."
        gpu = gone[0][0] if named and len(gone) == 1 else None
        return Sighting(GPU_MISSING, "gpu-hardware-fault", "error", "certain", gpu, words)


def _different(words: str, key: str) -> Sighting:
    return Sighting(f"{DIFFERENT}.{key.replace(' ', '-').lower()}", "", "info", "certain", None, words)


def _one_sided(usual: bool, mine: str | None) -> bool:
    """Whether a value cannot be compared: either the node or its equals have none, and the other side does."""
    return usual != (mine is not None)


def _less(mine: str, usual: str) -> bool:
    a, b = number(mine), number(usual)
    return a is not None and b is not None and a < b


def more_ports(before: str, now: str | None) -> str:
    """The ports of a node that carry most of what it ever recorded."""
    if now is None or len(now) > _MOST_PORTS or (rate := _rates(now)) is None:
        return before
    return now if rate >= (_rates(before) or 0.0) else before


@lru_cache(maxsize=4096)
def _rates(cards: str) -> float | None:
    """Gbit/s of all fast cards that are up, from the words of the trait; None where one may be up and tells no rate."""
    total = 0.0
    for found in _CARDS.finditer(cards):
        rate = number(found[3].split()[0]) if found[3].endswith("Gbit/s") else None
        if rate is None and found[3] not in _NOT_UP:
            return None
        total += int(found[1]) * (rate or 0.0)
    return total


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]
