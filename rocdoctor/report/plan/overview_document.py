"""Which models fit with which method, as a document and as JSON."""

from __future__ import annotations

from functools import partial
from typing import Any

from rocdoctor.model.printable import one_line
from rocdoctor.report.document import GAP, Block, Code, Fixed, Para, Table, Title
from rocdoctor.report.plan.recommend_document import unfit_blocks
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.search.overview import METHODS, Cell, Overview

_TITLES = {"qlora": "QLoRA", "lora": "LoRA", "full": "fine-tuning", "pretrain": "pretraining"}


def _words(cell: Cell) -> str:
    return "-" if cell.fits == "no" else cell.words


def _speed(cell: Cell) -> str:
    """The second line of a cell: the speed, and that it may not fit."""
    parts = [f"{cell.tokens_per_s_per_gpu:.0f}/s"] if cell.tokens_per_s_per_gpu is not None else []
    return ", ".join([*parts, *(["tight"] if cell.fits == "tight" else [])])


def document(found: Overview, unfit: tuple[str, ...] = ()) -> list[Block]:
    """A table: a model a line, a method a column, with the kind of plan and its tokens/s a GPU.

    ``unfit``: what speaks against GPUs that the plans use, which is said first.
    """
    parts = []
    for method in METHODS:
        fitting = [(count, name) for name, count, cells in found.rows if cells[method].fits == "yes"]
        if fitting:
            parts.append(f"{_TITLES[method]} up to {max(fitting)[1]}")
    said = f"{one_line(found.fleet.name)}: " + ("; ".join(parts) if parts else "none of the models below fits") + "."
    seqs = sorted(set(found.seq.values()))
    unit = "process" if found.fleet.vendor == "cpu" else "GPU"
    about = (
        f"Sequences of {' and '.join(map(str, seqs))} tokens "
        f"({'fine-tuning and pretraining; ' if len(seqs) > 1 else ''}change it with --seq); "
        f"{found.limit / GIB:.1f} GiB of a {unit} are available to a plan. "
        f"size: parameters. /s: tokens per second and {unit}, as the tables expect. tight: may just fit. "
        "-: does not fit."
    )
    rows = tuple(
        (name, _size(count), *(f"{_words(cells[one])} {_speed(cells[one])}".strip() for one in METHODS))
        for name, count, cells in found.rows
    )
    return [
        Title(f"What {one_line(found.fleet.name)} can train"),
        *unfit_blocks(unfit),
        Para(said, bold=True),
        GAP,
        Table(("model", "size", *(_TITLES[one] for one in METHODS)), rows, partial(_laid, found)),
        GAP,
        Para(about),
        *(Para(one_line(one), "- ", "  ", item=True) for one in (*found.fleet.left_out, *found.fleet.notes)),
        GAP,
        Para(("The plan for one of them: ", Code("rocdoctor recommend --model NAME --method METHOD"))),
    ]


def _laid(found: Overview, width: int) -> tuple[Block, ...]:
    """Kinds of plans side by side, their speeds below them."""
    room = max(15, (width - 20) // len(METHODS))
    lines = [f"{'model':14}{'size':>6}" + "".join(f" {_TITLES[one]:{room - 1}}" for one in METHODS)]
    for name, count, cells in found.rows:
        words = "".join(f" {_words(cells[one])[: room - 1]:{room - 1}}" for one in METHODS)
        lines.append(f"{name:14}{_size(count):>6}{words}")
        speeds = [_speed(cells[one]) for one in METHODS]
        if any(speeds):
            lines.append(" " * 20 + "".join(f" {one:{room - 1}}" for one in speeds))
    return (Fixed(tuple(line.rstrip() for line in lines)),)


def _size(count: float) -> str:
    return f"{count / 1e9:.3g}B"


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
