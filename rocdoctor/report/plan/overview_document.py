"""Which models fit with which method, as text, markdown and JSON."""

from __future__ import annotations

import textwrap
from typing import Any

from rocdoctor.model.printable import one_line
from rocdoctor.report.markdown import plain
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.search.overview import METHODS, Cell, Overview

_TITLES = {"qlora": "QLoRA", "lora": "LoRA", "full": "fine-tuning", "pretrain": "pretraining"}


def _words(cell: Cell) -> str:
    return "-" if cell.fits == "no" else cell.words


def _speed(cell: Cell) -> str:
    """The second line of a cell: the speed, and that it may not fit."""
    parts = [f"{cell.tokens_per_s_per_gpu:.0f}/s"] if cell.tokens_per_s_per_gpu is not None else []
    return ", ".join([*parts, *(["tight"] if cell.fits == "tight" else [])])


def text(found: Overview, columns: int) -> str:
    """A table: a model a line, a method a column, with the kind of plan and its tokens/s a GPU."""
    parts = []
    for method in METHODS:
        fitting = [(count, name) for name, count, cells in found.rows if cells[method].fits == "yes"]
        if fitting:
            parts.append(f"{_TITLES[method]} up to {max(fitting)[1]}")
    said = f"{one_line(found.fleet.name)}: " + ("; ".join(parts) if parts else "none of the models below fits") + "."
    lines = [*textwrap.wrap(said, columns, break_on_hyphens=False), ""]
    room = max(15, (columns - 20) // len(METHODS))
    lines.append(f"{'model':14}{'size':>6}" + "".join(f" {_TITLES[one]:{room - 1}}" for one in METHODS).rstrip())
    for name, count, cells in found.rows:
        lines.append(
            f"{name:14}{f'{count / 1e9:.3g}B':>6}"
            + "".join(f" {_words(cells[one])[: room - 1]:{room - 1}}" for one in METHODS).rstrip()
        )
        speeds = [_speed(cells[one]) for one in METHODS]
        if any(speeds):
            lines.append(" " * 20 + "".join(f" {one:{room - 1}}" for one in speeds).rstrip())
    seqs = sorted(set(found.seq.values()))
    unit = "process" if found.fleet.vendor == "cpu" else "GPU"
    about = (
        f"Sequences of {' and '.join(map(str, seqs))} tokens "
        f"({'fine-tuning and pretraining; ' if len(seqs) > 1 else ''}--seq states another); "
        f"{found.limit / GIB:.1f} GiB of a {unit} can be planned with. "
        f"size: parameters. /s: tokens a second and {unit}, as the tables expect. tight: may just fit. -: does not fit."
    )
    lines += ["", *textwrap.wrap(about, columns, break_on_hyphens=False)]
    for one in (*found.fleet.left_out, *found.fleet.notes):
        lines += textwrap.wrap(
            one_line(one), columns, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
        )
    lines += ["", "The plan for one of them: rocdoctor recommend --model NAME --method METHOD"]
    return "\n".join(lines) + "\n"


def markdown(found: Overview) -> str:
    """The same as a markdown table."""
    lines = [
        f"## What {plain(found.fleet.name)} can train",
        "",
        "| model | " + " | ".join(_TITLES[m] for m in METHODS) + " |",
    ]
    lines.append("| --- |" + " --- |" * len(METHODS))
    for name, count, cells in found.rows:
        shown = (f"{_words(cells[one])} {_speed(cells[one])}".strip() for one in METHODS)
        lines.append(f"| {name} ({count / 1e9:.1f} B) | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"


def as_json(found: Overview) -> dict[str, Any]:
    """``rocdoctor.overview/1``: every model with a cell for each method."""
    return {
        "schema": "rocdoctor.overview/1",
        "fleet": found.fleet.name,
        "seq": dict(found.seq),
        "plan_limit_gib": round(found.limit / GIB, 2),
        "models": [
            {
                "model": name,
                "parameters": count,
                "methods": {
                    method: {
                        "fits": cell.fits,
                        "plan": cell.words or None,
                        "tokens_per_s_per_gpu": cell.tokens_per_s_per_gpu,
                        "high_gib": round(cell.high_bytes / GIB, 2) if cell.high_bytes is not None else None,
                    }
                    for method, cell in cells.items()
                },
            }
            for name, count, cells in found.rows
        ],
    }
