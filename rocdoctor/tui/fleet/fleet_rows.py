"""The rows of the fleet's screen and what stands beside each. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain
from shlex import quote

from rocdoctor.fleet.node_names import folded
from rocdoctor.fleet.verdicts import FleetFinding, FleetVerdict, NodeVerdict
from rocdoctor.insight.texts.log_events import duration
from rocdoctor.model.printable import one_line
from rocdoctor.report.document import GAP, Block, Code, Document, Para
from rocdoctor.report.fleet.fleet_document import ABOUT_ALL, TITLES, FleetRow, part_of, rows, why

_MOST_OPENED = 2000  # rows of a group that is open; the others are found by the search of the command
_MOST_BESIDE = 3  # nodes of a group with all that speaks against them
_LONGEST_NAMES = 20  # columns: the reason has to fit beside them on 80
AGAIN = "again"  # nodes whose figures are to be measured once more


@dataclass(frozen=True, slots=True)
class FleetEntry:
    """A row: a heading (no nodes, no finding), a finding about the fleet, nodes with one reason, or one of those.

    ``part`` is one of TITLES or AGAIN, "" for what is about the fleet; ``name`` stays the same as long as it means the
    same.
    """

    part: str
    name: str
    words: str
    nodes: tuple[str, ...] = ()
    finding: FleetFinding | None = None
    opened: bool = False
    inside: bool = False

    @property
    def is_heading(self) -> bool:
        """Nothing can be done with it."""
        return not self.nodes and self.finding is None

    @property
    def opens(self) -> bool:
        """Whether its nodes can be listed below it."""
        return len(self.nodes) > 1 and self.part != AGAIN


def entries(found: FleetVerdict, opened: Collection[str] = ()) -> list[FleetEntry]:
    """All rows, what to do first at the top; ``opened``: names of groups whose nodes are listed too."""
    parts = (_of_part(found, name, title, opened) for name, title, _ in TITLES)
    return list(chain(_about_all(found), *parts, _again(found)))


def _again(found: FleetVerdict) -> Iterator[FleetEntry]:
    if nodes := found.look_again:
        yield FleetEntry(AGAIN, AGAIN, f"Figures to measure again ({len(nodes)})")
        yield FleetEntry(AGAIN, f"{AGAIN}:nodes", folded(nodes), nodes)


def _about_all(found: FleetVerdict) -> Iterator[FleetEntry]:
    if found.findings:
        yield FleetEntry("", "all", f"{ABOUT_ALL} ({len(found.findings)})")
    for number, one in enumerate(found.findings):
        yield FleetEntry("", f"all:{number}:{one.kind}:{one.what}", one_line(one.message), finding=one)


def _of_part(found: FleetVerdict, part: str, title: str, opened: Collection[str]) -> Iterator[FleetEntry]:
    members = [one for one in found.nodes if part_of(one) == part]
    if members:
        yield FleetEntry(part, part, f"{title} ({len(members)})")
    by_name = {one.node: one for one in members}
    for row in rows(members):
        group = f"{part}:{row.first.check}:{row.first.cause}"
        is_open = group in opened and len(row.nodes) > 1
        yield FleetEntry(part, group, _group_words(row, is_open), row.nodes, opened=is_open)
        for node in row.nodes[:_MOST_OPENED] if is_open else ():
            words = f"{node}  {_node_words(by_name[node])}"
            yield FleetEntry(part, f"{group}:{node}", words, (node,), inside=True)
        if is_open and len(row.nodes) > _MOST_OPENED:
            yield FleetEntry(part, f"{group}:more", f"and {len(row.nodes) - _MOST_OPENED} more (judge --json has all)")


def _group_words(row: FleetRow, is_open: bool) -> str:
    mark = "" if len(row.nodes) == 1 else "- " if is_open else "+ "
    names = folded(row.nodes)
    count = "" if len(row.nodes) == 1 else f" ({len(row.nodes)})"
    return (
        f"{mark}{names}{count}  {row.words}"
        if len(names) <= _LONGEST_NAMES
        else f"{mark}{len(row.nodes)} nodes, {row.words}"
    )


def _node_words(one: NodeVerdict) -> str:
    place = "" if one.first.gpu is None else f"gpu {one.first.gpu}: "
    return f"{place}{one_line(one.first.message)}"


def beside(found: FleetVerdict, entry: FleetEntry, store: str) -> Document:
    """All that is known of a row, and which command goes on from there."""
    if entry.finding is not None:
        return list(_of_finding(entry.finding))
    if entry.part == AGAIN:
        return [Para((Code(folded(entry.nodes), "1"),)), GAP, Para("Measure these again (record --with-figures).")]
    return list(_of_nodes(found, entry, store))


def _of_finding(one: FleetFinding) -> Iterator[Block]:
    yield Para(one_line(one.message), bold=True)
    group = f" of {one_line(one.group)}" if one.group else ""
    yield Para(f"{one.nodes} of {one.among} nodes{group}. With a shared cause, no single node is to blame.")


def _of_nodes(found: FleetVerdict, entry: FleetEntry, store: str) -> Iterator[Block]:
    by_name = {one.node: one for one in found.nodes}
    if entry.opens:
        yield Para((Code(folded(entry.nodes), "1"), f"  ({len(entry.nodes)} nodes)"))
        yield GAP
    for node in entry.nodes[:_MOST_BESIDE]:
        one = by_name[node]
        yield from why(one)
        yield Para(record_words(one, found.at), "  ")
        yield GAP
    if len(entry.nodes) > _MOST_BESIDE:
        yield Para(f"and {len(entry.nodes) - _MOST_BESIDE} more: Enter lists them.")
        yield GAP
    yield Para("All findings of one node:")
    yield Para((Code(f"rocdoctor fleet why {quote(store)} {entry.nodes[0]}"),), "  ", folded=False)
    done = {"drain": ("drained", ""), "test": ("set aside", " --suspects")}.get(entry.part)
    if done is not None:
        yield Para(f"What would be {done[0]} (a dry run without --yes):")
        yield Para((Code(f"rocdoctor fleet apply {quote(store)} --on slurm{done[1]}"),), "  ", folded=False)


def record_words(one: NodeVerdict, at: int) -> str:
    """How old its last good record was at the time of the verdict."""
    if one.record_at is None:
        return "No usable record has ever arrived."
    return f"Last good record: {duration(at - one.record_at)} before this verdict."
