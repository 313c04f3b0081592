"""Smoke results as a document: what to do first, each fault in words, and a table of modes and ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from rocdoctor.insight.jobs.smoke_modes import LAYERS
from rocdoctor.model.facts import ModeResult, SmokeRun
from rocdoctor.model.printable import one_line
from rocdoctor.parsers.own.smoke_results import to_json
from rocdoctor.report.document import GAP, Block, Fixed, Gap, Heading, Para, Strong, Table, Title
from rocdoctor.report.smoke import figures_document
from rocdoctor.train.smoke.figures.judge_figures import LowFigure

_SIGNS = {"pass": "ok", "fail": "FAIL", "crashed": "DEAD", "not-applicable": "-", "unknown": "?"}
# A rank that is only hit by another one's fault.
_HIT = {"fail": "off", "crashed": "lost"}
LEGEND = {
    "FAIL": "FAIL wrong numbers, or far too late",
    "DEAD": "DEAD died, hung or raised an error",
    "off": "off: got wrong numbers from others",
    "lost": "lost another rank",
    "-": "- not tested",
}
_LARGEST = "largest difference (allowed)"
_MOST_COLUMNS = 32  # of ranks, in a table that nothing folds


def document(runs: Sequence[SmokeRun], low: Sequence[LowFigure] = ()) -> list[Block]:
    """The whole report: the sentence, the faults, low figures, the tables, what was not tested."""
    return [Title("rocdoctor smoke"), Para(headline(runs, low), bold=True), *details(runs, low)]


def as_json(runs: Sequence[SmokeRun], low: Sequence[LowFigure] = ()) -> dict[str, Any]:
    """The contract ``rocdoctor.smoke/1``, with low figures as findings where there are any."""
    findings = [{"severity": "warning", **asdict(one)} for one in low]
    return {**to_json(runs), **({"findings": findings} if findings else {})}


def details(runs: Sequence[SmokeRun], low: Sequence[LowFigure] = ()) -> list[Block]:
    """What stands below the sentence."""
    blocks: list[Block] = [GAP, *figures_document.findings(low)]
    for run in runs:
        for one in run.modes:
            if one.state in ("fail", "crashed"):
                blocks += _fault(one)
    for run in runs:
        blocks += _run(run)
    while blocks and isinstance(blocks[-1], Gap):
        blocks.pop()
    return blocks


def headline(runs: Sequence[SmokeRun], low: Sequence[LowFigure] = ()) -> str:
    """One sentence: the first fault, or that all is well and how much was tried."""
    modes = [one for run in runs for one in run.modes]
    bad = [one for one in modes if one.state in ("fail", "crashed")]
    right = sum(one.state == "pass" for one in modes)
    if bad:
        layer = f"; look first at {LAYERS[bad[0].layer]}" if bad[0].layer else ""
        return f"{len(bad)} of {len(bad) + right} modes went wrong, first {name_of(bad[0])}{layer}."
    many = "One measured figure is" if len(low) == 1 else f"{len(low)} measured figures are"
    slow = f" {many} far too low." if low else ""
    if not right:
        measured = sum(len(run.figures) for run in runs)
        return (f"{measured} figures were measured." if measured else "Nothing could be tested here.") + slow
    which = "The one mode" if right == 1 else f"All {right} modes"
    return f"{which} that ran gave correct results.{slow}"


def run_words(run: SmokeRun) -> str:
    """Which ranks ran, where, and how long."""
    where = "on the CPU" if run.device == "cpu" else "on GPUs"
    ranks = f"{run.world} rank" + ("s" if run.world != 1 else "")
    torch = one_line(run.torch or "unknown")[:40]
    return f"{ranks} {where}, backend {one_line(run.backend)[:20]}, torch {torch}, {run.wall_s:.1f} s"


def _fault(one: ModeResult) -> Iterator[Block]:
    yield Para((Strong(_SIGNS[one.state], ""), "  ", f"{name_of(one)}: {one_line(one.message)}"), "", "  ", item=True)
    if one.layer:
        yield Para(f"likely layer: {LAYERS[one.layer]}", "  ", item=True)
    yield GAP


def _run(run: SmokeRun) -> Iterator[Block]:
    yield Heading(run_words(run))
    for note in run.notes:
        yield Para(f"note: {one_line(note)}", item=True)
    if run.modes:
        yield GAP
        yield from _modes(run)
        yield GAP
        for one in run.modes:
            if one.state in ("not-applicable", "unknown"):
                yield Para(f"{name_of(one)}: not tested: {one_line(one.message)}", "", "  ", item=True)
            elif one.state == "pass" and one.message:
                yield Para(f"{name_of(one)}: {one_line(one.message)}", "", "  ", item=True)
        if run.untested:
            yield Para(f"Not covered by this run: {', '.join(map(one_line, run.untested))}.")
    yield GAP
    yield from figures_document.section(run)


def _modes(run: SmokeRun) -> Iterator[Block]:
    many = run.world > _MOST_COLUMNS
    header = ("mode", *(["ranks"] if many else [f"rank {rank}" for rank in range(run.world)]), "time", _LARGEST)
    rows = []
    for one in run.modes:
        signs = signs_of(one)
        shown = [_right(signs)] if many else [*signs, *[""] * (run.world - len(signs))][: run.world]
        rows.append((name_of(one), *shown, f"{one.wall_s:.2f} s", largest(one)))
    yield Table(header, tuple(rows), partial(_laid, run))
    signs_seen = {sign for one in run.modes for sign in signs_of(one)}
    words = [text for sign, text in LEGEND.items() if sign in signs_seen]
    if words:
        yield GAP
        yield Para("; ".join(words))


def _laid(run: SmokeRun, width: int) -> tuple[Block, ...]:
    """A column a rank, as far as they have room; beside them the largest difference, where it has."""
    wide = max((len(name_of(one)) for one in run.modes), default=4)
    crowded = wide + 16 + 5 * run.world > width
    header = "rank " + " ".join(f"{rank:>4}" for rank in range(run.world)) if not crowded else "ranks    "
    room = width - wide - len(header) - 12
    lines = [f"{'mode':<{wide}}  {header}     time  {_LARGEST if room >= 28 else ''}".rstrip()]
    for one in run.modes:
        signs = signs_of(one)
        cells = f"{_right(signs):>12}" if crowded else "     " + " ".join(f"{sign:>4}" for sign in signs)
        numbers = largest(one) if room >= 28 else ""
        lines.append(f"{name_of(one):<{wide}}  {cells:<{len(header)}} {one.wall_s:6.2f} s  {numbers}".rstrip())
    return (Fixed(tuple(lines)),)


def _right(signs: Sequence[str]) -> str:
    return f"{signs.count('ok')} of {len(signs)} ok"


def name_of(one: ModeResult) -> str:
    """The mode's name, safe to print."""
    return one_line(one.mode)[:32]


def signs_of(one: ModeResult) -> list[str]:
    """A word for each rank; ranks that only suffer from another's fault have their own."""
    if not one.ranks:
        return [_SIGNS[one.state]]
    blamed = any(rank.named for rank in one.ranks)
    return [(_HIT if blamed and not rank.named else _SIGNS).get(rank.state, _SIGNS[rank.state]) for rank in one.ranks]


def largest(one: ModeResult) -> str:
    """The difference that tells most, and what is allowed; empty where nothing was compared."""
    if one.state in ("crashed", "not-applicable", "unknown"):
        return ""
    shown = ("grad", "value", "param", "loss", "local")
    name = next((name for name in shown if name in one.max_error), None)
    if name is None:
        return ""
    error, allowed = one.max_error[name], one.tolerance.get(name, 0.0)
    return f"{name} {error:.1e} ({allowed:.1e})" if error or allowed else f"{name} equal"
