"""Two training configurations side by side: what differs, and what it changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rocdoctor.train.recommend.advise import FASTER
from rocdoctor.train.recommend.estimate import Result
from rocdoctor.train.recommend.explain.value_reasons import FRAMEWORK_WORDS, recompute_words
from rocdoctor.train.recommend.model.spec import Work

_ADAPTERS = {"lora": "LoRA", "qlora": "QLoRA"}
_KEPT = {3: "weights, gradients and optimizer", 2: "gradients and optimizer", 1: "optimizer"}


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: as the user named it, with its estimate; None where nothing fits, and ``needed`` says why."""

    label: str
    result: Result | None
    needed: tuple[str, ...] = ()

    @property
    def tokens_per_s(self) -> float | None:
        """Of all GPUs together."""
        told = self.result.speed if self.result is not None else None
        return told.tokens_per_s_per_gpu * self.result.work.gpus if told is not None and self.result else None

    @property
    def step_s(self) -> float | None:
        """Seconds of one optimizer step."""
        rate = self.tokens_per_s
        return step_sequences(self.result.work) * self.result.work.seq / rate if rate and self.result else None


@dataclass(frozen=True, slots=True)
class ComparedSetting:
    """One setting of both, as words; equal where they agree."""

    key: str
    first: str
    second: str


def step_sequences(work: Work) -> int:
    """Sequences of one optimizer step over all ranks."""
    return work.micro_batch * work.microbatches * work.parallel.dp


def settings(first: Side, second: Side) -> tuple[ComparedSetting, ...]:
    """Every setting of both, in the order of a plan; none where one has no plan."""
    if first.result is None or second.result is None:
        return ()
    both = zip(_words(first.result.work), _words(second.result.work), strict=True)
    return tuple(ComparedSetting(key, one, two) for (key, one), (_, two) in both)


def times(first: Side, second: Side) -> float | None:
    """How many tokens/s the first trains for one of the second; None where a speed is not known."""
    one, two = first.tokens_per_s, second.tokens_per_s
    return one / two if one is not None and two else None


def alike(ratio: float) -> bool:
    """Whether two speeds are nearer to each other than an estimate's error."""
    return 1 / FASTER < ratio < FASTER


def _words(work: Work) -> Iterator[tuple[str, str]]:
    sizes = work.parallel
    yield "model", work.model.name
    adapters = f"{_ADAPTERS[work.method]}, rank {work.lora_rank}" if work.method in _ADAPTERS else ""
    yield "method", adapters or "all weights"
    yield "gpus", f"{work.gpus} x {work.gpu.name}"
    yield "sequence", f"{work.seq} tokens"
    yield "framework", FRAMEWORK_WORDS[work.framework]
    yield "data_parallel", str(sizes.dp)
    sharded = sizes.zero and sizes.shard > 1
    yield "shard", f"{_KEPT[sizes.zero]} over {sizes.shard}" if sharded else "none"
    yield "tensor_parallel", str(sizes.tp)
    yield "pipeline_parallel", f"{sizes.pp}, {sizes.schedule}" if sizes.pp > 1 else "1"
    yield "context_parallel", str(sizes.cp)
    yield "expert_parallel", str(sizes.ep)
    yield "micro_batch", str(work.micro_batch)
    yield "grad_accum", str(work.microbatches)
    yield "step", f"{step_sequences(work)} sequences"
    yield "precision", f"{work.precision} states and products" if work.pure_bf16 else work.precision
    yield "recompute", recompute_words(work)
    yield "optimizer", f"{work.optimizer}, step in the backward pass" if work.step_in_backward else work.optimizer
    yield "loss", work.loss
    yield "compile", "yes" if work.compile else "no"
    yield "attention", work.attention
    moved = "weights and optimizer" if sizes.offload_weights else "optimizer" if sizes.offload_optimizer else "nothing"
    yield "offload", moved
