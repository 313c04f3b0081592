"""``python -m tools.plan_accuracy ROWS.yaml``: the page of predicted against published memory and speed.

``rows`` of the file are training configurations in the fields of a specification, each with what was published:
``mem_per_gpu_gib``, ``tokens_per_s_per_gpu``, ``fits`` (false: it ran out of memory), and its ``source``. Rows that are
``suspect`` or lack sizes are left out. The page shows the halves of the sources, which the hash of a source's name
chooses, and each project's runs by coefficients that were not fitted on them alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from statistics import median
from textwrap import wrap
from typing import Any

import yaml

from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.estimate import efficiency, solve
from rocdoctor.train.recommend.fleet.gpu_figures import GIB

# What a specification is made of; nothing that was measured is among it.
_INPUT = (
    *("model", "gpu", "gpus", "seq", "micro_batch", "local_batch", "grad_accum", "global_batch", "parallel"),
    *("recompute", "recompute_layers", "precision", "method", "compile", "attention", "fused_ce"),
)
_WIDTH = 120
# Causes of the largest errors of the rows that were last looked at (2026-11-29).
_CAUSES = """\
- Memory, 42 % too high: two runs of torchtitan on H200 (June 2025). Their loss was compiled, which takes 4 B a token
  and word in place of 14. In the runs of December 2024 it was not: torchtitan had switched it off for CUDA errors
  (commit e8977b007), and switched it on again in April 2025 (bbb1b616e). `framework: torchtitan` with
  `compile: true` means today's program, and with that the two are 2 to 3 % too low. Their rows name no framework.
- Memory, 8 % too low and 8 % too high: two runs of 405B with eight stages, 1F1B and interleaved. With two chunks a
  rank and one round of micro-batches, all gradients of one chunk are reduced before those of the other exist: 12 GiB,
  about the difference between the two. Both then lack 6 GiB, for an unknown reason.
  The page prints the fullest of all GPUs. Its program kept the logits of all micro-batches on the last stage, 7.8 GiB
  (`output_chunks` of torch.distributed.pipelining; today torchtitan passes `return_outputs=False`). That brings the
  last stage to what the first holds, so it explains no gap alone.
- Memory, 7 % too low: DeepSpeed with short sequences, by 1.2 GiB. ZeRO-3 with the optimizer in main memory keeps its
  gradients there too (`self.device` in `runtime/zero/stage3.py`), 1.9 GiB less than is counted. The page has six
  lengths: from 64k on they lie on a line of 8.4 GiB and 476 kB a token, which is about what the sources give. At 32k
  2.9 GiB more are reserved, at 8k 4.3 GiB. The largest blocks of a layer are then smaller than the 1 GiB of the head,
  and the allocator joins none: likely, not measured. Counted by the sources alone, short sequences would be too low.
- Tensor parallelism of torchtitan without overlap was 6 % too low, until the segments of two whole tensors were counted
  that the logits cannot use. With overlap they lie in symmetric memory.
- Speed, 14 % too low to 16 % too high: context parallelism from two to eight ranks, where attention takes nearly all.
- Speed, 8 to 14 % too high: tensor parallelism over eight GPUs for a model of 8B; 5 to 10 % too low for 70B.
- Recomputed layers were 8 % too slow with llm-foundry and 11 % with torchtitan, until the last product of a layer was
  no longer counted twice: no gradient needs its result. Counted in graphs of torch 2.13, not fitted.
""".splitlines()
# Runs that were looked for after all coefficients stood, and estimated once before anything was changed.
_BLIND = Path(__file__).with_name("plan_accuracy_blind.md")
# What plans depend on and no run tells.
_CHOICES = """\
- `board_w_per_tflops`: the ratio of two figures of a data sheet, that of the part whose runs stand behind the
  generation's share of the peak. That the clock follows its root is fitted on torchtitan's runs.
- No board's power counts as more than 1.5 times that of this part: no known one reaches it (MI325X 1.33).
- `gradients_apart` is 0.5 for one run that fitted into memory; published figures of reserved memory allow 0.3 to 1,
  with which the median error of torchtitan's runs is 2.8 and 3.7 % (1.9 % with 0.5).
- The shares of the peak of plain PyTorch on A100 and H100 are fitted on all runs of llm-foundry and torchtitan.
- What a plan must bring for each thing more to set up (5 %), and how many things Megatron-LM, tensor parallelism and
  experts across the network count for ([recommend.md](recommend.md)): a judgement of work, not of speed.
""".splitlines()
# Runs that are in no file of rows, read once; nothing but ``expert_width`` was fitted on them.
_ELSEWHERE = """\
The archive of NVIDIA-NeMo/Megatron-Bridge (`docs/performance-summary-archive.md` and `performance-summary.md`, read
2026-11-28) has runs of Megatron-LM on H100, B200 and GB200, most in 8 bits. Its sections are container releases; the
hash of each heading decides which half a section belongs to.

| runs | number | speed within 10 % | within 20 % | median |
| --- | --- | --- | --- | --- |
| Llama 8B, 70B and 405B, none of them fitted on | 28 | 22 | | 4.9 % |
| the same with trays of GB200 joined by the network | 28 | 18 | | 6.6 % |
| mixtures of experts, half A: `expert_width` is fitted on these | 25 | 6 | 12 | 18 % |
| mixtures of experts, half B: left out | 42 | 9 | 15 | 22 % |
| half B before: width 3000 by eye, trays joined by the network | 42 | 11 | 15 | 35 % |

NVLink connects the 72 GPUs of a rack, not just the four of a tray. Modelling that halved the error on GB200 without a
new coefficient. What is left is software: between two releases the same run of Qwen3-30B-A3B became 1.8 times as fast.
So a mixture of experts may run half or twice as fast as estimated.
""".splitlines()
# Edges of the bars, as shares of the published figure.
_EDGES = (-0.20, -0.15, -0.10, -0.05, 0.0, 0.05, 0.10, 0.15, 0.20)


@dataclass(frozen=True, slots=True)
class Compared:
    """One published run; errors are predicted over published, less one, None where nothing was published."""

    half: str
    project: str
    gpu: str
    framework: str
    memory: float | None
    speed: float | None
    fits: str
    ran: bool


def half_of(source: str) -> str:
    """A or B, by the document's name without the part of it that is meant."""
    name = source.split(" key ")[0].split(" (")[0].strip()
    return "AB"[int(sha256(name.encode()).hexdigest(), 16) % 2]


def _figures(node: Mapping[str, Any], *path: str) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    for key, one in node.items():
        if isinstance(one, dict):
            yield from [((*path, key), one)] if "v" in one else _figures(one, *path, key)


def left_out(table: Mapping[str, Any], project: str) -> tuple[dict[str, Any], int, int]:
    """The table without what was fitted on a project's runs alone; how many coefficients that are, and how many stay.

    What a GPU generation or a way to run has for itself is replaced by the median of the others'. What all have in
    common stays: nothing else says it.
    """
    changed = deepcopy(dict(table))
    sources = {key: one["what"] if one["kind"] == "measured" else "" for key, one in table["sources"].items()}
    figures = [(path, one) for path, one in _figures(changed) if one.get("rows")]

    def alone(one: Mapping[str, Any]) -> bool:
        keys = one["s"] if isinstance(one["s"], list) else [one["s"]]
        return {project in sources[key] for key in keys if sources[key]} == {True}

    replaced = stays = 0
    for path, one in [(path, one) for path, one in figures if alone(one)]:
        place = next((n for n, key in enumerate(path[:-1]) if key == "generations"), None)
        place = len(path) - 1 if path[-2] == "reserved_over_live" else None if place is None else place + 1
        others = [
            other["v"]
            for where, other in figures
            if place is not None
            and len(where) == len(path)
            and not alone(other)
            and all((key == path[n]) != (n == place) for n, key in enumerate(where))
        ]
        replaced, stays = replaced + bool(others), stays + (not others)
        if others:
            one["v"] = median(others)
    return changed, replaced, stays


def compared(
    rows: Iterable[Mapping[str, Any]], tables: Callable[[str], Mapping[str, Any]] = lambda _: efficiency()
) -> Iterator[Compared]:
    """The rows that can be estimated; ``tables`` gives the coefficients for a project's rows."""
    for row in rows:
        model = row.get("model") or {}
        batch = row.get("micro_batch") or row.get("local_batch")
        if row.get("suspect") or not (model.get("layers") and model.get("hidden") and batch and row.get("seq")):
            continue
        project = str(row.get("source")).partition(" ")[0]
        try:
            told = solve({key: row[key] for key in _INPUT if key in row}, tables(project))
        except SpecError:
            continue
        memory, speed = row.get("mem_per_gpu_gib"), row.get("tokens_per_s_per_gpu")
        yield Compared(
            half_of(str(row.get("source"))),
            project,
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
    rows = list(rows)
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
        "The halves are those of the source documents, by the hash of the name. Neither was held out: coefficients of "
        "`profiles/efficiency.yaml` were looked at on half A, older ones on all, and the memory of DeepSpeed's runs on "
        "half B. These tables show how well the coefficients describe what they were fitted on."
    )
    without = {one.project: left_out(efficiency(), one.project) for one in found}
    apart = list(compared(rows, lambda project: without[project][0] if project in without else efficiency()))
    told = ", ".join(f"{name} {replaced} ({stays})" for name, (_, replaced, stays) in sorted(without.items()))
    left = (
        "Each project's runs, by coefficients that do not rest on its runs alone: what a GPU generation or a way to "
        "run has for itself is replaced by the median of the others'. What all have in common stays, since nothing "
        f"else says it, so this too is better than what new runs will show. Replaced (and kept): {told}."
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
        "## With a project left out",
        "",
        *wrap(left, _WIDTH),
        "",
        *_table("project", apart, lambda one: one.project),
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
    lines += [
        "",
        "## Runs that were estimated before anybody looked",
        "",
        *_BLIND.read_text().splitlines(),
        "",
        "## Runs of Megatron-LM that are left out",
        "",
        *_ELSEWHERE,
        "",
        "## What is known of the largest errors",
    ]
    lines += ["", *_CAUSES, "", "## Chosen, not measured", "", *_CHOICES]
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
