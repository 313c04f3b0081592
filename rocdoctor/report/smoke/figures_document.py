"""Measured figures as a part of a document: a line a figure, each device beside the others and what it could be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rocdoctor.model.facts import SmokeRun
from rocdoctor.model.printable import one_line
from rocdoctor.report.document import GAP, HELD, Block, Fixed, Heading, Para, Row, Strong
from rocdoctor.train.smoke.figures.figure_math import usable
from rocdoctor.train.smoke.figures.figure_words import title, with_unit
from rocdoctor.train.smoke.figures.judge_figures import LowFigure, outliers

_HIDDEN = ("soak_log", "train_ddp_tokens_per_s", "all_reduce_us", "soak_tflops")
_MOST_FIGURES, _MAX_LOG, _MAX_PAIRS = 200, 40, 12
_COLUMN = 38


def section(run: SmokeRun) -> Iterator[Block]:
    """The figures of a run; empty without any."""
    if not run.figures:
        return
    yield Heading("measured figures (median of repetitions; share of the published peak where one is known)")
    yield GAP
    for name, entries in list(run.figures.items())[:_MOST_FIGURES]:
        if name not in _HIDDEN:
            yield from _figure(name, entries)
    if run.device == "cpu":
        apart = [f"{title(name)}: {words}" for name, entries in run.figures.items() for _, words in outliers(entries)]
        if apart:
            apart.append("Other programs use a CPU too, so its figures are not judged.")
        yield from (Para(words, "", "  ", item=True) for words in apart[:_MOST_FIGURES])
    yield from _soak(run.figures)
    yield GAP


def findings(low: Sequence[LowFigure]) -> Iterator[Block]:
    """Findings of figures, one paragraph each."""
    for one in low[:20]:
        yield Para((Strong("warning", ""), "  ", one_line(one.words)), "", "  ", item=True)


def _figure(name: str, entries: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    right = [one for one in entries if usable(one) or (name == "slowed" and _is_number(one.get("value")))]
    if not right:
        return
    peaks = {one.get("expected") for one in right}
    (peak,) = peaks if len(peaks) == 1 else (None,)
    cells = [_where(one) + with_unit(name, float(one["value"])) + _share(name, one, peak) for one in right[:64]]
    if len(right) > _MAX_PAIRS and right[0].get("peer") is not None:
        cells = _few(name, right, peak)
    if isinstance(peak, int | float):
        normal = right[0].get("normal")
        least = f", normal from {normal:.0%} on" if isinstance(normal, int | float) else ""
        cells[-1] += f" (of {with_unit(name, peak)}{least})"
    # A value and its unit stay together.
    joined = ", ".join(cell.replace(" ", HELD) for cell in cells)
    yield Row(f"{title(name):<{_COLUMN - 2}}  ", joined, "", _COLUMN)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _few(name: str, pairs: Sequence[Mapping[str, Any]], peak: object) -> list[str]:
    """Of many pairs the median and both ends."""
    ranked = sorted(pairs, key=lambda one: float(one["value"]))
    ends = [(word, ranked[at]) for word, at in (("lowest", 0), ("median", len(ranked) // 2), ("highest", -1))]
    words = [
        f"{word} {_where(one)}{with_unit(name, float(one['value']))}{_share(name, one, peak)}" for word, one in ends
    ]
    return [f"{len(pairs)} pairs", *words]


def _share(name: str, one: Mapping[str, Any], peak: object) -> str:
    share, expected = one.get("share"), one.get("expected")
    if not isinstance(share, int | float) or not isinstance(expected, int | float):
        return ""
    return f" {share:.0%}" if peak is not None else f" ({share:.0%} of {with_unit(name, expected)})"


def _where(one: Mapping[str, Any]) -> str:
    """Which device, pair, size or number of ranks a value is of."""
    if one.get("peer") is not None:
        return f"{one.get('gpu')}→{one['peer']}: "
    size = one.get("bytes")
    if one.get("ranks") is not None:
        return f"{_bytes(size)}: " if isinstance(size, int) else f"{one['ranks']} ranks: "
    if one.get("gpu") is not None:
        return f"gpu {one['gpu']}: "
    return f"rank {one['rank']}: " if one.get("rank") is not None else ""


def _bytes(size: int) -> str:
    for unit, scale in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:g} {unit}"
    return f"{size} B"


def _soak(figures: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Block]:
    found: list[Block] = []
    for one in figures.get("soak_tflops", ()):
        if not usable(one):
            continue
        clocks = ""
        if one.get("clock_first_mhz") and one.get("clock_last_mhz"):
            clocks = f", clock from {one['clock_first_mhz']:.0f} to {one['clock_last_mhz']:.0f} MHz"
        heat = f", at most {one['temp_max_c']:g} °C" if one.get("temp_max_c") else ""
        power = f" and {one['power_max_w']:.0f} W" if one.get("power_max_w") else ""
        reasons = f"; clocks held down by {', '.join(map(one_line, one['slowed']))}" if one.get("slowed") else ""
        minutes = float(one.get("seconds") or 0) / 60
        words = (
            f"sustained load of {minutes:.1f} min, {_where(one)}{_number(one.get('first'))} "
            f"TFLOPS in the first part, {_number(one['value'])} in the last ({_number(one.get('of_first'), '.0%')}), "
            f"slowest {_number(one.get('slowest'))}{clocks}{heat}{power}{reasons}"
        )
        found.append(Para(words, "", "  ", item=True))
    log = figures.get("soak_log", ())
    if found and log:
        step = max(1, len(log) // _MAX_LOG)
        lines = ["   at  where    TFLOPS     MHz    °C     W"]
        lines += [
            f"{_number(one.get('at_s'), '5.0f')}  {_where(one).rstrip(': '):<8} {_number(one.get('value'), '6.4g'):>6}"
            f" {_number(one.get('clock_mhz'), '7.0f'):>7} {_number(one.get('temp_c'), '5.0f'):>5}"
            f" {_number(one.get('power_w'), '5.0f'):>5}  {', '.join(map(one_line, one.get('slowed') or []))}".rstrip()
            for one in log[::step]
        ]
        found += [GAP, Fixed(tuple(lines))]
    return [GAP, *found] if found else []


def _number(value: Any, form: str = ".4g") -> str:
    return format(value, form) if isinstance(value, int | float) and not isinstance(value, bool) else "-"
