"""Which popular models a fleet can train, and how: what is shown where no model is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rocdoctor.train.recommend.advise import best, searched, unsupported
from rocdoctor.train.recommend.model.shapes import parameters
from rocdoctor.train.recommend.model.workload import read_workload
from rocdoctor.train.recommend.plan import Fleet, Method, Workload
from rocdoctor.train.recommend.search.candidates import Candidate, Search, usual_frameworks

# Dense models of each usual size, then mixtures of experts.
_MODELS = (
    "llama-3.2-1b",
    "qwen2.5-3b",
    "llama-3.1-8b",
    "qwen2.5-14b",
    "qwen2.5-32b",
    "llama-3.1-70b",
    "mixtral-8x7b",
    "llama-3.1-405b",
)
METHODS: tuple[Method, ...] = ("qlora", "lora", "full", "pretrain")


@dataclass(frozen=True, slots=True)
class Cell:
    """One method of one model: ``fits`` as an estimate says it, and the plan's kind in a few words."""

    fits: str
    words: str
    tokens_per_s_per_gpu: float | None
    high_bytes: float | None


@dataclass(frozen=True, slots=True)
class Overview:
    """Models with their parameters and a cell for each method; ``limit``: bytes of a GPU that can be planned with."""

    fleet: Fleet
    seq: Mapping[Method, int]
    rows: tuple[tuple[str, float, Mapping[Method, Cell]], ...]
    limit: float


def overview(fleet: Fleet, seq: int | None = None) -> Overview:
    """All models by all methods; raises SpecError for a sequence that is none."""
    rows = []
    lengths: dict[Method, int] = {}
    for name in _MODELS:
        cells: dict[Method, Cell] = {}
        count = 0.0
        for method in METHODS:
            workload = read_workload(name, method, seq)
            lengths[method] = workload.seq
            count = parameters(workload.model)
            cells[method] = _cell(fleet, workload)
        rows.append((name, count, cells))
    return Overview(fleet, lengths, tuple(rows), 0.92 * fleet.gpu.usable_bytes)


def _cell(fleet: Fleet, workload: Workload) -> Cell:
    if unsupported(fleet, workload) is not None:
        return Cell("no", "", None, None)
    search = Search(fleet, workload)
    frameworks = usual_frameworks(fleet, workload)
    found = best(searched(search, frameworks), "speed")
    return _of(fleet, found[0]) if found else Cell("no", "", None, None)


def _of(fleet: Fleet, one: Candidate) -> Cell:
    sizes = one.work.parallel
    single = "one process" if fleet.vendor == "cpu" else "one GPU"
    words = {"ddp": "DDP" if sizes.dp > 1 else single, "deepspeed": f"ZeRO {sizes.zero}"}.get(
        one.work.framework, "FSDP"
    )
    for key in ("tp", "pp", "cp", "ep"):
        if getattr(sizes, key) > 1:
            words += f" {key.upper()}{getattr(sizes, key)}"
    if sizes.offload_optimizer:
        words += " offload"
    if one.work.optimizer == "adam8bit":
        words += " 8-bit"
    elif one.work.pure_bf16 or one.work.optimizer == "adam16bit":
        words += " 16-bit"
    return Cell(one.fits, words, one.speed.tokens_per_s_per_gpu if one.speed else None, one.memory.high)
