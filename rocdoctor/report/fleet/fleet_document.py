"""The verdict of a round for people: first what to take out, equal reasons of several nodes in one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rocdoctor.fleet.acting import ActionPlan
from rocdoctor.fleet.classes import NodeClass
from rocdoctor.fleet.node_names import folded
from rocdoctor.fleet.verdicts import FleetVerdict, NodeVerdict, Reason
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.printable import one_line
from rocdoctor.report.document import GAP, Block, Code, Heading, Para, Title

TITLES: tuple[tuple[str, str, str], ...] = (
    ("drain", "To drain: let running jobs finish, start no new ones", "31;1"),
    ("test", "To test: take out of service for a longer test", "33"),
    ("watch", "To watch: not seen often enough to act", "33"),
    ("unknown", "Not known", ""),
    ("different", "Different from their peers: never a reason to drain", "36"),
)
_MOST_ROWS, _MOST_TO_DRAIN, _MOST_HELD, _LONG = 12, 40, 20, 60
_ID = regex(r"[0-9a-f]{4}")
ABOUT_ALL = "Fleet-wide: no reason to drain a node"
_ADVICE = {"drain": "drain it", "test": "take it out of service for a longer test"}


@dataclass(frozen=True, slots=True)
class FleetRow:
    """Nodes against which the same speaks: ``first`` is that the first of them."""

    nodes: tuple[str, ...]
    first: Reason

    @property
    def words(self) -> str:
        """What was seen; of several nodes, on the first of them."""
        place = "" if self.first.gpu is None else f"gpu {self.first.gpu}: "
        return f"{f'e.g. {self.nodes[0]}: ' if len(self.nodes) > 1 else ''}{place}{one_line(self.first.message)}"


def headline(found: FleetVerdict) -> str:
    """The answer in one sentence."""
    parts = [f"{found.told} of {found.total} nodes reported"]
    parts += [
        f"{len(group)} {words}"
        for words, group in (
            ("to drain", _part(found, "drain")),
            ("to test", _part(found, "test")),
            ("to watch", _part(found, "watch")),
            ("not known", _part(found, "unknown")),
        )
        if group
    ]
    count = len(found.findings)
    parts += [f"{count} fleet-wide finding{'s' if count > 1 else ''}"] if count else []
    return f"{parts[0]}: {', '.join(parts[1:])}." if parts[1:] else f"{parts[0]}: nothing to do."


def part_of(one: NodeVerdict) -> str:
    """The part of the page in which a node stands: by what to do with it, then by what is known."""
    if one.proposal != "none":
        return one.proposal
    named: dict[NodeClass, str] = {"unknown": "unknown", "different": "different"}
    return named.get(one.node_class, "watch")


def _part(found: FleetVerdict, name: str) -> list[NodeVerdict]:
    return [one for one in found.nodes if part_of(one) == name]


def rows(nodes: Iterable[NodeVerdict]) -> list[FleetRow]:
    """Nodes by the check and the cause of their first reason, in the order given."""
    groups: dict[tuple[str, str], list[tuple[str, Reason]]] = {}
    for one in nodes:
        reason = one.first
        groups.setdefault((reason.check, reason.cause), []).append((one.node, reason))
    return [FleetRow(tuple(node for node, _ in members), members[0][1]) for members in groups.values()]


def document(found: FleetVerdict, *, quiet: bool = False) -> Iterator[Block]:
    """The page; ``quiet``: only nodes with something to do, a line each: name, tab, proposal, tab, reason."""
    if quiet:
        for one in found.nodes:
            if one.proposal != "none":
                yield Para((Code(one.node), "\t", one.proposal, "\t", words_of(one.first)), item=True, folded=False)
        return
    yield Title("rocdoctor fleet")
    yield Para(headline(found), bold=True)
    if found.findings:
        yield GAP
        yield Heading(ABOUT_ALL, colour="36")
        for finding in found.findings[:_MOST_ROWS]:
            yield Para(one_line(finding.message), "  ", "    ", item=True)
        yield from _more(len(found.findings))
    for name, title, colour in TITLES:
        members = _part(found, name)
        if members:
            yield GAP
            yield Heading(f"{title} ({len(members)})", colour=colour)
            listed = rows(members)
            most = _MOST_TO_DRAIN if name == "drain" else _MOST_ROWS
            for row in listed[:most]:
                words = f"{row.words} [{row.first.check} {row.first.seen}/{row.first.looks}]"
                names = folded(row.nodes)
                if name == "different" and len(names) > _LONG:  # nobody acts on these, so nobody copies them
                    names = f"{len(row.nodes)} nodes"
                yield Para((Code(names, "1"), "  ", words), "  ", "    ", item=True)
            yield from _more(len(listed), most)
    if found.look_again:
        yield GAP
        yield Heading("Measure these again (record --with-figures)")
        yield Para(folded(found.look_again), "  ")


def words_of(reason: Reason) -> str:
    """A reason in a line: what it is, how often it was seen, and by which name it is explained."""
    place = "" if reason.gpu is None else f"gpu {reason.gpu}: "
    return f"{place}{one_line(reason.message)} [{reason.check} {reason.seen}/{reason.looks}]"


def action_lines(plan: ActionPlan) -> list[str]:
    """What is held back and why, and whom others have drained, in lines."""
    found = [f"nodes that rocdoctor keeps drained or aside: {plan.ours} before this, at most {plan.cap}"]
    reasons: dict[str, list[str]] = {}
    for node, why_not in plan.held:
        reasons.setdefault(why_not, []).append(node)
    found += [
        f"still in service, worst first ({why_not}): {', '.join(nodes[:_MOST_HELD])}{_rest(len(nodes))}"
        for why_not, nodes in reasons.items()
    ]
    found += [f"drained by others, left alone: {folded(plan.foreign)}"] if plan.foreign else []
    return [one_line(line) for line in found]


def _rest(count: int) -> str:
    return f" and {count - _MOST_HELD} more" if count > _MOST_HELD else ""


def why(one: NodeVerdict) -> Iterator[Block]:
    """All that speaks against one node."""
    yield Title(f"rocdoctor fleet why {one.node}")
    yield Para(f"{one.node}: {one.node_class}; {_ADVICE.get(one.proposal, 'no action yet')}.", bold=True)
    yield Para(f"Hardware: {_hardware(one.kind)}")
    for reason in one.reasons:
        acts = " Seen often enough to act." if reason.ready else ""
        cause = f" Likely cause: {_cause(reason.cause)}." if reason.cause else ""
        yield Para((Code(reason.node_class), "  ", f"{words_of(reason)}{cause}{acts}"), "  ", "    ", item=True)
    yield Para(("What it means: ", Code(f"rocdoctor explain {one.first.check}")))


def _hardware(kind: str) -> str:
    """A kind with names for its chips, where a PCI id stands for one product alone."""
    chips, _, rest = kind.partition(" ")
    return one_line(f"{' + '.join(_chip(one) for one in chips.split('+'))} {rest}")


def _chip(pci_id: str) -> str:
    vendor, _, device = pci_id.partition(":")
    if not (_ID.fullmatch(vendor) and _ID.fullmatch(device)):
        return pci_id
    from rocdoctor.knowledge.gpus.profiles import gpu_candidates

    names = {one.names[0] for one in gpu_candidates(vendor, device)}
    return f"{names.pop()} ({pci_id})" if len(names) == 1 else pci_id


def _cause(name: str) -> str:
    """What a cause is called, with the id by which JSON and metrics name it."""
    from rocdoctor.knowledge.lookup import cause

    entry = cause(name)
    return name if entry is None else f"{entry.title.replace('The ', 'the ', 1)} ({name})"


def _more(count: int, most: int = _MOST_ROWS) -> Sequence[Block]:
    return [Para(f"and {count - most} more (--json has all)", "  ", item=True)] if count > most else []
