"""Smoke results for people: what to do first, a table of modes and ranks, and each fault in words."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rocdoctor.insight.jobs.smoke_modes import LAYERS
from rocdoctor.model.facts import ModeResult, SmokeRun
from rocdoctor.model.printable import one_line
from rocdoctor.report.markdown import code, plain
from rocdoctor.report.smoke.figures_document import finding_lines, section
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


def render(runs: Sequence[SmokeRun], width: int, low: Sequence[LowFigure] = ()) -> str:
    """The whole report: the sentence, the faults, low figures, the tables, what was not tested."""
    lines = [*textwrap.wrap(headline(runs, low), width), "", *finding_lines(low, width)]
    for run in runs:
        for one in run.modes:
            if one.state in ("fail", "crashed"):
                lines += _fault(one, width)
    for run in runs:
        lines += _run(run, width)
    return "\n".join(lines).rstrip() + "\n"


def markdown(runs: Sequence[SmokeRun], low: Sequence[LowFigure] = ()) -> str:
    """The same for an issue: the sentence, then the table as it is."""
    return f"**{plain(headline(runs, low))}**\n\n```text\n{code(render(runs, 100, low))}```\n"


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
    return f"All {right} modes that this machine can run compute the right numbers.{slow}"


def run_words(run: SmokeRun) -> str:
    """Which ranks ran, where, and how long."""
    where = "on the CPU" if run.device == "cpu" else "on GPUs"
    ranks = f"{run.world} rank" + ("s" if run.world != 1 else "")
    torch = one_line(run.torch or "unknown")[:40]
    return f"{ranks} {where}, back end {one_line(run.backend)[:20]}, torch {torch}, {run.wall_s:.1f} s"


def _run(run: SmokeRun, width: int) -> list[str]:
    lines = [run_words(run)]
    lines += [line for note in run.notes for line in textwrap.wrap(f"note: {one_line(note)}", width)]
    if not run.modes:
        return [*lines, "", *section(run, width)]
    wide = max((len(name_of(one)) for one in run.modes), default=4)
    crowded = wide + 16 + 5 * run.world > width
    header = "rank " + " ".join(f"{rank:>4}" for rank in range(run.world)) if not crowded else "ranks    "
    room = width - wide - len(header) - 12
    lines += [
        "",
        f"{'mode':<{wide}}  {header}     time  {'largest difference (allowed)' if room >= 28 else ''}".rstrip(),
    ]
    shown: set[str] = set()
    for one in run.modes:
        signs = signs_of(one)
        shown |= set(signs)
        cells = (
            f"{signs.count('ok'):>3} of {len(signs)} ok"
            if crowded
            else "     " + " ".join(f"{sign:>4}" for sign in signs)
        )
        numbers = largest(one) if room >= 28 else ""
        lines.append(f"{name_of(one):<{wide}}  {cells:<{len(header)}} {one.wall_s:6.2f} s  {numbers}".rstrip())
    words = [text for sign, text in LEGEND.items() if sign in shown]
    lines += ["", *textwrap.wrap("; ".join(words), width)] if words else []
    lines.append("")
    for one in run.modes:
        if one.state in ("not-applicable", "unknown"):
            words_of = f"{name_of(one)}: not tested: {one_line(one.message)}"
            lines += textwrap.wrap(words_of, width, subsequent_indent="  ")
    if run.untested:
        lines += textwrap.wrap(f"This run says nothing of: {', '.join(map(one_line, run.untested))}.", width)
    lines += ["", *section(run, width)]
    return lines


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
    return f"{name} {one.max_error[name]:.1e} ({one.tolerance.get(name, 0.0):.1e})" if name else ""


def _fault(one: ModeResult, width: int) -> list[str]:
    lines = textwrap.wrap(
        f"{_SIGNS[one.state]}  {name_of(one)}: {one_line(one.message)}", width, subsequent_indent="  "
    )
    if one.layer:
        lines.append(f"  likely layer: {LAYERS[one.layer]}")
    return [*lines, ""]
