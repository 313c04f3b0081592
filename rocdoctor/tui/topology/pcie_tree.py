"""NUMA nodes and below each the PCIe tree to its GPUs and network cards, as lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rich.text import Text

from rocdoctor.judging.subjects import number_ranges
from rocdoctor.model.evidence import Unknown
from rocdoctor.model.facts import Gpu, Machine, Nic
from rocdoctor.model.printable import one_line
from rocdoctor.tui.style import NOTE, SEVERITY_STYLE
from rocdoctor.tui.topology import labels
from rocdoctor.tui.topology.check_notes import CheckNote, Notes
from rocdoctor.tui.topology.filled_lines import Atom, atoms, filled, phrases
from rocdoctor.tui.topology.labels import NO_AFFINITY, NOT_KNOWN, Place, place_of
from rocdoctor.tui.topology.path_links import Branch, Key, could_words, grown, hung, narrowest_limb, now_words

_MOST_NOTES = 3
_BARS = ("│", "└", " ")


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A line, and the index of the GPU that it tells of."""

    text: Text
    gpu: int | None = None


@dataclass(slots=True)
class _Drawer:
    machine: Machine
    notes: Notes
    width: int
    marks: dict[Key, dict[str, list[int]]]
    rows: list[TreeRow] = field(default_factory=list)

    def put(self, first: str, rest: str, parts: Sequence[Atom], gpu: int | None = None) -> None:
        self.rows += [TreeRow(line, gpu) for line in filled(first, rest, parts, self.width)]


@dataclass(frozen=True, slots=True)
class PlaceSection:
    """A NUMA node, or a word for what has none: its GPUs, the tree to them, those without a way, its network cards."""

    place: Place
    gpus: tuple[Gpu, ...]
    tree: dict[Key, Branch]
    lost: tuple[Gpu, ...]
    nics: tuple[Nic, ...]


def place_sections(machine: Machine) -> list[PlaceSection]:
    """What is where, by NUMA node; last what has no node."""
    nodes = machine.numa_nodes
    gpus: dict[Place, list[Gpu]] = {node.node: [] for node in nodes}
    for gpu in machine.gpus:
        gpus.setdefault(place_of(gpu.numa_node, nodes), []).append(gpu)
    trees = {place: grown(gpu for gpu in members if _placed(gpu)) for place, members in gpus.items()}
    cards = machine.network
    for tree in trees.values():
        cards = tuple(hung(tree, cards))
    nics: dict[Place, list[Nic]] = {}
    for nic in cards:
        nics.setdefault(place_of(nic.numa_node, nodes), []).append(nic)
    places = sorted({*gpus, *nics}, key=lambda one: (isinstance(one, str), str(one) if isinstance(one, str) else one))
    return [
        PlaceSection(
            place,
            tuple(gpus.get(place, ())),
            trees.get(place, {}),
            tuple(gpu for gpu in gpus.get(place, ()) if not _placed(gpu)),
            tuple(nics.get(place, ())),
        )
        for place in places
    ]


def numa_rows(machine: Machine, notes: Notes, width: int) -> list[TreeRow]:
    """A section for each NUMA node, and one for what has no node."""
    drawer = _Drawer(machine, notes, width, _marks(machine))
    if not machine.numa_nodes:
        drawer.put("", "  ", atoms("NUMA nodes: not in this evidence", "bold"))
    for one in place_sections(machine):
        _head(drawer, one.place, one.gpus)
        _section(drawer, one.tree, one.lost, one.nics)
    return drawer.rows


def _placed(gpu: Gpu) -> bool:
    """Whether its place on the bus is known: bridges above it, or that there are none."""
    return bool(gpu.pcie.hops) or gpu.pcie.path_complete


def _marks(machine: Machine) -> dict[Key, dict[str, list[int]]]:
    """Limb -> word -> the GPUs for which it is the narrowest on their way."""
    found: dict[Key, dict[str, list[int]]] = {}
    for gpu in machine.gpus:
        narrow = narrowest_limb(machine, gpu)
        if narrow is not None:
            found.setdefault(narrow[0].key, {}).setdefault(narrow[1], []).append(gpu.index)
    return found


def _head(drawer: _Drawer, place: Place, gpus: Sequence[Gpu]) -> None:
    machine = drawer.machine
    if drawer.rows and drawer.rows[-1].text.plain[:1] in _BARS:
        drawer.rows.append(TreeRow(Text("")))
    if place == NO_AFFINITY:
        drawer.put("", "  ", atoms("No NUMA node: firmware states no affinity", "bold"))
        return
    if place == NOT_KNOWN:
        why = next((gpu.numa_node.why for gpu in gpus if isinstance(gpu.numa_node, Unknown)), "not in this evidence")
        parts = atoms("NUMA node not known:", "bold") + atoms(one_line(why))
        if machine.numa_nodes:
            drawer.put("", "  ", parts)
        return
    node = next((one for one in machine.numa_nodes if one.node == place), None)
    if node is None:
        drawer.put("", "  ", [Atom(f"NUMA node {place}", "bold"), *atoms("(CPUs and memory not known)")])
        return
    said = [labels.cpus_words(node), labels.memory_words(node), labels.distance_words(machine.numa_nodes, node)]
    words = "; ".join(part for part in said if part)
    drawer.put("", "  ", [Atom(f"NUMA node {place}", "bold"), *phrases(words)])


def _section(drawer: _Drawer, tree: dict[Key, Branch], lost: Sequence[Gpu], nics: Sequence[Nic]) -> None:
    entries = len(tree) + len(nics) + bool(lost)
    for at, branch in enumerate(tree.values(), start=1):
        _branch(drawer, "", branch, at == entries, top=True)
    for at, nic in enumerate(nics, start=len(tree) + 1):
        _nic(drawer, "", nic, at == entries)
    if lost:
        drawer.put("└─ ", "   ", atoms("path not known: the bridges above are not in this evidence"))
        for at, gpu in enumerate(lost, start=1):
            (own,) = grown([gpu]).values()
            _branch(drawer, "   ", own, at == len(lost), top=False)


def _branch(drawer: _Drawer, prefix: str, branch: Branch, last: bool, top: bool) -> None:
    lead, rest = prefix + ("└─" if last else "├─"), prefix + ("   " if last else "│  ")
    gpu, below = branch.gpu, [*branch.below.values()]
    index = gpu.index if gpu is not None else None
    port = _port(branch, gpu) if top else []
    link, noted = _link(drawer, branch)
    parts, first = port + link, lead if link and not port else f"{lead} "
    # The lines of what hangs below start under this one.
    inner = rest + ("│ " if below or branch.nics else "  ")
    if noted:
        drawer.put(first, inner, parts + noted, index)
        first, parts = inner, []
    if gpu is not None:
        drawer.put(first, inner, parts + _gpu(drawer, gpu), index)
    elif branch.limb is not None and branch.limb.lower is not None:
        what = "switch on the card" if branch.limb.inside or on_card(branch) else "switch"
        drawer.put(first, inner, [*parts, *atoms(f"{what} {branch.limb.lower.bdf}"), *_shared(branch)])
    for at, one in enumerate(below, start=1):
        _branch(drawer, rest, one, at == len(below) and not branch.nics, top=False)
    for at, nic in enumerate(branch.nics, start=1):
        _nic(drawer, rest, nic, at == len(branch.nics))


def on_card(branch: Branch) -> bool:
    """Whether a switch belongs to the card of the one GPU below it."""
    return bool(branch.below) and all(one.limb is not None and one.limb.inside for one in branch.below.values())


def _shared(branch: Branch) -> list[Atom]:
    behind = branch.gpus()
    if len(behind) < 2:
        return []
    return atoms(f"(one link for gpu {number_ranges(gpu.index for gpu in behind)})")


def _port(branch: Branch, gpu: Gpu | None) -> list[Atom]:
    """What the topmost limb hangs at."""
    if branch.limb is None:
        return [] if gpu is None or gpu.pcie.hops else atoms("on the root bus:")
    port = branch.limb.upper
    if port is None:
        return atoms("on the root bus:") if gpu is not None and gpu.pcie.path_complete else atoms("port not known")
    if port.virtual:
        return atoms(f"port {port.bdf} (emulated by a hypervisor)")
    complete = all(one.pcie.path_complete for one in branch.gpus())
    return atoms(f"root port {port.bdf}" if complete else f"port {port.bdf} (what is above is not known)")


def _link(drawer: _Drawer, branch: Branch) -> tuple[list[Atom], list[Atom]]:
    """A limb with its figures, and what is said of it: narrowest, findings."""
    limb = branch.limb
    if limb is None:
        return [], []
    could = could_words(limb.link)
    figures = [now_words(limb.link), could, "inside the card" if limb.inside else ""]
    said = [part for part in figures if part]
    parts = [Atom(text + ("," if at < len(said) else "]"), NOTE) for at, text in enumerate(said, start=1)]
    parts = [Atom("─[", "dim"), replace(parts[0], tight=True), *parts[1:], Atom("─", "dim", tight=True)]
    noted: list[Atom] = []
    found = drawer.notes.limbs.get(limb.key, [])
    behind = {gpu.index for gpu in branch.gpus()}
    for word, indices in drawer.marks.get(limb.key, {}).items():
        whose = "" if set(indices) == behind else f" for gpu {number_ranges(indices)}"
        noted += atoms(word + whose + (";" if found else ""), "bold")
    return parts, noted + _findings(found)


def _findings(found: Sequence[CheckNote]) -> list[Atom]:
    parts = [Atom(str(note), SEVERITY_STYLE[note.severity]) for note in found[:_MOST_NOTES]]
    if len(found) > _MOST_NOTES:
        parts += atoms(f"and {len(found) - _MOST_NOTES} more")
    return parts


def _gpu(drawer: _Drawer, gpu: Gpu) -> list[Atom]:
    machine = drawer.machine
    parts = [Atom(f"gpu {gpu.index}", "bold"), Atom(labels.address(gpu), "bold")]
    parts += phrases(labels.gpu_facts(machine, gpu))
    numbers = labels.other_numbers(machine, gpu)
    parts += phrases(f"({numbers})") if numbers else []
    grave = [note for note in drawer.notes.gpus.get(gpu.index, []) if note.severity != "info"]
    return parts + _findings(grave)


def _nic(drawer: _Drawer, prefix: str, nic: Nic, last: bool) -> None:
    first, rest = prefix + ("└─ " if last else "├─ "), prefix + ("   " if last else "│  ")
    where = one_line(nic.bdf.value) if not isinstance(nic.bdf, Unknown) else "(address not known)"
    parts = [Atom("nic"), Atom(one_line(nic.name)), Atom(where), *phrases(labels.nic_facts(nic))]
    drawer.put(first, rest + "  ", parts + _findings(drawer.notes.nics.get(nic.name, [])))
