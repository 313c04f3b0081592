"""How GPUs reach each other, as a matrix with its legend; equal GPUs share a row where there are many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from rocdoctor.judging.subjects import number_ranges
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import GpuLink, Machine
from rocdoctor.model.printable import one_line
from rocdoctor.tui.topology.filled_lines import Atom, atoms, filled

NONE, OPEN = "none", "?"
_NAMED = 6  # pairs in a line
_SINGLE = 8  # up to so many GPUs each has a row of its own
Pair = tuple[int, int]
Cells = Mapping[Pair, str]


def cell(link: GpuLink | None, complete: bool) -> str:
    """A pair in few characters: ``1 hop``, ``NV18``, ``PCIe``, ``none``, ``?``."""
    if link is None:
        return NONE if complete else OPEN
    if link.type == "xgmi":
        hops = value_or(link.hops, None)
        return "XGMI" if hops is None else "1 hop" if hops == 1 else f"{hops} hops"
    if link.type == "nvlink":
        return f"NV{link.count.value}" if isinstance(link.count, Known) else "NVLink"
    return "PCIe" if link.type == "pcie" else one_line(link.type)[:8]


def cells(machine: Machine) -> dict[tuple[int, int], str]:
    """The cell of every pair, both ways round."""
    by_pair = {(link.a, link.b): link for link in machine.links}
    indices = [gpu.index for gpu in machine.gpus]
    found: dict[tuple[int, int], str] = {}
    for a in indices:
        for b in indices:
            if a < b:
                found[a, b] = found[b, a] = cell(by_pair.get((a, b)), machine.links_complete)
    return found


def pair_words(pairs: Sequence[tuple[int, int]]) -> str:
    """Pairs of GPUs by their numbers: ``4-5, 6-7``; of many the first."""
    return ", ".join(f"{a}-{b}" for a, b in pairs[:_NAMED]) + (", ..." if len(pairs) > _NAMED else "")


def alike(indices: Sequence[int], of: Cells) -> list[list[int]]:
    """Groups of GPUs that reach every other GPU in the same way, so that one row stands for all."""
    groups: list[list[int]] = []
    for one in indices:
        for group in groups:
            # Being alike carries over from one to the next, so the first of a group speaks for it.
            if all(of[one, other] == of[group[0], other] for other in indices if other not in (one, group[0])):
                group.append(one)
                break
        else:
            groups.append([one])
    return groups


def matrix_lines(machine: Machine, width: int, styles: Mapping[Pair, str] | None = None) -> list[Text]:
    """The matrix with headers and legend; one sentence where there is nothing to draw; nothing for a single GPU.

    ``styles``: of the pairs (the lower number first) that stand out.
    """
    indices = [gpu.index for gpu in machine.gpus]
    if len(indices) < 2:
        return []
    of = cells(machine)
    kinds = {*of.values()}
    if kinds == {OPEN}:
        return filled("", "", atoms("How the GPUs reach each other is not in this evidence."), width)
    if kinds == {NONE}:
        return filled("", "", atoms("No direct link between GPUs is listed."), width)
    groups = [[one] for one in indices]
    lines: list[Text] = []
    if len(indices) > _SINGLE and len(compact := alike(indices, of)) < len(indices):
        groups = compact
        words = f"{len(indices)} GPUs in {len(groups)} row{'s' if len(groups) > 1 else ''}: those of a row reach all "
        lines += filled(
            "", "", atoms(f"{words} others in the same way, and each other as the row's own column says."), width
        )
    lines += _blocks(groups, of, width, styles or {})
    return lines + _legend(machine, kinds, width)


def _blocks(groups: Sequence[Sequence[int]], of: Cells, width: int, styles: Mapping[Pair, str]) -> list[Text]:
    """The matrix, cut into blocks of columns where it is too wide."""
    single = all(len(group) == 1 for group in groups)
    tags = [str(group[0]) if single else _letters(at) for at, group in enumerate(groups)]
    rows = [f"gpu {tag}" if single else tag for tag in tags]
    head = max(len(row) for row in rows) + 1
    table = [[(_between(a, b, of), _style(a, b, styles)) for b in groups] for a in groups]
    longest = max(len(word) for word in (*tags, *(word for row in table for word, _ in row)))
    column = longest + (2 if head + len(groups) * (longest + 2) <= width else 1)
    fit = max(1, (width - head) // column)
    lines: list[Text] = []
    for start in range(0, len(groups), fit):
        part = slice(start, start + fit)
        if start:
            lines.append(Text(""))
        lines.append(_row("", [(tag, "bold") for tag in tags[part]], head, column))
        for row, words in zip(rows, table, strict=True):
            lines.append(_row(row, words[part], head, column))
    if not single:
        for tag, group in zip(tags, groups, strict=True):
            count = f"({len(group)} GPUs)" if len(group) > 1 else ""
            lines += filled(f"{tag:<{head}}", " " * head, atoms(f"gpu {number_ranges(group)} {count}"), width, "bold")
    return lines


def _row(name: str, words: Sequence[tuple[str, str]], head: int, column: int) -> Text:
    line = Text(f"{name:<{head}}", style="", no_wrap=True, end="")
    line.stylize("bold")
    for word, style in words:
        line.append(f"{word:>{column}}", style=style)
    return line


def _letters(number: int) -> str:
    """A, B, ... Z, AA, AB: the names of rows that stand for several GPUs."""
    first, last = divmod(number, 26)
    return (_letters(first - 1) if first else "") + chr(ord("A") + last)


def _between(a: Sequence[int], b: Sequence[int], of: Cells) -> str:
    if a is b:
        return of[a[0], a[1]] if len(a) > 1 else "-"
    return of[a[0], b[0]]


def _style(a: Sequence[int], b: Sequence[int], styles: Mapping[Pair, str]) -> str:
    """The style of a cell: that of any of its pairs."""
    return next((style for (x, y), style in styles.items() if (x in a and y in b) or (x in b and y in a)), "")


def _legend(machine: Machine, kinds: set[str], width: int) -> list[Text]:
    weights = weights_of(machine)
    lines: list[Text] = []
    for kind in sorted(kinds):
        of = sorted(weights.get(kind, ()))
        # One weight for all tells nothing.
        weight = f" (weight {' or '.join(str(one) for one in of)})" if len(of) > 1 else ""
        lines += filled("", "  ", [Atom(f"{kind}:", "bold"), *atoms(meaning(kind) + weight)], width)
    return lines


def weights_of(machine: Machine) -> dict[str, set[int]]:
    """The weights that the links of each kind of cell have, as the driver counts them."""
    found: dict[str, set[int]] = {}
    for link in machine.links:
        if isinstance(link.weight, Known):
            found.setdefault(cell(link, True), set()).add(link.weight.value)
    return found


def meaning(kind: str) -> str:
    """A cell in words."""
    number = kind.removesuffix(" hops")
    if number != kind:
        return f"XGMI over {number} links in a row"
    if kind.startswith("NV") and kind[2:].isdigit():
        return f"{kind[2:]} NVLink{'' if kind == 'NV1' else 's'} side by side"
    return _MEANINGS.get(kind, "as the evidence calls it")


_MEANINGS = {
    "1 hop": "XGMI, a direct link",
    "XGMI": "XGMI, over how many links is not known",
    "NVLink": "NVLink, how many links is not known",
    "PCIe": "over the PCIe tree above",
    NONE: "no direct link is listed",
    OPEN: "not in this evidence",
}
