"""What else a framework lets one choose beside the division: compiling, recomputation, sizes of a micro-batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rocdoctor.knowledge.load import numbers
from rocdoctor.train.recommend.model.layout import Parallel
from rocdoctor.train.recommend.model.spec import Recompute, Work
from rocdoctor.train.recommend.plan import Fleet, Workload

# What is accumulated to where no batch is asked for: sequences of fine-tuning; tokens of pretraining, and of them most
# a GPU (Llama's and Primus' recipes take one to four million on eight and more GPUs). On many GPUs no less than 4,096 a
# GPU, up to the longest: 512 sequences of 8,192 for 405B on 1,024 H100 (NVIDIA-NeMo/Megatron-Bridge
# docs/performance-summary-archive.md, read 2026-11-29). A shorter step leaves the stages of its pipelines idle.
_SEQUENCES, _TOKENS, _TOKENS_GPU, _TOKENS_FLEET = 16, 2**20, 2**17, 2**12
# Sequences of a fine-tuning step that larger micro-batches may add up to: more change what is learned.
_MOST_SEQUENCES = 64
# Sizes that are tried where no global batch says which divide it.
_SIZES = (*range(1, 9), 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64)
_MOST = 64
# What a step of less than half of them must bring: a choice, not measured. Pretraining takes more steps then, and some
# recipes do (AMD's for 70B on one node); fine-tuning jumps about.
_SHORT_LEVEL, _SHORT_PRETRAINING = 3.0, 1.0
# Tokens of the longest step: what Llama 3 405B ended with (16 M; glennklockwood.com/garden/llama-3.1, read 2026-11-29).
# A longer one is for those who ask for it: what is little slower divides the model instead.
_LONGEST, _LONG_LEVEL = 2**24, 10.0
# The first torch that is known to compile recomputed layers under DistributedDataParallel; older ones may too.
_COMPILES_CHECKPOINTS = (2, 13)
# Recomputing some layers alone: shares of a stage, and what it takes to set that up.
_PARTS = (0.25, 0.5, 0.75)
_PART_LEVEL = 0.5
# Published recipes for FSDP2 compile layers and loss: it takes one option, and patience at the start. Those for
# fine-tuning (torchtune) do too; in the model code of Hugging Face it is less usual.
_COMPILE_LEVEL, _COMPILE_TUNING = 0.25, 0.5


def forms(base: Work, fleet: Fleet, workload: Workload) -> Iterator[tuple[Work, float]]:
    """A configuration as it is, and compiled where that is usual, on a GPU for which kernels are generated (flash
    attention is one of them): model code of its own under FSDP2, and dense models that are tuned whole on each GPU.
    With FSDP2 the Trainer compiles before it shards; 4-bit weights and routed experts break the graph."""
    yield base, 0.0
    if base.framework == "ddp" and workload.method in ("full", "lora") and base.flash and not base.model.experts:
        if fleet.vendor != "cpu":
            yield replace(base, compile=True), _COMPILE_TUNING
        return
    if base.framework != "fsdp2" or workload.method != "pretrain" or base.transformers:
        return
    if fleet.vendor == "cpu" or not fleet.gpu.flash:
        return
    plan = base.parallel
    # Overlapping tensor parallelism needs a compiled graph and memory that peers see (NVLink).
    overlap = plan.tp > 1 and fleet.fabric == "nvlink"
    sizes = replace(plan, async_tp=True) if overlap else plan
    yield replace(base, compile=True, loss="compiled", parallel=sizes), _COMPILE_LEVEL


def compiles(work: Work, torch: str | None) -> bool:
    """Whether what is to be compiled can be, with this torch (None: not known).

    Releases of 2023 to 2025 end where DistributedDataParallel meets recomputed layers in one graph ("DDPOptimizer
    backend: Found a higher order op", pytorch/pytorch issue 104674); 2.13.0 compiles it, tried 2026-11-28.
    """
    release = numbers((torch or "").partition("+")[0])
    split = work.compile and work.framework == "ddp" and work.parallel.dp > 1 and work.recompute != "none"
    return not (split and release and release < _COMPILES_CHECKPOINTS)


def recomputes(work: Work) -> Iterator[tuple[Recompute, int | None, float]]:
    """Kinds of recomputation, the layers of a stage that do it (None: all), and the level."""
    yield "none", None, 0.0
    if work.framework == "megatron":
        yield "selective", None, 0.0
    # Selective recompute by operation is torchtitan's; the Hugging Face model code has whole layers alone.
    own = work.framework == "fsdp2" and not work.transformers
    if own:
        yield "selective-op", None, 0.0
    if own or work.framework == "megatron":
        stage, chunks = -(-work.model.layers // work.parallel.pp), work.parallel.chunks
        for share in _PARTS:
            layers = round(share * stage / chunks) * chunks
            if 0 < layers < stage:
                yield "full", layers, _PART_LEVEL
    yield "full", None, 0.0


def batches(fleet: Fleet, workload: Workload, sizes: Parallel) -> Iterator[tuple[int, int]]:
    """Micro-batch sizes with the micro-batches a step, ascending.

    A given global batch is kept exactly: every size that divides a rank's part. Without one, nothing is accumulated or
    as much as makes a usual batch; a pipeline always has that, in rounds of its stages.
    """
    total = workload.global_batch
    if total is None:
        usual = _usual(fleet, workload)
        for micro in _SIZES:
            if micro > 1 and _too_long(workload, micro * sizes.dp):
                return
            more = -(-usual // (micro * sizes.dp))
            if sizes.pp > 1:
                yield micro, -(-more // sizes.pp) * sizes.pp
                continue
            yield micro, 1
            # A step of pretraining would take processors hours.
            if more > 1 and not (fleet.vendor == "cpu" and workload.method == "pretrain"):
                yield micro, more
        return
    if total % sizes.dp:
        return
    own = total // sizes.dp
    for micro in range(1, min(own, _MOST) + 1):
        if own % micro:
            continue
        count = own // micro
        # A stage without work at the start and end is idle longer than it works.
        if sizes.pp > 1 and (count < sizes.pp or (sizes.chunks > 1 and count % sizes.pp)):
            continue
        yield micro, count


def step_level(fleet: Fleet, workload: Workload, sequences: int) -> float:
    """The level of a step that trains another way than such trainings do: one of few sequences, or of very many; none
    where the batch was asked for. So plans are compared at steps that train alike, and another must be faster."""
    if workload.global_batch is not None or (fleet.vendor == "cpu" and workload.method == "pretrain"):
        return 0.0
    if sequences > 1 and workload.method == "pretrain" and _too_long(workload, sequences):
        return _LONG_LEVEL
    if not is_short(fleet, workload, sequences):
        return 0.0
    return _SHORT_PRETRAINING if workload.method == "pretrain" else _SHORT_LEVEL


def is_short(fleet: Fleet, workload: Workload, sequences: int) -> bool:
    """Whether a step has less than half of the sequences that such trainings take."""
    return 2 * sequences < _usual(fleet, workload)


def _too_long(workload: Workload, sequences: int) -> bool:
    if workload.method != "pretrain":
        return sequences > _MOST_SEQUENCES
    return sequences * workload.seq > _LONGEST


def _usual(fleet: Fleet, workload: Workload) -> int:
    """Sequences of a step that such trainings take."""
    if workload.method != "pretrain":
        return _SEQUENCES
    wanted = max(_TOKENS, min(_TOKENS_FLEET * fleet.gpus, _LONGEST))
    return max(1, min(wanted, _TOKENS_GPU * fleet.gpus) // workload.seq)
