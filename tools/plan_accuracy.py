"""``python -m tools.plan_accuracy ROWS.yaml``: the page of predicted against published memory and speed.

``rows`` of the file are training configurations in the fields of a specification, each with what was published:
``mem_per_gpu_gib``, ``tokens_per_s_per_gpu``, ``fits`` (false: it ran out of memory), and its ``source``. Rows that are
``suspect`` or lack sizes are left out. Coefficients may be fitted on one half of the sources, which the hash of a
source's name chooses; the page shows both.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from statistics import median
from textwrap import wrap
from typing import Any

import yaml

from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.fleet.gpu_figures import GIB

# What a specification is made of; nothing that was measured is among it.
_INPUT = (
    *("model", "gpu", "gpus", "seq", "micro_batch", "local_batch", "grad_accum", "global_batch", "parallel"),
    *("recompute", "recompute_layers", "precision", "method", "compile", "attention", "fused_ce"),
)
_WIDTH = 120
# Edges of the bars, as shares of the published figure.
_EDGES = (-0.20, -0.15, -0.10, -0.05, 0.0, 0.05, 0.10, 0.15, 0.20)


@dataclass(frozen=True, slots=True)
class Compared:
    """One published run; errors are predicted over published, less one, None where nothing was published."""

    half: str
    gpu: str
    framework: str
    memory: float | None
    speed: float | None
    fits: str
    ran: bool


def half_of(source: str) -> str:
    """A (fitted on) or B, by the document's name without the part of it that is meant."""
    name = source.split(" key ")[0].split(" (")[0].strip()
    return "AB"[int(sha256(name.encode()).hexdigest(), 16) % 2]


def compared(rows: Iterable[Mapping[str, Any]]) -> Iterator[Compared]:
    """The rows that can be estimated."""
    for row in rows:
        model = row.get("model") or {}
        batch = row.get("micro_batch") or row.get("local_batch")
        if row.get("suspect") or not (model.get("layers") and model.get("hidden") and batch and row.get("seq")):
            continue
        try:
            told = solve({key: row[key] for key in _INPUT if key in row})
        except SpecError:
            continue
        memory, speed = row.get("mem_per_gpu_gib"), row.get("tokens_per_s_per_gpu")
        yield Compared(
            half_of(str(row.get("source"))),
            told.work.gpu.generation,
            told.work.framework,
            told.memory.reserved / GIB / memory - 1 if memory else None,
            told.speed.tokens_per_s_per_gpu / speed - 1 if speed and told.speed else None,
            told.fits,
            row.get("fits") is not False,
        )


def _within(errors: Sequence[float], share: float) -> str:
    return f"{sum(abs(one) <= share for one in errors)} of {len(errors)}" if errors else ""


def _middle(errors: Sequence[float]) -> str:
    return f"{median([abs(one) for one in errors]):.1%}".replace("%", " %") if errors else ""


def _line(name: str, rows: Sequence[Compared]) -> str:
    memory = [one.memory for one in rows if one.memory is not None]
    speed = [one.speed for one in rows if one.speed is not None]
    cells = (
        *(name, str(len(rows)), _within(memory, 0.05), _within(memory, 0.10), _middle(memory)),
        *(_within(speed, 0.10), _within(speed, 0.20), _middle(speed)),
        str(sum(one.fits == "tight" for one in rows)),
        str(sum(one.ran and one.fits == "no" for one in rows)),
    )
    return "| " + " | ".join(cells) + " |"


def _table(what: str, rows: Sequence[Compared], key: Callable[[Compared], str]) -> Iterator[str]:
    memory, speed = "memory within 5 % | within 10 % | median", "speed within 10 % | within 20 % | median"
    yield f"| {what} | runs | {memory} | {speed} | tight | refused |"
    yield "| --- |" + " --- |" * 9
    for name in sorted({key(one) for one in rows}):
        yield _line(name, [one for one in rows if key(one) == name])
    yield _line("all", rows)


def _bars(errors: Sequence[float]) -> Iterator[str]:
    """How many errors lie between each two edges, as a drawing."""
    bounds = (float("-inf"), *_EDGES, float("inf"))
    yield "```text"
    for low, high in pairwise(bounds):
        count = sum(low < one <= high for one in errors)
        left = "      below" if low == float("-inf") else f"{low:+.0%} to".rjust(11)
        right = f"{_EDGES[0]:+.0%}" if low == float("-inf") else "more" if high == float("inf") else f"{high:+.0%}"
        yield f"{left} {right:>5}  {'#' * count} {count or ''}".rstrip()
    yield "```"


def page(rows: Iterable[Mapping[str, Any]]) -> str:
    """The whole page."""
    found = list(compared(rows))
    out = [row for row in found if not row.ran]
    false = sum(one.fits == "yes" for one in out)
    known = (
        f"`rocdoctor estimate` is given {len(found)} configurations that others published with what they measured, and "
        "never the figures. The runs are not part of this repository; `python -m tools.plan_accuracy ROWS.yaml` prints "
        "this page for any file of them. Tight: the estimate does not say whether it fits. Refused: it says that what "
        f"ran does not fit. Of {len(out)} that ran out of memory, {false} are said to fit; beside them, configurations "
        "that no card of their kind can hold are traced, and tested never to be said to fit "
        "([does_not_fit.yaml](../tests/train/recommend/does_not_fit.yaml))."
    )
    halves = (
        "Coefficients of `profiles/efficiency.yaml` are looked at and fitted on half A of the source documents (which "
        "half, the hash of the name tells); older ones were fitted when there were no halves."
    )
    lines = [
        "# How near plans come to published runs",
        "",
        *wrap(known, _WIDTH),
        "",
        "## By half",
        "",
        *wrap(halves, _WIDTH),
        "",
        *_table("half", found, lambda one: one.half),
        "",
        "## By GPU",
        "",
        *_table("generation", found, lambda one: one.gpu),
        "",
        "## By framework",
        "",
        *_table("framework", found, lambda one: one.framework),
    ]
    for name, errors in (
        ("memory", [one.memory for one in found if one.memory is not None]),
        ("speed", [one.speed for one in found if one.speed is not None]),
    ):
        lines += ["", f"## Predicted over published {name}", "", *_bars(errors)]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Print the page; 2 for a file that has no rows."""
    if len(arguments) != 1:
        print("usage: python -m tools.plan_accuracy ROWS.yaml", file=sys.stderr)
        return 2
    content = yaml.safe_load(Path(arguments[0]).read_text(encoding="utf-8"))
    rows = content.get("rows") if isinstance(content, dict) else None
    if not rows:
        print(f"{arguments[0]}: no rows", file=sys.stderr)
        return 2
    print(page(rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
