"""How deep a plan is tried: the whole model where it fits the time, else two depths. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rocdoctor.train.recommend.estimate import efficiency
from rocdoctor.train.recommend.memory.gpu_memory import GpuMemory, memory
from rocdoctor.train.recommend.model.shapes import active_parameters, attention_flops
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.speed.pipeline import schedule
from rocdoctor.train.recommend.speed.step_time import Speed, speed
from rocdoctor.train.smoke.plan.order import cut

WARM, STEPS = 3, 5
# Of all steps of one depth, by the estimate: what a person waits for without a second thought. Chosen.
BUDGET_S = 60.0
# FLOP/s of one process on a CPU: what a slow core of today reaches in matrix products. Chosen; it decides a depth only.
_CPU_RATE = 2e10
# Two depths are this far apart, so that what a layer adds stands out of what differs from run to run. Chosen.
_DEEPER = 3
_LEAST_VOCABULARY = 1024


@dataclass(frozen=True, slots=True)
class Guess:
    """What the estimate says of a configuration, without trials; ``step_s`` is None where no rate is known."""

    memory: GpuMemory
    speed: Speed | None
    step_s: float | None


def estimated(work: Work) -> tuple[GpuMemory, Speed | None]:
    """Memory and speed of a configuration, by the functions behind ``rocdoctor estimate``."""
    rows = efficiency()
    plan = schedule(work.parallel.schedule, work.parallel.pp, work.parallel.chunks, work.microbatches)
    told = speed(work, plan, {**rows["speed"], "generations": rows["generations"]})
    return memory(work, plan, rows["memory"]), told


def guess(work: Work) -> Guess:
    """Memory and seconds of a step by the estimate alone."""
    found, told = estimated(replace(work, gpu=replace(work.gpu, trials=())))
    tokens = work.microbatches * work.micro_batch * work.seq * work.parallel.dp / work.gpus
    return Guess(found, told, tokens / told.tokens_per_s_per_gpu if told else None)


def seconds(work: Work, share: float | None = None) -> float:
    """About how long a step takes: on GPUs by the estimate, else by the ``share`` of a core that each rank has.

    Where the estimate knows no rate of a GPU it is a core's: too long, which makes the plan shallow and the limit wide.
    """
    told = guess(work).step_s
    if told is not None and share is None:
        return told
    model, tokens = work.model, work.microbatches * work.micro_batch * work.seq
    # Forward, twice as much backward, and forward again where it is recomputed.
    flop = 8.0 * active_parameters(model) + 4.0 * attention_flops(model, work.seq) * model.layers
    return flop * tokens / work.parallel.tp / (_CPU_RATE * (share or 1.0))


def depths(work: Work, room_bytes: float, share: float | None = None) -> tuple[Work, ...]:
    """The configurations to run, the shallowest first: one with all layers, or two with fewer.

    ``room_bytes`` is what a rank may take, ``share`` as for ``seconds``. Two layers run however long they take: what
    one holds says nothing of the next. Empty: not even they fit, with the smallest vocabulary.
    """

    def suits(one: Work) -> bool:
        return guess(one).memory.low <= room_bytes and (WARM + STEPS) * seconds(one, share) <= BUDGET_S

    whole = cut(work, work.model.layers)
    if suits(whole):
        return (whole,)
    least, vocab = min(2, work.model.layers), work.model.vocab
    second = cut(work, least)
    while guess(second).memory.low > room_bytes and vocab > _LEAST_VOCABULARY:
        vocab //= 2
        second = cut(work, least, vocab)
    if guess(second).memory.low > room_bytes:
        return ()
    smaller = vocab if vocab != work.model.vocab else None
    if least == 1:
        return (second,)
    for layers in range(3, min(work.model.layers, 2 * _DEEPER) + 1):
        one = cut(work, layers, smaller)
        if not suits(one):
            break
        second = one
    return cut(work, max(1, second.model.layers - _DEEPER), smaller), second
