"""A run of pairs for people: what to do first, then the figures that it rests on."""

from __future__ import annotations

from collections.abc import Iterator

from rocdoctor.fleet.net.net_run import NetFinding, NetRun, findings, gbit, headline, percent
from rocdoctor.fleet.net.pair_usual import shown_rates
from rocdoctor.fleet.node_names import folded
from rocdoctor.model.printable import one_line
from rocdoctor.report.document import GAP, Block, CommandLines, Heading, Note, Para, Title

_MOST = 12
_NOT_TOLD = "undecided"


def document(run: NetRun) -> Iterator[Block]:
    """The page."""
    yield Title("rocdoctor fleet net")
    yield Para(one_line(headline(run)), bold=True)
    found = findings(run)
    grave = [one for one in found if one.severity != "info"]
    rest = [one for one in found if one.severity == "info"]
    for one in grave[:_MOST]:
        yield GAP
        yield from _finding(one)
    yield from _more(len(grave))
    yield GAP
    yield Heading(f"{len(run.names)} nodes, {len(run.results)} pairs in {_rounds(run)}")
    yield from (Para(words, "  ", "    ", item=True) for words in _figures(run))
    if rest:
        yield GAP
        yield Heading("Slow pairs of nodes that are fast with others: neither node is to blame")
        for one in rest[:_MOST]:
            yield Para(one_line(f"{' and '.join(one.about)}: {one.message}"), "  ", "    ", item=True)
        yield from _more(len(rest))


def _finding(one: NetFinding) -> Iterator[Block]:
    name = {"leaf": "leaf switch", "all": "network", "silent": "silent"}.get(one.kind, one.kind)
    yield Note(one.severity, f"fleet-net-{one.kind}", " ".join((name, *one.about)), one_line(one.message))
    if one.remedy:
        yield Para(f"fix: {one_line(one.remedy)}", "  ", "    ")
    if one.command:
        yield CommandLines(((one.command,),), indent=" " * 6)


def _rounds(run: NetRun) -> str:
    count, seconds = len(run.rounds), sum(one for _, one in run.rounds)
    return f"{count} round{'s' * (count != 1)}, {seconds:.0f} s"


def _figures(run: NetRun) -> Iterator[str]:
    verdict = run.verdict
    for same, speed, rate in shown_rates(verdict.usual):
        where = "on one leaf switch" if same else ("across leaf switches" if run.leaves else "between nodes")
        said = f" (the slower interface says {gbit(speed)})" if speed else ""
        yield f"usual {where}: {gbit(rate)} in the worse direction{said}"
    if not verdict.uneven and run.results:
        yield f"called slow: below {percent(verdict.usual.floor)} of that"
    rtts = sorted(one.rtt_us for one in verdict.nodes if one.rtt_us is not None)
    if rtts:
        yield f"64 bytes there and back: {rtts[len(rtts) // 2]:.0f} us (median of the nodes' best)"
    faces = sorted(set(run.faces.values()))
    if faces:
        yield f"measured over {', '.join(faces[:4])}: TCP, four streams at once; RDMA is not measured"
    if run.leaves:
        many = len(set(run.leaves.values()))
        yield f"{many} leaf switches known" if many > 1 else "all nodes on one leaf switch"
    elif len(run.names) > 2:
        yield "leaf switches not known (--topology): a bad switch may look like a bad node"
    for state, words in (("path", "slow, but not by themselves"), (_NOT_TOLD, "not known")):
        names = [run.names[one.node] for one in verdict.nodes if one.state == state]
        if names:
            yield f"{words}: {folded(names)}"


def _more(count: int) -> Iterator[Block]:
    if count > _MOST:
        yield Para(f"and {count - _MOST} more (--json has all)", "  ", item=True)
