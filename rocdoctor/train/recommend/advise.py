"""The recommendation: the best plan of a search, the next best one, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from rocdoctor.train.recommend.environment import settings
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.explain.notes import notes
from rocdoctor.train.recommend.explain.value_reasons import choices, gain, margin
from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.megatron_code import other_code
from rocdoctor.train.recommend.model.specification import spec_of
from rocdoctor.train.recommend.plan import Fleet, Needed, Plan, Recommendation, Workload
from rocdoctor.train.recommend.search.candidates import Candidate, Refuses, Search, usual_frameworks
from rocdoctor.train.recommend.search.forms import is_short
from rocdoctor.train.recommend.search.savers import savers_of
from rocdoctor.train.recommend.search.smallest_changes import needed, refusal
from rocdoctor.train.recommend.software import four_bit, fp8
from rocdoctor.train.recommend.speed.placement import placement

_NAMES: dict[str, tuple[Framework, ...]] = {
    "ddp": ("ddp",),
    "fsdp": ("fsdp2",),
    "fsdp2": ("fsdp2",),
    "fsdp1": ("fsdp1",),
    "torchtitan": ("fsdp2",),
    "deepspeed": ("deepspeed",),
    "megatron": ("megatron",),
    "megatron-lm": ("megatron",),
}

# How much faster a plan that may just fit must be to be named beside the safe one.
FASTER = 1.05

# Speeds that no estimate tells apart, and how much less memory decides between them: choices, not measured.
_ALIKE, _ROOMIER = 0.02, 0.93

# What a change of the training itself must bring beside what it takes to set it up: a choice, not measured.
_ALTERS = 2.5

# From what lead on another program is worth a line.
_WORTH_ANOTHER = 0.10

_NO_ADAPTERS = ("megatron", "megatron-lm", "torchtitan")


def frameworks_of(name: str) -> tuple[Framework, ...]:
    """The conventions that a framework's name means; raises SpecError with the names there are."""
    found = _NAMES.get(name.lower())
    if found is None:
        raise SpecError(f"framework '{name[:40]}' is not known; there are {', '.join(_NAMES)}")
    return found


def best(found: Iterable[Candidate], goal: str) -> list[Candidate]:
    """Candidates in order of preference: those that surely fit, by the goal.

    ``speed``: the fastest, or what is as fast in less memory. ``memory``: what holds least on the GPU among all that
    reach half of the best speed.
    """
    pool = list(found)
    sure = [one for one in pool if one.fits == "yes"]
    if not sure:  # of what may just fit, that which holds least
        return sorted(pool, key=lambda one: (one.memory.high, -one.score))
    ranked = sorted(sure, key=lambda one: one.score, reverse=True)
    if goal == "memory" and ranked:
        fast = [one for one in ranked if one.score >= 0.5 * ranked[0].score]
        return sorted(fast, key=lambda one: (one.memory.high, -one.score))
    return _roomier(ranked)


def _roomier(ranked: list[Candidate]) -> list[Candidate]:
    """The same, led by what is as good as the first at the same speed: as little is set up, and a step has at least
    half as many sequences. Of these, in fine-tuning, a power of two of sequences a rank comes before 7 or 3 x 6, which
    nobody asked for and few recipes have; then what leaves clearly more memory free. Recipes of pretraining have any
    micro-batch (3, 7 and 13 in AMD's, 6 to 18 in llm-foundry's)."""
    first = ranked[0]
    alike = [
        one
        for one in ranked
        if one.score >= (1 - _ALIKE) * first.score and one.level <= first.level and 2 * one.sequences >= first.sequences
    ]
    usual = [one for one in alike if _even(one)] or alike
    least = min(usual, key=lambda one: one.memory.high)
    chosen = least if least.memory.high <= _ROOMIER * usual[0].memory.high else usual[0]
    return [chosen, *(one for one in ranked if one is not chosen)]


def _even(one: Candidate) -> bool:
    """Whether a rank's sequences of a step are a power of two (alike for all where the batch was asked for)."""
    return one.work.transformers and (one.work.micro_batch * one.work.microbatches).bit_count() == 1


def searched(search: Search, frameworks: Sequence[Framework]) -> list[Candidate]:
    """The candidates with the least savers that make something surely fit; tight ones only where nothing does.

    What computes the same step in less memory is compared with what needs no saver, since the room may make it faster.
    So are 16-bit states of fine-tuning, with which published recipes begin, where they are a good deal faster.
    """
    savers = savers_of(search.fleet, search.workload)
    found = list(search.candidates(frameworks))
    for saver in savers:
        if saver.usual:
            found += search.candidates(frameworks, replace(saver, level=saver.level + _ALTERS))
        elif not saver.alters or (search.workload.goal == "memory" and not saver.offload):
            found += search.candidates(frameworks, saver)
    for saver in savers:
        if any(one.fits == "yes" for one in found):
            return found
        if saver.alters:
            found += search.candidates(frameworks, saver)
    return found


def faster(found: Iterable[Candidate], chosen: Candidate) -> Candidate | None:
    """The best that may just fit, where the plan that surely fits is slower by more than an estimate's error."""
    if chosen.fits != "yes" or chosen.speed is None:
        return None
    pool = list(found)
    sure = max((one.speed.tokens_per_s_per_gpu for one in pool if one.fits == "yes" and one.speed), default=0.0)
    least = max(FASTER * chosen.speed.tokens_per_s_per_gpu, sure)
    own = chosen.work.framework
    tight = [
        one
        for one in pool
        if one.fits == "tight" and one.speed and one.speed.tokens_per_s_per_gpu >= least
        if one.work.framework == own or like_step(one, chosen)
    ]
    # What only just reaches into the room is likelier to run than what is fastest of all.
    likely = [one for one in tight if one.memory.needed + one.memory.context <= one.work.gpu.usable_bytes]
    return max(likely, key=lambda one: one.score, default=None)


def like_step(one: Candidate, other: Candidate) -> bool:
    """Whether their steps have about as many sequences: a longer one spends less of its time on the optimizer and on
    reducing gradients, and trains another way. Half to twice is a choice."""
    return one.sequences <= 2 * other.sequences and other.sequences <= 2 * one.sequences


def elsewhere(found: Iterable[Candidate], chosen: Candidate) -> Iterable[str]:
    """That another program is a good deal faster with a step as long, which nobody asked for."""
    if chosen.speed is None or chosen.work.framework == "megatron":
        return
    rates = [
        one.speed.tokens_per_s_per_gpu
        for one in found
        if one.fits == "yes" and one.speed is not None and one.work.framework == "megatron" and like_step(one, chosen)
    ]
    share = max(rates, default=0.0) / chosen.speed.tokens_per_s_per_gpu - 1
    if share >= _WORTH_ANOTHER:
        yield f"Megatron-LM would be {share:.0%} faster by this estimate. Plan for it with --framework megatron."


def longer(search: Search, found: Iterable[Candidate], chosen: Candidate) -> Iterable[str]:
    """What a step of usual length would cost, where nobody asked for a batch and the plan's is short."""
    fleet, workload = search.fleet, search.workload
    asked = workload.global_batch is not None or workload.method != "pretrain" or fleet.vendor == "cpu"
    if asked or chosen.speed is None or not is_short(fleet, workload, chosen.sequences):
        return
    usual = [
        one
        for one in found
        if one.fits == "yes" and one.speed is not None and not is_short(fleet, workload, one.sequences)
    ]
    tokens = f"{chosen.sequences * workload.seq / 1e6:.2g} million tokens"
    if not usual:
        yield f"A step has {tokens}, which is few for pretraining. A larger step needs more memory than there is."
        return
    best_of = max(usual, key=lambda one: one.score)
    share = 1 - best_of.pace / chosen.pace
    words = f"about {share:.0%} slower" if share >= 0.005 else "equally fast"
    yield (
        f"A step has {tokens}, which is few for pretraining. With --global-batch {best_of.sequences} the best plan "
        f"is {words}."
    )


def _runner_up(ranked: Sequence[Candidate]) -> Candidate | None:
    """The best one that differs in more than its micro-batch, of those whose step is as long where there are some."""

    def key(one: Candidate) -> tuple[object, ...]:
        return (one.work.framework, one.work.parallel, one.work.recompute, one.saver.name)

    others = [one for one in ranked[1:] if key(one) != key(ranked[0])]
    return next((one for one in others if like_step(one, ranked[0])), next(iter(others), None))


def made(search: Search, chosen: Candidate) -> Plan:
    """The plan of a candidate, with its reasons, places and environment."""
    fleet, workload = search.fleet, search.workload
    spec = spec_of(fleet, workload, chosen.work)
    plan = Plan(fleet, workload, spec, solve(spec))
    return Plan(
        fleet,
        workload,
        spec,
        plan.result,
        choices(search, chosen, plan),
        placement(fleet, chosen.work.parallel),
        settings(plan),
        notes(plan),
    )


def unsupported(fleet: Fleet, workload: Workload) -> str | None:
    """Why a workload cannot run here whatever its sizes."""
    if workload.framework and workload.method in ("lora", "qlora") and workload.framework.lower() in _NO_ADAPTERS:
        return f"{workload.framework} trains all weights and has no adapters; nearest: --framework fsdp"
    if workload.products == "fp8":
        return _no_fp8(fleet, workload)
    if workload.method == "qlora":
        four = four_bit(fleet)
        if four.state == "no":
            return f"QLoRA needs 4-bit weights, which do not work here: {four.reason}"
        if fleet.vendor == "cpu":
            return "QLoRA keeps 4-bit weights on a GPU, and this machine has none to train on"
    return None


def _no_fp8(fleet: Fleet, workload: Workload) -> str | None:
    """Why products in 8 bits cannot be planned; they are what Transformer Engine does for Megatron-LM."""
    eight = fp8(fleet)
    if eight.state != "yes":
        return f"8-bit products need matrix units that support them: {eight.reason}; nearest: --products 16-bit"
    if workload.method != "pretrain":
        return "8-bit products are planned for pretraining; fine-tuning takes 16 bits; nearest: --products 16-bit"
    if workload.framework and "megatron" not in frameworks_of(workload.framework):
        return f"8-bit products are planned with Megatron-LM, not {workload.framework}; nearest: --framework megatron"
    other = other_code(workload.model)
    return f"8-bit products are planned with Megatron-LM only: {other}" if other is not None else None


def recommend(
    fleet: Fleet,
    workload: Workload,
    refuses: Sequence[Refuses] = (),
    only: Sequence[Framework] = (),
    transformers: bool = False,
    seen: Callable[[], None] | None = None,
) -> Recommendation:
    """The plan for a workload on a fleet, or what would be needed.

    ``refuses`` are the limits of the formats that the plan is to be written in, ``only`` the frameworks that these can
    express, ``transformers`` says that they are for the model code of Hugging Face; ``seen`` as for ``Search``. Raises
    SpecError for a workload that is impossible anywhere.
    """
    reason = unsupported(fleet, workload)
    if reason is not None:
        return Recommendation(fleet, workload, None, needed=(Needed(reason),), notes=fleet.notes)
    search = Search(fleet, workload, refuses, transformers, seen)
    asked = frameworks_of(workload.framework) if workload.framework else usual_frameworks(fleet, workload)
    frameworks: tuple[Framework, ...] = tuple(one for one in asked if not only or one in only)
    if only and not frameworks:
        frameworks = tuple(only[:1]) if not workload.framework else ()
    if not frameworks:
        raise SpecError(f"the files asked for cannot express {workload.framework}; they take {', '.join(only)}")
    found = searched(search, frameworks)
    ranked = best(found, workload.goal)
    if not ranked:
        refused = refusal(search)
        wanted = () if refused else needed(search, frameworks)
        return Recommendation(
            fleet, workload, None, needed=wanted, notes=fleet.notes, considered=search.considered, refused=refused
        )
    second = _runner_up(ranked)
    plan = made(search, ranked[0])
    more = faster(found, ranked[0]) if workload.goal == "speed" else None

    def bare(one: Candidate | None) -> Plan | None:
        if one is None:
            return None
        spec = spec_of(fleet, workload, one.work)
        return Plan(fleet, workload, spec, solve(spec))

    return Recommendation(
        fleet,
        workload,
        plan,
        bare(second),
        margin(ranked[0], second) if second is not None else "",
        faster=bare(more),
        gain=gain(ranked[0], more) if more is not None else "",
        needed=needed(search, frameworks) if plan.result.fits != "yes" else (),
        notes=(*longer(search, found, ranked[0]), *fleet.notes, *elsewhere(found, ranked[0])),
        considered=search.considered,
    )
