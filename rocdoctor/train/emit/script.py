"""The shell script of a framework that brings its own training program: torchrun, environment, arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rocdoctor.train.emit.files import comment, plain
from rocdoctor.train.emit.launcher import LOCAL, PORT, Argument, array, launcher, model_words, open_ports, own_port
from rocdoctor.train.emit.targets.env import export
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.plan import Plan, Setting


def because(plan: Plan, key: str, instead: str) -> str:
    """The reason of a choice of the plan, or what always holds for it."""
    return plan.why(key) or instead


def render(
    plan: Plan,
    head: Iterable[str],
    needed: Sequence[Setting],
    words: Iterable[Argument],
    more: Sequence[Setting] = (),
) -> str:
    """A bash script that runs ``words`` on every rank of one node.

    ``head`` are sentences for the reader. ``needed`` are variables that only the user knows: name, an example and what
    it is (without apostrophes: bash pairs them there); the script stops with those words where one is not set.
    ``more`` goes with the environment of the plan.
    """
    several = plan.fleet.nodes > 1
    place = ("$NODE_RANK", f"$MASTER_ADDR:{PORT}") if several else (None, LOCAL)
    start = launcher(plan, str(plan.fleet.nodes), *place)
    environment = [*plan.environment, *more]
    meeting = () if several else own_port("$$")
    needed = [*(_PLACE if several else ()), *needed]
    return "\n".join(_lines(head, needed, environment, [*meeting, *open_ports()], start, words)) + "\n"


_PLACE = (
    Setting("NODE_RANK", "0", "the number of this node, from 0"),
    Setting("MASTER_ADDR", "node-0", "the address of the first node"),
)


def _lines(
    head: Iterable[str],
    needed: Sequence[Setting],
    environment: Sequence[Setting],
    meeting: Iterable[str],
    start: Iterable[Argument],
    words: Iterable[Argument],
) -> Iterator[str]:
    yield "#!/usr/bin/env bash"
    for sentence in head:
        yield from comment(sentence)
    yield "set -eu"
    if needed:
        yield "\n# What only you know; set it in the environment or replace it here."
    for one in needed:
        example = f", for example {one.value}" if one.value else ""
        yield f': "${{{one.name}:?{plain(one.reason)}{example}}}"'
    if environment:
        yield ""
    for setting in environment:
        yield from comment(setting.reason)
        yield export(setting)
    yield ""
    yield from meeting
    yield from array("launcher", start)
    yield ""
    yield from array("arguments", words)
    yield ""
    yield "# what you add to this script's own command line comes last, and takes precedence"
    yield 'exec "${launcher[@]}" "${arguments[@]}" "$@"'


def told(plan: Plan, name: str) -> str:
    """One sentence that names framework, model and machines."""
    return f"{name}: {model_words(plan)} on {plan.fleet.name}; written by rocdoctor"


def method_refusal(work: Work, name: str) -> str | None:
    """What neither torchtitan nor Megatron-LM can be told: no GPU, adapters, optimizers other than AdamW."""
    if work.gpu.name == "CPU":
        return f"{name} trains only on GPUs; nearest: a script of your own with torchrun"
    if work.method != "full":
        return f"{name} trains all parameters here, not adapters ({work.method}); nearest: full training"
    if work.optimizer != "adam" and not (work.optimizer == "adam16bit" and work.framework == "megatron"):
        return f"{name} is written with AdamW only, not {work.optimizer}; nearest: adamw"
    return None
