"""Smoke results for people: what to do first, a table of modes and ranks, and each fault in words."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rocdoctor.facts import ModeResult, SmokeRun
from rocdoctor.report.clean import one_line

_SIGNS = {"pass": "ok", "fail": "FAIL", "crashed": "DEAD", "not-applicable": "-", "unknown": "?"}
_LAYERS = {
    "device": "arithmetic on one device", "link": "the link between two GPUs", "collectives": "the collective library",
    "framework": "the framework or the program", "configuration": "the configuration of this machine",
}  # fmt: skip


def render(runs: Sequence[SmokeRun], width: int) -> str:
    """The whole report."""
    lines = [headline(runs), ""]
    for run in runs:
        lines += _run(run, width)
    return "\n".join(lines).rstrip() + "\n"


def markdown(runs: Sequence[SmokeRun]) -> str:
    """The same for an issue: the sentence, then the table as it is."""
    return f"**{headline(runs)}**\n\n```text\n{render(runs, 100)}```\n"


def headline(runs: Sequence[SmokeRun]) -> str:
    """One sentence: the first fault, or that all is well and how much was tried."""
    modes = [one for run in runs for one in run.modes]
    bad = [one for one in modes if one.state in ("fail", "crashed")]
    right = sum(one.state == "pass" for one in modes)
    if bad:
        layer = f"; look first at {_LAYERS[bad[0].layer]}" if bad[0].layer else ""
        return f"{len(bad)} of {len(bad) + right} modes went wrong, first {bad[0].mode}{layer}."
    if not right:
        return "Nothing could be tested here."
    return f"All {right} modes that this machine can run compute the right numbers."


def _run(run: SmokeRun, width: int) -> list[str]:
    where = "on the CPU" if run.device == "cpu" else "on GPUs"
    lines = [f"{run.world} ranks {where}, back end {run.backend}, torch {run.torch or 'unknown'}, {run.wall_s:.1f} s"]
    lines += [f"note: {note}" for note in run.notes]
    wide = max((len(one.mode) for one in run.modes), default=4)
    crowded = run.world > 8
    header = "rank " + " ".join(f"{rank:>4}" for rank in range(run.world)) if not crowded else "ranks"
    lines += ["", f"{'mode':<{wide}}  {header}   time     largest difference (allowed)"]
    for one in run.modes:
        lines.append(f"{one.mode:<{wide}}  {_ranks(one, crowded)} {one.wall_s:5.2f} s  {_numbers(one)}".rstrip())
    lines.append("")
    for one in run.modes:
        if one.state in ("fail", "crashed"):
            lines += _fault(one, width)
        elif one.state in ("not-applicable", "unknown"):
            lines += textwrap.wrap(f"{one.mode}: not tested: {one_line(one.message)}", width, subsequent_indent="  ")
    if run.untested:
        lines += ["", f"Not tested: {', '.join(run.untested)}."]
    lines.append("")
    return lines


def _ranks(one: ModeResult, crowded: bool) -> str:
    signs = [_SIGNS[rank.state] for rank in one.ranks]
    if crowded:
        return f"{signs.count('ok'):>3} of {len(signs)} ok"
    return "     " + " ".join(f"{sign:>4}" for sign in signs) if signs else f"     {_SIGNS[one.state]:>4}"


def _numbers(one: ModeResult) -> str:
    if one.state in ("crashed", "not-applicable", "unknown"):
        return ""
    shown = ("grad", "value", "param", "loss", "local")
    name = next((name for name in shown if name in one.max_error), None)
    return f"{name} {one.max_error[name]:.1e} ({one.tolerance.get(name, 0.0):.1e})" if name else ""


def _fault(one: ModeResult, width: int) -> list[str]:
    lines = textwrap.wrap(f"{_SIGNS[one.state]}  {one.mode}: {one_line(one.message)}", width, subsequent_indent="  ")
    if one.layer:
        lines.append(f"  likely layer: {_LAYERS[one.layer]}")
    return lines
