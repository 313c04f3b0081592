"""Measured figures for people: a line a figure, each device beside the others and beside what it could be."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rocdoctor.facts import SmokeRun
from rocdoctor.report.clean import one_line
from rocdoctor.smoke.figure_math import usable
from rocdoctor.smoke.judge_figures import LowFigure, entry_words, outliers

_UNITS = (
    ("_tflops", "TFLOPS"), ("_gb_s", "GB/s"), ("_tokens_per_s", "tokens/s"), ("_us", "µs"), ("_c", "°C"), ("_w", "W"),
    ("_mhz", "MHz"), ("_percent", "%"), ("_s", "s"),
)  # fmt: skip
_SHARES = ("mfu", "of_matmul", "scaling", "slowed")
_NAMES = {
    "train_tokens_per_s": "training", "train_model_tflops": "training, the model's operations",
    "train_compiled_tokens_per_s": "training, compiled",
    "train_compiled_model_tflops": "training, compiled, operations", "train_compiled_mfu": "training, compiled, MFU",
    "train_compiled_of_matmul": "training, compiled, share of matmul",
    "op_start_us": "start of a small operation", "op_round_trip_us": "small operation and wait",
    "train_mfu": "training, share of the peak (MFU)", "train_of_matmul": "training, share of the matmul rate",
    "train_scaling": "training, scaling efficiency", "compile_speedup": "compiled over eager",
    "slowed": "time with clocks held down",
}  # fmt: skip
_HIDDEN = ("soak_log", "train_ddp_tokens_per_s", "all_reduce_us", "soak_tflops")
_MAX_LINES, _MAX_LOG = 200, 40
_HELD = "\N{NO-BREAK SPACE}"


def section(run: SmokeRun, width: int) -> list[str]:
    """The figures of a run; empty without any."""
    if not run.figures:
        return []
    lines = ["measured figures (median of repetitions; share of the published peak where one is known)", ""]
    for name, entries in list(run.figures.items()):
        if name not in _HIDDEN:
            lines += _figure(name, entries, width)
    apart = [f"{_title(name)}: {words}" for name, entries in run.figures.items() for _, words in outliers(entries)]
    if apart and run.device == "cpu":
        apart.append("Other programs use a CPU too, so its figures are not judged.")
    lines += [line for words in apart for line in textwrap.wrap(words, width, subsequent_indent="  ")]
    lines += _soak(run.figures, width)
    return [*lines[:_MAX_LINES], ""]


def finding_lines(low: Sequence[LowFigure], width: int) -> list[str]:
    """Findings of figures, one paragraph each."""
    return [
        line
        for one in low[:20]
        for line in textwrap.wrap(f"warning  {one_line(one.words)}", width, subsequent_indent="  ")
    ]


def _unit(name: str) -> str:
    return next((words for ending, words in _UNITS if name.endswith(ending)), "")


def _title(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    ending = next((ending for ending, _ in _UNITS if name.endswith(ending)), "")
    return one_line(name.removesuffix(ending)).replace("_", " ")[:60]


def _value(name: str, value: float) -> str:
    if name.endswith(_SHARES):
        return f"{value:.0%}"
    if name.endswith("_tflops") and value < 0.1:
        return f"{value * 1000:.3g} GFLOPS"
    shown = f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
    return f"{shown} {_unit(name)}".rstrip()


def _figure(name: str, entries: Sequence[Mapping[str, Any]], width: int) -> list[str]:
    right = [one for one in entries if usable(one) or (name == "slowed" and one.get("value") is not None)]
    if not right:
        return []
    cells = []
    for one in right[:64]:
        words = entry_words(dict(one))
        cells.append(f"{_where(one)}{_value(name, float(one['value']))}" + (f" ({words})" if words else ""))
    head = f"{_title(name):<36}"
    # A value and its unit stay together.
    joined = ", ".join(cell.replace(" ", _HELD) for cell in cells)
    lines = textwrap.wrap(head + "  " + joined, width, subsequent_indent=" " * 38)
    return [line.replace(_HELD, " ") for line in lines]


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


def _soak(figures: Mapping[str, Sequence[Mapping[str, Any]]], width: int) -> list[str]:
    lines = []
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
        lines += textwrap.wrap(words, width, subsequent_indent="  ")
    log = figures.get("soak_log", ())
    if lines and log:
        step = max(1, len(log) // _MAX_LOG)
        lines += ["", "   at  where    TFLOPS     MHz    °C     W"]
        lines += [
            f"{_number(one.get('at_s'), '5.0f')}  {_where(one).rstrip(': '):<8} {_number(one.get('value'), '6.4g'):>6}"
            f" {_number(one.get('clock_mhz'), '7.0f'):>7} {_number(one.get('temp_c'), '5.0f'):>5}"
            f" {_number(one.get('power_w'), '5.0f'):>5}  {', '.join(map(one_line, one.get('slowed') or []))}".rstrip()
            for one in log[::step]
        ]
    return ["", *lines] if lines else []


def _number(value: Any, form: str = ".4g") -> str:
    return format(value, form) if isinstance(value, int | float) and not isinstance(value, bool) else "-"
