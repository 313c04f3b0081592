"""The machine as boxes: in a NUMA node its switches, in these GPUs and network cards, what is at fault first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from rocdoctor.judging.gpu_standing import about
from rocdoctor.model.evidence import Unknown, value_or
from rocdoctor.model.facts import Gpu, Machine, Nic
from rocdoctor.model.finding import SEVERITIES, Severity, Verdict
from rocdoctor.model.printable import one_line
from rocdoctor.tui.style import NOTE, SEVERITY_STYLE, UNKNOWN
from rocdoctor.tui.topology import labels
from rocdoctor.tui.topology.check_notes import CheckNote, Notes, notes
from rocdoctor.tui.topology.path_links import Branch, could_words, now_words
from rocdoctor.tui.topology.pcie_tree import PlaceSection, on_card, place_sections

_DEVICE = 24  # columns of a GPU or a network card with its frame
_LIGHT, _HEAVY = "┌─┐│└┘", "┏━┓┃┗┛"
Spot = tuple[int, int, int, int]
"""Column, line, columns and lines of something drawn."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """Lines of at most the width asked for, and where each GPU is in them, in the order of the drawing."""

    lines: tuple[Text, ...]
    spots: dict[int, Spot]


@dataclass(frozen=True, slots=True)
class _Block:
    """A rectangle of lines; ``rank``: how grave the gravest in it is, 0 for the worst."""

    lines: list[Text]
    width: int
    rank: int
    spots: dict[int, Spot] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Boxer:
    machine: Machine
    verdicts: Sequence[Verdict]
    notes: Notes
    selected: int | None


def boxes(machine: Machine, verdicts: Sequence[Verdict], width: int, selected: int | None = None) -> Boxes:
    """Draw the machine in ``width`` cells, 40 at least; the selected GPU has a heavy frame."""
    boxer = _Boxer(machine, verdicts, notes(machine, verdicts), selected)
    width = max(40, width)
    blocks = [_node(boxer, one, width) for one in place_sections(machine)]
    whole = _flow(blocks, width)
    return Boxes(tuple(whole.lines), whole.spots)


def _node(boxer: _Boxer, section: PlaceSection, width: int) -> _Block:
    """A NUMA node, or what has none."""
    place = section.place
    title = {labels.NO_AFFINITY: "no NUMA node", labels.NOT_KNOWN: "NUMA node not known"}.get(str(place))
    node = next((one for one in boxer.machine.numa_nodes if one.node == place), None)
    said = f", {labels.cpus_words(node)}, {labels.memory_words(node)}" if node is not None else ""
    inside = [_branch(boxer, one, width - 2) for one in section.tree.values()]
    inside += [_gpu(boxer, one, None, []) for one in section.lost]
    inside += [_nic(boxer, one) for one in section.nics]
    return _framed(title or f"NUMA node {place}{said}", _flow(inside, width - 2), "", at_least=_DEVICE)


def _branch(boxer: _Boxer, branch: Branch, width: int) -> _Block:
    """A switch with what is behind it, or the GPU at the end of a link."""
    found = boxer.notes.limbs.get(branch.limb.key, []) if branch.limb is not None else []
    below = [*branch.below.values()]
    if branch.gpu is not None and not below:
        return _gpu(boxer, branch.gpu, branch, found)
    inside = [_branch(boxer, one, width - 2) for one in below]
    inside += [_gpu(boxer, branch.gpu, branch, found)] if branch.gpu is not None else []
    inside += [_nic(boxer, one) for one in branch.nics]
    lower = branch.limb.lower if branch.limb is not None else None
    if lower is None:
        return _flow(inside, width)
    what = "card" if (branch.limb is not None and branch.limb.inside) or on_card(branch) else "switch"
    title = f"{what} {lower.bdf}{_link_title(branch)}"
    grave = _gravest(found)
    if grave is not None:
        title += f" {grave}"
    return _framed(title, _flow(inside, width - 2), _style(grave), _rank(grave), at_least=_DEVICE)


def _link_title(branch: Branch) -> str:
    return f" [{now_words(branch.limb.link)}]" if branch.limb is not None and branch.limb.shown else ""


def _gpu(boxer: _Boxer, gpu: Gpu, branch: Branch | None, found: Sequence[CheckNote]) -> _Block:
    link = branch.limb.link if branch is not None and branch.limb is not None else None
    own = about(boxer.verdicts, gpu)
    grave = _gravest(found)
    if own and own[0].finding is not None:
        note = CheckNote(own[0].finding.severity, own[0].check)
        grave = min((one for one in (grave, note) if one is not None), key=_rank)
    if _rank(grave) >= SEVERITIES.index("info"):
        grave = None
    shown = Text("link not known", style=UNKNOWN)
    if link is not None:
        shown = Text(now_words(link), style=_style(_gravest(found)) or NOTE)
    asleep = "asleep" if value_or(gpu.runtime_status, "") == "suspended" else ""
    could = Text((could_words(link) if link is not None else "") or asleep, style=UNKNOWN)
    told = Text(grave.check if grave is not None else "", style=_style(grave))
    heavy = gpu.index == boxer.selected
    inner = _device((shown, could, told))
    block = _framed(f"gpu {gpu.index} {labels.address(gpu)}", inner, _style(grave), _rank(grave), heavy)
    return _Block(block.lines, block.width, block.rank, {gpu.index: (0, 0, block.width, len(block.lines))})


def _nic(boxer: _Boxer, nic: Nic) -> _Block:
    grave = _gravest(boxer.notes.nics.get(nic.name, []))
    kind, *facts = labels.nic_facts(nic).split(", ")
    address = one_line(nic.bdf.value) if not isinstance(nic.bdf, Unknown) else "address not known"
    told = Text(grave.check, style=_style(grave)) if grave is not None else Text(kind)
    lines = [Text(address), Text(", ".join(facts[:2])), told]
    return _framed(f"nic {one_line(nic.name)}", _device(lines), _style(grave), _rank(grave))


def _device(lines: Iterable[Text]) -> _Block:
    return _Block([_fit(one, _DEVICE - 2) for one in lines], _DEVICE - 2, len(SEVERITIES))


# -- frames and rows


def _gravest(found: Sequence[CheckNote]) -> CheckNote | None:
    grave = [one for one in found if one.severity != "info"]
    return min(grave, key=_rank, default=None)


def _rank(note: CheckNote | None) -> int:
    return SEVERITIES.index(note.severity) if note is not None else len(SEVERITIES)


def _style(note: CheckNote | None) -> str:
    severity: Severity | None = note.severity if note is not None else None
    return SEVERITY_STYLE[severity] if severity is not None else ""


def _fit(text: Text, width: int) -> Text:
    """Exactly so many cells."""
    line = Text(no_wrap=True, end="").append_text(text)
    if line.cell_len > width:
        line.truncate(width, overflow="ellipsis")
    return line.append(" " * (width - line.cell_len))


def _framed(
    title: str, inner: _Block, style: str, rank: int | None = None, heavy: bool = False, at_least: int = 0
) -> _Block:
    """A frame with a title in its upper edge, as wide as what it holds."""
    width = max(inner.width, at_least - 2)
    corner, flat, right, side, low, end = tuple(_HEAVY if heavy else _LIGHT)
    cut = set_cell_size(title, width - 2) if cell_len(title) > width - 2 else title
    top = Text(no_wrap=True, end="").append(f"{corner}{flat}", style=style)
    top.append(cut, style=f"bold {style}".strip()).append(flat * (width - 1 - cell_len(cut)) + right, style=style)
    lines = [top]
    for one in inner.lines:
        line = Text(no_wrap=True, end="").append(side, style=style)
        lines.append(line.append_text(_fit(one, width)).append(side, style=style))
    lines.append(Text(low + flat * width + end, style=style, no_wrap=True, end=""))
    spots = {gpu: (x + 1, y + 1, wide, tall) for gpu, (x, y, wide, tall) in inner.spots.items()}
    return _Block(lines, width + 2, min(inner.rank, len(SEVERITIES) if rank is None else rank), spots)


def _flow(blocks: Sequence[_Block], width: int) -> _Block:
    """Blocks beside each other as far as the width goes, then below; the gravest first, else as they came."""
    rows: list[list[_Block]] = []
    for one in sorted(blocks, key=lambda block: block.rank):
        if rows and sum(each.width for each in rows[-1]) + one.width <= width:
            rows[-1].append(one)
        else:
            rows.append([one])
    widest = max((sum(one.width for one in row) for row in rows), default=0)
    lines: list[Text] = []
    spots: dict[int, Spot] = {}
    for row in rows:
        at, top = 0, len(lines)
        tall = max(len(one.lines) for one in row)
        drawn = [Text(no_wrap=True, end="") for _ in range(tall)]
        for one in row:
            for number, line in enumerate(drawn):
                line.append_text(one.lines[number] if number < len(one.lines) else Text(" " * one.width))
            spots |= {gpu: (x + at, y + top, wide, high) for gpu, (x, y, wide, high) in one.spots.items()}
            at += one.width
        lines += [_fit(line, widest) for line in drawn]
    return _Block(lines, widest, min((one.rank for one in blocks), default=len(SEVERITIES)), spots)
