"""What an estimate does not see: a configuration that runs out of something else than memory, or trains wrongly."""

from __future__ import annotations

from collections.abc import Iterator

from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.fit import SHARE
from rocdoctor.train.recommend.memory.gpu_memory import GpuMemory, moments_copy
from rocdoctor.train.recommend.model.spec import Work


def cautions(work: Work, found: GpuMemory) -> Iterator[str]:
    """One sentence or two for each."""
    yield from _positions(work)
    yield from _sharded_bitsandbytes(work)
    yield from _shifted_copies(work, found)
    yield from _copied_moments(work, found)


def _positions(work: Work) -> Iterator[str]:
    most = work.model.positions
    if most is None or work.seq <= most:
        return
    yield (
        f"Sequences of {work.seq} tokens exceed the {most} positions that {work.model.name} supports. "
        f"To pretrain, raise max_position_embeddings. To fine-tune, use sequences of {most}, or stretch rotary "
        f"positions {-(-work.seq // most)} times with rope_scaling (YaRN). A learned table of positions cannot be "
        "stretched."
    )


def _sharded_bitsandbytes(work: Work) -> Iterator[str]:
    """bitsandbytes makes its states like the weight and hands both to its kernels (``get_state_buffer`` and
    ``update_step`` of bitsandbytes/optim/optimizer.py, August 2026; its issue 1633: illegal memory access). FSDP2 makes
    DTensors of weights, of which torchao takes the local part (pytorch/ao, torchao/optim). Read 2026-11-28."""
    if work.optimizer == "adam8bit" and work.framework == "fsdp2" and not work.torchao:
        yield (
            "bitsandbytes' 8-bit Adam does not support FSDP2's sharded weights (its kernels end in illegal memory "
            "accesses). Use torchao's AdamW8bit (the Trainer's adamw_torch_8bit), or DistributedDataParallel."
        )


def _shifted_copies(work: Work, found: GpuMemory) -> Iterator[str]:
    """Transformers copied fp32 logits to shift them until pull request 35646 (January 2025)."""
    if not work.transformers or work.loss != "plain" or work.parallel.tp > 1:
        return
    more = 4.0 * work.tokens * work.model.vocab
    limit = SHARE * work.gpu.usable_bytes
    if found.high <= limit < found.high + more:
        yield (
            f"This counts on a Transformers of 2025 or later: older ones copy the logits once more "
            f"({more / GIB:.1f} GiB), and then it may not fit."
        )


def _copied_moments(work: Work, found: GpuMemory) -> Iterator[str]:
    """bf16 moments came with Transformer Engine 2.3 (commit 86928e07e). AMD's fork follows its versions, 2.17 as
    last seen (build_tools/VERSION.txt), and has its kernel (common/multi_tensor/adam.cu). Read 2026-11-29."""
    more = moments_copy(work)
    if not more:
        return
    if found.states + more + found.context <= SHARE * work.gpu.usable_bytes:
        yield "Moments in bf16 need TransformerEngine 2.3 or later, also that for ROCm."
        return
    yield (
        "Moments in bf16 need TransformerEngine 2.14 or later, also that for ROCm: look first with "
        "`pip show transformer_engine`. Releases 2.3 to 2.13 copy them to fp32 in each step, which takes "
        f"{more / GIB:.1f} GiB more and does not fit."
    )
