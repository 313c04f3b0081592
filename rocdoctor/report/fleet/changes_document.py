"""What has changed between two rounds, for people: what is worse first, then what is better, then what is new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone

from rocdoctor.fleet.changes import Changes, VerdictChange
from rocdoctor.fleet.node_names import folded
from rocdoctor.fleet.verdicts import NodeVerdict
from rocdoctor.model.printable import one_line
from rocdoctor.report.document import GAP, Block, Code, Heading, Para, Title
from rocdoctor.report.fleet.fleet_document import words_of

_MOST_ROWS, _LONG = 40, 60
_SAID = {"drain": "to drain", "test": "to test"}


def document(found: Changes) -> Iterator[Block]:
    """The page."""
    worse = [one for one in found.verdicts if one.worse]
    better = [one for one in found.verdicts if not one.worse]
    yield Title("rocdoctor fleet since")
    yield Para(headline(found), bold=True)
    for title, colour, changed in (("Worse", "31;1", worse), ("Better, or for another reason", "32", better)):
        if changed:
            yield GAP
            yield Heading(f"{title} ({len(changed)})", colour=colour)
            yield from _rows(list(_judged(changed)))
    if found.traits:
        yield GAP
        yield Heading("Changed on the nodes", colour="36")
        yield from _rows(
            [(one.nodes, f"{one.what}: {one.before}, now {one.after}") for one in found.traits], short=True
        )
    listed = (("Rebooted", found.rebooted), ("New", found.came), ("Gone", found.gone), ("Not compared", found.untold))
    for title, nodes in listed:
        if nodes:
            why = ": a record is missing in one of the rounds" if nodes is found.untold else ""
            yield GAP
            yield Heading(f"{title} ({len(nodes)}){why}")
            yield Para(_names(nodes, short=True), "  ")


def headline(found: Changes) -> str:
    """The answer in one sentence."""
    worse = sum(one.worse for one in found.verdicts)
    drain = len(found.to_drain)
    changed = {node for one in found.traits for node in one.nodes}
    parts = [
        f"{count} {words}"
        for count, words in (
            (drain, "more to drain"),
            (worse - drain, "otherwise worse" if drain else "worse"),
            (len(found.verdicts) - worse, "better or for another reason"),
            (len(changed), "changed"),
            (len(found.rebooted), "rebooted"),
            (len(found.came), "new"),
            (len(found.gone), "gone"),
        )
        if count
    ]
    return f"Since {_time(found.since)}, until {_time(found.at)}: {', '.join(parts) or 'nothing changed'}."


def _judged(changed: Iterable[VerdictChange]) -> Iterator[tuple[Sequence[str], str]]:
    """Nodes that changed in the same way, in one line; of the first of them, what is said now."""
    groups: dict[tuple[str, str, str], list[VerdictChange]] = {}
    for one in changed:
        check = one.after.first.check if one.after is not None else ""
        groups.setdefault((_state(one.before), _state(one.after), check), []).append(one)
    for (before, after, _), members in groups.items():
        nodes, first = [one.node for one in members], members[0].after
        example = f"e.g. {nodes[0]}: " if len(nodes) > 1 and first is not None else ""
        yield nodes, f"{before}, now {after}{f': {example}{words_of(first.first)}' if first is not None else ''}"


def _rows(rows: Sequence[tuple[Sequence[str], str]], *, short: bool = False) -> Iterator[Block]:
    for nodes, words in rows[:_MOST_ROWS]:
        yield Para((Code(_names(nodes, short=short), "1"), "  ", one_line(words)), "  ", "    ", item=True)
    if len(rows) > _MOST_ROWS:
        yield Para(f"and {len(rows) - _MOST_ROWS} more", "  ", item=True)


def _names(nodes: Sequence[str], *, short: bool) -> str:
    """The names in few words; ``short``: of very many, how many, since nobody copies them."""
    names = folded(nodes)
    return f"{len(nodes)} nodes" if short and len(names) > _LONG else names


def _state(one: NodeVerdict | None) -> str:
    if one is None:
        return "nothing said"
    return _SAID.get(one.proposal, one.node_class)


def _time(at: int) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
