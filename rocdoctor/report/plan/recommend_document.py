"""A recommendation as a document: what to run first, then every value with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rocdoctor.model.printable import one_line
from rocdoctor.report.document import GAP, Block, Code, Fixed, Heading, Para, Row, Table, Title, Words
from rocdoctor.train.recommend.explain.value_reasons import FRAMEWORK_WORDS, gib, recompute_words, room
from rocdoctor.train.recommend.plan import Plan, Recommendation, Workload

_TITLES = {
    "method": "method",
    "framework": "framework",
    "data_parallel": "data parallel",
    "shard": "sharding",
    "replicate": "copies",
    "tensor_parallel": "tensor parallel",
    "sequence_parallel": "sequence parallel",
    "pipeline_parallel": "pipeline stages",
    "schedule": "schedule",
    "context_parallel": "context parallel",
    "expert_parallel": "expert parallel",
    "micro_batch": "micro-batch",
    "grad_accum": "accumulation",
    "precision": "precision",
    "attention": "attention",
    "recompute": "recompute",
    "optimizer": "optimizer",
    "loss": "loss",
    "compile": "torch.compile",
    "offload": "offload",
}
FITS = {"yes": "fits", "tight": "may just fit", "no": "does not fit"}
TERMS = (
    ("states", "weights, gradients, optimizer"),
    ("gathered", "weights gathered for a layer"),
    ("activations", "activations"),
    ("logits", "logits and loss"),
    ("buffers", "reduction buffers"),
)


def title(key: str) -> str:
    """What a choice is called."""
    return _TITLES.get(key, key.replace("_", " "))


def kind(plan: Plan, beside: Plan | None = None) -> str:
    """The plan in a few words: ``FSDP2 over 8 GPUs, tensor parallel 2, micro-batch 4``; ``beside``: the plan that it is
    compared with, whose savers are named where this one goes without."""
    work = plan.work
    sizes = work.parallel
    noun = ("process" if sizes.dp == 1 else "processes") if plan.fleet.vendor == "cpu" else "GPUs"
    words = FRAMEWORK_WORDS[work.framework]
    moved = sizes.offload_optimizer and work.optimizer != "adam8bit"
    divided = sizes.tp * sizes.pp > 1
    if work.gpus == 1 and not moved and work.framework in ("ddp", "fsdp2"):
        words = "plain PyTorch on one " + ("CPU" if plan.fleet.vendor == "cpu" else "GPU")
    elif work.framework == "deepspeed":
        words += f" {sizes.zero}" + (f" over {sizes.dp} {noun}" if sizes.dp > 1 else "")
    elif sizes.shard > 1:
        # Beside a divided model, the number alone would read as all GPUs there are.
        words += f"{', states divided' if divided else ''} over {sizes.shard} {noun}"
        copies = sizes.dp * sizes.cp // sizes.shard
        words += f", {copies} copies" if copies > 1 else ""
    elif sizes.dp > 1:
        words += f", {sizes.dp} copies" if divided else f" over {sizes.dp} {noun}"
    for key, name in (("tp", "tensor"), ("pp", "pipeline"), ("cp", "context"), ("ep", "expert")):
        if getattr(sizes, key) > 1:
            words += f", {name} parallel {getattr(sizes, key)}"
    if moved:
        words += ", weights and optimizer in main memory" if sizes.offload_weights else ", optimizer in main memory"
    words += f", micro-batch {work.micro_batch}"
    words += f" x {work.microbatches}" if work.microbatches > 1 else ""
    if work.recompute != "none":
        words += f", recompute {recompute_words(work)}"
    words += ", compiled" if work.compile else ""
    words += ", 16-bit states" if work.pure_bf16 else ""
    words += ", 16-bit moments" if work.optimizer == "adam16bit" else ""
    if work.optimizer == "adam8bit":
        words += ", paged 8-bit Adam" if sizes.offload_optimizer else ", 8-bit Adam"
    words += ", step in the backward pass" if work.step_in_backward else ""
    words += ", fused loss" if work.loss == "fused" else ""
    if beside is not None:
        words += ", no recompute" if work.recompute == "none" != beside.work.recompute else ""
        words += ", not compiled" if beside.work.compile and not work.compile else ""
        words += ", plain loss" if beside.work.loss == "fused" and work.loss == "plain" else ""
    return words


def _what(work: Workload) -> str:
    return f"{one_line(work.model.name)} ({work.method}, sequences of {work.seq} tokens)"


def headline_of(plan: Plan) -> str:
    """One sentence: what to train with, and that it fits."""
    found = plan.result.memory
    held = f"at most {gib(found.high)} of {gib(room(plan.work))} available to a plan"
    verdict = FITS[plan.result.fits]
    return f"Train {_what(plan.workload)} on {one_line(plan.fleet.name)} with {kind(plan)}: it {verdict}, {held}."


def headline(answer: Recommendation) -> str:
    """One sentence: what to train with, or that nothing fits and what would."""
    if answer.plan is not None:
        return headline_of(answer.plan)
    if answer.refused:
        return f"These files cannot express this plan: {answer.refused}."
    first = next((one.text for one in answer.needed[1:]), "")
    what = f"{_what(answer.workload)} on {one_line(answer.fleet.name)}"
    said = f"Nothing fits: {what}."
    if not answer.considered and answer.needed:  # no configuration was estimated: something else is in the way
        said = f"No plan for {what}: {one_line(answer.needed[0].text).rstrip('.')}."
    return said + (f" The smallest change: {first}" if first else "")


def _speed(plan: Plan) -> str:
    told = plan.result.speed
    if told is None:
        return (
            f"Speed: unknown, because no table has this {'CPU' if plan.fleet.vendor == 'cpu' else 'GPU'}'s peak rate."
        )
    step = plan.global_batch * plan.work.seq / (told.tokens_per_s_per_gpu * plan.fleet.gpus)
    return (
        f"Speed: about {told.tokens_per_s_per_gpu:.0f} tokens/s per GPU "
        f"({told.tokens_per_s_per_gpu * plan.fleet.gpus:.0f} in all), {step:.2f} s per step of {plan.global_batch} "
        f"sequence{'s' if plan.global_batch > 1 else ''}, MFU {told.mfu:.0%}, bound by {told.bound_by}."
    )


def _settings(plan: Plan) -> Iterator[Block]:
    """Every value with its reason, and what else was possible."""
    cells: list[tuple[Words, ...]] = []
    laid: list[Block] = []
    for one in plan.choices:
        value = one_line(one.value)
        after = (f" ({one.figure})" if one.figure else "") + (f"; {one.instead}" if one.instead else "")
        cells.append((title(one.key), Code(value), one.reason, one.figure, one.instead))
        laid.append(Row(f"{title(one.key):18}{value:14} ", one_line(one.reason + after), "  ", 33))
    yield Heading("Settings")
    yield Table(("setting", "value", "why", "figure", "instead"), tuple(cells), lambda _: tuple(laid))


def _memory(plan: Plan) -> Iterator[Block]:
    found = plan.result.memory
    one = "process" if plan.fleet.vendor == "cpu" else "GPU"
    yield Heading(f"Memory of one {one}")
    for key, words in TERMS:
        value = getattr(found, key)
        if value > 5e6:
            yield Row(f"{gib(value):>12}  ", words, "  ", 14)
    yield Row(f"{gib(found.live_peak):>12}  ", "in use at the peak (not all of these at once)", "  ", 14)
    words = f"the {one} needs {gib(found.low)} to {gib(found.high)}, with the allocator and the runtime"
    yield Row("", words, "  ", 14)


def _places(plan: Plan) -> Iterator[Block]:
    shown = [one for one in plan.ranks if one.seat.bdf or one.seat.numa_node is not None]
    if len(plan.ranks) < 2 or not shown:
        return
    yield Heading("Ranks" + (" of each node" if plan.fleet.nodes > 1 else ""))
    lines = []
    for one in plan.ranks[:16]:
        seat = one.seat
        parts = [one.group, f"GPU {seat.torch_index}" if seat.torch_index is not None else "", seat.bdf or ""]
        parts.append(f"NUMA {seat.numa_node}" if seat.numa_node is not None else "")
        parts.append(f"CPUs {seat.cpus}" if seat.cpus else "")
        parts.append(f"NIC {seat.nic}" if seat.nic else "")
        lines.append(f"  {one.rank:3}  {one_line(' '.join(part for part in parts if part))}")
    if len(plan.ranks) > 16:
        lines.append(f"  and {len(plan.ranks) - 16} more")
    yield Fixed(tuple(lines), " " * 7)


def _environment(plan: Plan) -> Iterator[Block]:
    if plan.environment:
        yield Heading("Environment")
    for one in plan.environment:
        setting = f"{one.name}={one_line(one.value)}"
        yield Para((Code(setting), "  ", one_line(one.reason)), "  ", "    ", item=True)


def _list(words: str, lines: tuple[str, ...]) -> Iterator[Block]:
    if lines:
        yield Heading(words)
    for one in lines:
        yield Para(one_line(one), "  - ", "    ", item=True)


def _sources(answer: Recommendation) -> Iterator[Block]:
    unit = "process" if answer.fleet.vendor == "cpu" else "GPU"
    names = {
        "memory": f"memory of a {unit}",
        "peak": "compute rate",
        "bandwidth": "memory bandwidth",
        "link": "links between GPUs",
        "host_memory": "main memory",
        "trials": "plans tried",
    }
    found = [(name, answer.fleet.sources[key]) for key, name in names.items() if answer.fleet.sources.get(key)]
    if found:
        yield Heading("Figures")
    for name, source in found:
        yield Row(name, one_line(source), "  ", 21)


def unfit_blocks(unfit: tuple[str, ...]) -> list[Block]:
    """What speaks against GPUs that a plan uses: it stands above all else."""
    blocks: list[Block] = [Para(one_line(one), "! ", "  ", bold=True) for one in unfit]
    return [*blocks, GAP] if unfit else []


def document(answer: Recommendation) -> list[Block]:
    """The whole answer."""
    plan = answer.plan
    said = tuple(one.text for one in answer.needed)
    parts: list[Iterable[Block]] = []
    if plan is not None:
        parts += [_settings(plan), _memory(plan)]
        if answer.runner_up is not None:
            runner = one_line(f"{kind(answer.runner_up, plan)}: {answer.margin}.")
            parts.append((Heading("Next best"), Para(runner, "  ", "    ")))
        if answer.faster is not None:
            fast = one_line(f"{kind(answer.faster, plan)}: {answer.gain}")
            parts.append((Heading("Faster, but may not fit"), Para(fast, "  ", "    ")))
        parts += [_places(plan), _environment(plan), _list("If it does not fit", said[1:])]
        parts.append(_list("Notes", (*plan.notes, *answer.notes)))
    else:
        parts += [_list("Why", said[:1]), _list("What would fit", said[1:])]
        parts.append(_list("Notes", (*answer.fleet.left_out, *answer.workload.derived, *answer.notes)))
    if not answer.refused:
        parts.append(_sources(answer))
    if plan is not None:
        last = f"Write the files: rocdoctor emit TARGET... with the same options ({answer.considered} plans compared)"
        parts.append((Para(last),))
    blocks: list[Block] = [Title("rocdoctor recommend")]
    blocks += unfit_blocks(answer.unfit)
    blocks.append(Para(one_line(headline(answer)), bold=True))
    blocks += [Para(_speed(plan))] if plan is not None else []
    for part in parts:
        found = list(part)
        blocks += [GAP, *found] if found else []
    return blocks
