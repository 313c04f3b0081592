"""What a specification leaves open and its memory depends on: versions and settings of programs.

The estimate is that of today's programs; its range covers the others too, and a sentence says what decides. Sources,
all read 2026-11-29: huggingface/transformers pull request 37358 (fused AdamW by default with torch 2.8), the runs of
foundation-model-stack/fms-acceleration (scripts/benchmarks/refs; torch 2.4): with ``peft_module_casting_to_bf16`` of
TRL, which leaves norms in fp32, a layer kept 2 B an element more, and so did FSDP1 in some; the experts of Mixtral 8x7B
were in 4 bits. Megatron-LM: core/fusions/fused_cross_entropy.py, and the weight workspaces of Transformer Engine's
modules, which last from one micro-batch to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.gpu_memory import GpuMemory
from rocdoctor.train.recommend.model.spec import Work

Estimate = Callable[[Work], GpuMemory]
Variant = tuple[Work, str]


def variants(work: Work) -> Iterator[Variant]:
    """The configuration as other programs or versions would run it, each with what decides."""
    if work.framework == "megatron":
        yield from _megatron(work)
        return
    if not work.transformers or work.framework not in ("ddp", "fsdp1", "fsdp2"):
        return
    if work.method == "full" and "optimizer" in work.unsaid and work.optimizer == "adam":
        words = "AdamW in its foreach form, the Trainer's default before July 2025 and with torch before 2.8"
        yield replace(work, foreach=True), f"{words} (optimizer: adamw_torch_fused rules it out)"
    if work.method == "full" or "framework" not in work.unsaid:
        return
    if work.method == "qlora" and work.framework == "ddp" and "prepared" in work.unsaid:
        # Of what is not in 4 bits nothing stays in 16 (``prepare_model_for_kbit_training`` of peft/utils/other.py,
        # 5d602fdbf, read 2026-11-30).
        left = "which leaves embedding, head and norms in fp32 (kbit_prepared: false rules it out)"
        words = f"PEFT's prepare_model_for_kbit_training, {left}"
        yield replace(work, wide=True, prepared=True), words
    elif (work.method == "qlora" and "norms" in work.unsaid) or work.framework == "fsdp1":
        words = "norms in fp32, as PEFT's and TRL's preparation left them until 2025, widen the residual stream"
        yield replace(work, wide=True), words
    if work.method == "qlora" and work.model.experts:
        yield replace(work, small_experts=True), "transformers 4 keeps experts in 4 bits too"


def assumed(work: Work, found: GpuMemory, estimate: Estimate) -> Iterator[str]:
    """What was taken for a thing that a specification does not name, with what it is worth."""
    yield from _longest(work, found, estimate)
    if "loss" not in work.unsaid or work.loss != "plain" or work.framework == "megatron":
        return
    other = estimate(replace(work, loss="fused", loss_alone=True))
    less = found.high - other.high
    if less > 0.05 * found.high:
        yield (
            "fused_ce not given: all logits at once are assumed. With a loss in pieces (fused_ce: cce), the upper end "
            f"is {less / GIB:.1f} GiB lower"
        )


def _longest(work: Work, found: GpuMemory, estimate: Estimate) -> Iterator[str]:
    """That texts which are padded, not packed, take what the longest batch takes.

    Published figures of fine-tuning hardly ever say its length: four runs of PEFT's method_comparison are all explained
    by 576 tokens where texts have up to 1,300 characters, and four of torchtune's tutorial by about 1,150 (Alpaca).
    """
    if "packing" not in work.unsaid or not work.transformers or work.parallel.cp > 1:
        return
    more = estimate(replace(work, seq=work.seq + work.seq // 10)).high - found.high
    if more > 0.02 * found.high:
        yield (
            f"packing not given: {work.seq} tokens are taken for the longest batch. If texts are padded, one that is "
            f"10 % longer needs {more / GIB:.1f} GiB more"
        )


def _megatron(work: Work) -> Iterator[Variant]:
    """Arguments of Megatron-LM that decide: its own fused loss, and weights that are in 8 bits alone."""
    if work.loss == "plain" and "loss" in work.unsaid:
        yield (
            replace(work, loss="native"),
            "--cross-entropy-loss-fusion in its native form (fused_ce: none rules it out)",
        )
    if work.precision == "fp8" and "weights" in work.unsaid:
        words = "8-bit copies beside 16-bit weights (precision: fp8-param-gather rules them out)"
        yield replace(work, doubled=True), words


def covering(work: Work, found: GpuMemory, estimate: Estimate) -> tuple[GpuMemory, list[str]]:
    """The memory with a range that covers all variants, and a sentence for each that widens it."""
    low, high, said = found.low, found.high, []
    for other, words in variants(work):
        one = estimate(other)
        if one.high > high + 0.01 * GIB:
            said.append(f"memory: up to {one.high / GIB:.1f} GiB with {words}")
        elif one.low < low - 0.01 * GIB:
            said.append(f"memory: from {one.low / GIB:.1f} GiB on, since {words}")
        low, high = min(low, one.low), max(high, one.high)
    return (replace(found, low=low, high=high) if said else found), said
