"""The plan screen without Textual: a form, the plan that the commands would make of it, and files of it.

``recommend`` and ``emit`` with the arguments of ``arguments(form)`` give the same plan and the same files.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rocdoctor.host.live.accounts import expanded
from rocdoctor.service.errors import UsageError
from rocdoctor.train.recommend.errors import SpecError

# The planner itself is read in by the threads that use it: that takes longer than a key may.
if TYPE_CHECKING:
    from rocdoctor.model.facts import Machine
    from rocdoctor.train.emit.files import File
    from rocdoctor.train.recommend.plan import Fleet, Goal, Method, Needed, Recommendation, Workload
    from rocdoctor.tui.background import Background

Seen = Callable[[], None]

METHODS = (
    ("pretrain", "all weights, from the start"),
    ("full", "all weights of a trained model"),
    ("lora", "small adapters on frozen weights"),
    ("qlora", "adapters on 4-bit weights"),
)
GOALS = (("speed", "most tokens per second"), ("memory", "least memory at half the speed or more"))
FRAMEWORKS = (
    ("", "any: the simplest that works"),
    ("ddp", "DistributedDataParallel"),
    ("fsdp", "fully_shard of PyTorch"),
    ("deepspeed", "DeepSpeed ZeRO"),
    ("torchtitan", "torchtitan"),
    ("megatron", "Megatron-LM"),
)
# Tried in this order for the form's beginning: the first that surely fits.
_BEGINNINGS = (
    ("llama-3.1-8b", "full"),
    ("llama-3.1-8b", "lora"),
    ("llama-3.2-1b", "full"),
    ("llama-3.2-1b", "lora"),
    ("qwen2.5-0.5b", "lora"),
    ("smollm2-135m", "full"),
)
_TOLD_EVERY = 50


@dataclass(frozen=True, slots=True)
class Form:
    """What the fields hold, as text. ``gpus`` is a described node, empty for the machine that is looked at."""

    model: str = "llama-3.1-8b"
    method: str = "full"
    seq: str = ""
    batch: str = ""
    goal: str = "speed"
    framework: str = ""
    gpus: str = ""
    nodes: str = ""
    script: str = "train.py"


@dataclass(frozen=True, slots=True)
class Emission:
    """The files of some targets with the plan that they express; ``problem``: why there are none."""

    targets: tuple[str, ...]
    answer: Recommendation | None
    files: tuple[File, ...] = ()
    problem: str = ""


def arguments(form: Form) -> list[str]:
    """The options of ``rocdoctor recommend`` that mean the same."""
    words = ["--model", form.model, "--method", form.method]
    fields = (
        ("--seq", form.seq),
        ("--global-batch", form.batch),
        ("--framework", form.framework),
        ("--gpus", form.gpus),
        ("--nodes", form.nodes),
    )
    for option, value in fields:
        words += [option, value.strip()] if value.strip() else []
    return words + (["--goal", form.goal] if form.goal != "speed" else [])


def command(form: Form, source: str | None, targets: Sequence[str] = (), folder: str = "") -> str:
    """The command line that gives the same; ``source`` is the evidence's name, None for this machine."""
    words = ["rocdoctor", *(("emit", *targets) if targets else ("recommend",)), *arguments(form)]
    if source is not None and not form.gpus.strip():
        words += ["--from", source]
    if targets:
        words += ["--script", form.script] if form.script != "train.py" else []
        words += ["-o", folder or "rocdoctor-plan"]
    return shlex.join(words)


class SearchStopped(Exception):
    """Nobody waits for this search any more."""


def counter(task: Background[Any], say: Callable[[str], object], words: str) -> Seen:
    """What a search calls with each configuration: it tells now and then, and ends where nobody waits."""
    count = 0

    def seen() -> None:
        nonlocal count
        count += 1
        if task.cancelled:
            raise SearchStopped
        if count % _TOLD_EVERY == 0:
            task.tell(say, f"{words} ... {count} configurations compared (Escape stops)")

    task.tell(say, f"{words} ... (Escape stops)")
    return seen


@cache
def models() -> tuple[tuple[str, float], ...]:
    """The known models with their parameters."""
    from rocdoctor.train.recommend.model.models import presets, read_model
    from rocdoctor.train.recommend.model.shapes import parameters

    return tuple((name, parameters(read_model(name, []))) for name in presets())


def known_models() -> tuple[tuple[str, float], ...]:
    """The models where they were read before, else none: nobody waits for them."""
    return models() if models.cache_info().currsize else ()


def beginning(machine: Machine, seen: Seen) -> tuple[Form, Recommendation | None]:
    """A form to begin with on this machine, and its plan: the first of some usual workloads that surely fits."""
    form = Form()
    try:
        for model, method in _BEGINNINGS:
            form = Form(model, method)
            if _surely_fits(form, machine, seen):
                return form, plan(form, machine, seen)
    except (UsageError, SpecError):
        return Form(), None
    return form, plan(form, machine, seen)


def _surely_fits(form: Form, machine: Machine, seen: Seen) -> bool:
    from rocdoctor.train.recommend.advise import unsupported
    from rocdoctor.train.recommend.search.candidates import Search, usual_frameworks

    fleet, workload = fleet_of(form, machine), workload_of(form)
    if unsupported(fleet, workload) is not None:
        return False
    found = Search(fleet, workload, seen=seen).candidates(usual_frameworks(fleet, workload))
    return any(one.fits == "yes" for one in found)


def plan(form: Form, machine: Machine | None, seen: Seen) -> Recommendation:
    """The plan of a form. ``machine`` may be missing for a described fleet. Raises UsageError with the reason."""
    return _recommended(form, machine, seen)


def emission(form: Form, machine: Machine | None, targets: Sequence[str], seen: Seen) -> Emission:
    """The files of some targets: planned once for all of them, within what they can express."""
    from rocdoctor.service.emitting import checked, files_of
    from rocdoctor.train.emit.targets import Order

    names = tuple(targets)
    if not names:
        return Emission((), None, problem="no target is chosen")
    try:
        checked(names)
        answer = _recommended(form, machine, seen, names)
    except UsageError as error:
        return Emission(names, None, problem=str(error))
    if answer.plan is None:
        from rocdoctor.report.plan.recommend_document import headline

        return Emission(names, answer, problem=headline(answer))
    described = bool(form.gpus.strip())
    order = Order(script=form.script.strip() or "train.py", machine=None if described else machine)
    return Emission(names, answer, tuple(files_of(names, answer.plan, order)))


def _recommended(form: Form, machine: Machine | None, seen: Seen, targets: Sequence[str] = ()) -> Recommendation:
    from rocdoctor.service.emitting import limits_of, with_programs
    from rocdoctor.train.recommend.advise import recommend

    try:
        workload = workload_of(form)
        fleet = fleet_of(form, machine)
        if not targets:
            return with_programs(recommend(fleet, workload, seen=seen))
        limits = limits_of(targets)
        return recommend(fleet, workload, limits.refuses, limits.only, limits.transformers, seen)
    except SpecError as error:
        raise UsageError(str(error)) from None


def workload_of(form: Form) -> Workload:
    """What is to be trained; raises UsageError or SpecError."""
    from rocdoctor.service.planning import model_field
    from rocdoctor.train.recommend.model.workload import read_workload

    model = form.model.strip()
    return read_workload(
        model_field(expanded(model)),
        cast("Method", form.method),
        _number(form.seq, "sequence"),
        _number(form.batch, "global batch"),
        cast("Goal", form.goal),
        form.framework or None,
    )


def fleet_of(form: Form, machine: Machine | None) -> Fleet:
    """On what; raises UsageError or SpecError."""
    from rocdoctor.service.planning import fleet_on, nodes_of
    from rocdoctor.train.recommend.fleet.described_fleet import described

    nodes = nodes_of(_number(form.nodes, "nodes"))
    if form.gpus.strip():
        return described(form.gpus.strip(), nodes)
    if machine is None:
        raise UsageError("the machine has not answered yet; name GPUs (8xMI300X) to plan for others")
    return fleet_on(machine, nodes)


def _number(text: str, what: str) -> int | None:
    word = text.strip().replace("_", "")
    if not word:
        return None
    if not (word.isascii() and word.isdecimal() and len(word) < 16):
        raise UsageError(f"{what}: '{text.strip()[:40]}' is not a whole number")
    return int(word)


def usual_targets(answer: Recommendation) -> tuple[str, ...]:
    """The targets that are chosen at first: the ones that the framework is started with."""
    asked = answer.workload.framework or (answer.plan.work.framework if answer.plan is not None else "")
    if asked in ("torchtitan", "deepspeed"):
        return (asked,)
    return ("megatron",) if asked.startswith("megatron") else ("env", "torchrun")


def changed(form: Form, needed: Needed) -> Form | None:
    """The form with a change of ``Recommendation.needed``, or None for one that it has no field for."""
    field = {"--seq": "seq", "--global-batch": "batch", "--method": "method", "--model": "model", "--nodes": "nodes"}
    return replace(form, **{field[needed.option]: needed.value}) if needed.option in field else None


def standing(folder: str, files: Sequence[File]) -> list[Path]:
    """The files of these names that stand in the folder already."""
    place = Path(expanded(folder))
    return [place / one.name for one in files if os.path.lexists(place / one.name)]


def store(folder: str, files: Sequence[File], force: bool) -> list[Path]:
    """The absolute paths of the written files; raises UsageError."""
    from rocdoctor.service.new_files import write_files

    return write_files(Path(os.path.abspath(expanded(folder))), files, force)
