"""How each framework communicates: the type of what travels, and how often weights are gathered.

Read in the sources and, but for Megatron, counted in gloo runs of torch 2.13 (``tests/recommend``):

- DistributedDataParallel reduces gradients in the type of the weights (fp32 under autocast), once a step; with
  ``no_sync`` the micro-batches between send nothing. ZeroRedundancyOptimizer broadcasts each updated weight.
- FSDP2 as torchtitan 0.3 uses it: ``MixedPrecisionPolicy`` with bf16 weights and fp32 reduction. Units are the
  embedding, each layer, and norm with head; the last is not given back after its forward pass. Every micro-batch
  gathers and reduces, except in a pipeline, whose schedules gather a stage once a step and reduce after its last
  micro-batch. Each tensor is cut along its first dimension (experts along the second where there are fewer of them
  than ranks) and padded to a multiple of the ranks.
  Through accelerate, and so the Trainer, TRL and axolotl, gradients are reduced in bf16 too.
- FSDP1 as Composer uses it (``PURE``): weights and gradients in 16 bits. Units are each layer and the rest; the rest
  stays gathered from forward to backward. Tensors of a unit are one flat one, each aligned to 16 bytes.
- DeepSpeed (0.19, ``engine.communication_data_type``, ``zero/stage_1_and_2.py``, ``zero/stage3.py``): everything in 16
  bits. Stages 1 and 2 all-reduce buckets (``use_multi_rank_bucket_allreduce``), stage 2 for every micro-batch; updated
  weights are gathered once. Stage 3 gathers for the forward pass, again for the backward pass all but the last 5e8
  elements, and reduce-scatters each micro-batch; tensors below 1e5 elements stay whole and are gathered once a step.
- Megatron-LM (core 0.16, ``distributed``, ``tensor_parallel/layers.py``): gradients in fp32 with --bf16, weights in 16
  bits, once a step. Sequence parallelism gathers the input of a column-parallel layer once more for its weight's
  gradient.
- LoRA trains the adapters alone: frozen weights are gathered but never reduced.

A GPU changes none of these bytes: NCCL and RCCL get the same calls. It may change what a call becomes on the wire
(trees and NVLink SHARP instead of rings), coalesces sends of one batch into one call, and takes bf16 reductions that
gloo computes in its own way. 8-bit gathers (FSDP2's float8 option, Megatron's fp8-param-gather, Transformer Engine's
gathers of 8-bit activations) are options that a specification does not name: 16 bits are counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.train.recommend.memory.tensors import UnitName
from rocdoctor.train.recommend.model.spec import Work

# Elements below which DeepSpeed's stage 3 leaves a tensor whole (stage3_param_persistence_threshold).
PERSISTENT = 100_000
# Elements that it leaves gathered where their forward and backward pass lie close: those with at most
# stage3_max_reuse_distance (1e9) others between the two, there and back.
REUSED = 500_000_000


@dataclass(frozen=True, slots=True)
class Widths:
    """Bytes of one element that travels: gathered weights, reduced gradients, activations between ranks."""

    weight: int
    gradient: int
    activation: int


def widths(work: Work) -> Widths:
    """The types of a framework at the precision asked for."""
    if work.precision == "fp32":
        return Widths(4, 4, 4)
    if work.pure_bf16:
        return Widths(2, 2, 2)
    if work.framework == "ddp":
        return Widths(4, 4, 2)
    if work.framework in {"fsdp1", "deepspeed"} or (work.framework == "fsdp2" and work.sums_in_16):
        return Widths(2, 2, 2)
    return Widths(2, 4, 2)


def gathers(work: Work, unit: UnitName) -> int:
    """How often a unit of sharded weights is gathered for one forward and backward pass."""
    if work.parallel.keep_gathered:
        return 1
    if work.framework == "fsdp2":
        # A tied matrix lies in the unit of the head.
        return 1 if unit == "head" or (unit == "embedding" and work.model.tied) else 2
    return 1 if work.framework == "fsdp1" and unit != "layer" else 2


def passes(work: Work) -> int:
    """How often a step gathers sharded weights and reduces their gradients."""
    once = work.framework == "fsdp2" and work.parallel.keep_gathered and work.parallel.pp > 1
    return 1 if once else work.microbatches


def forwards(work: Work, layers: int) -> int:
    """Forward passes through layers of a stage that recomputation repeats, of ``layers``."""
    if work.recompute != "full":
        return 0
    return layers if work.recompute_layers is None else min(layers, work.recompute_layers)
