"""The profile: what the machine is and what was planned on it, for ``rocdoctor check --profile`` later."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rocdoctor import __version__
from rocdoctor.compare.traits import OF_GPU, OF_MACHINE, PACKAGE, Trait, of_gpu, of_machine, packages, shown
from rocdoctor.model.evidence import Fact, Known
from rocdoctor.model.facts import Machine
from rocdoctor.parsers.own.profile_file import SCHEMA
from rocdoctor.train.emit.files import File, comment, plain

if TYPE_CHECKING:
    from rocdoctor.train.emit.targets import Order
    from rocdoctor.train.recommend.model.layout import Framework
    from rocdoctor.train.recommend.model.spec import Work
    from rocdoctor.train.recommend.plan import Plan

FRAMEWORKS: tuple[Framework, ...] = ("fsdp2", "fsdp1", "deepspeed", "megatron", "ddp")

_HEAD = (
    "rocdoctor profile: what this machine was when a plan was made for it. It names no host, user or address.",
    "To see what has changed since: rocdoctor check --profile FILE",
)
_SECTIONS = (
    ("host", "host", "what is around the GPUs"),
    ("links", "link", "how the GPUs reach each other"),
    ("versions", "version", "what was installed; sizes and speeds were estimated for these"),
    ("settings", "setting", "what was set; some fall back to defaults at a reboot"),
)
# Fields of a specification that go by another name among the choices of a plan, and those that are no choice.
_CHOICES = {
    "tp": "tensor_parallel",
    "sp": "sequence_parallel",
    "pp": "pipeline_parallel",
    "cp": "context_parallel",
    "ep": "expert_parallel",
    "dp": "data_parallel",
    "fsdp": "shard",
    "fused_ce": "loss",
}
_PLANNED = {
    "model": "what is trained",
    "gpu": "the GPU, as the estimate knows it",
    "gpus": "ranks of all nodes",
    "seq": "tokens of one sequence",
    "parallel": "how the work is divided",
    "name": "its name",
    "per_node": "GPUs of one node",
    "global_batch": "sequences of one optimizer step",
    "mem_gib": "its memory",
    "usable_gib": "how much of it programs get",
    "island": "GPUs with fast links to each other",
    "fabric": "what joins them",
    "link_gb_s": "what one GPU sends over it",
    "mesh": "whether each has a link to every other",
    "host_gb_s": "what one GPU copies from the host",
    "compile": "whether torch.compile is used",
    "method": "which weights are trained",
    "schedule": "the order of a pipeline's micro-batches",
}


def refuses(work: Work) -> str | None:
    """Nothing: a profile notes every configuration."""
    del work
    return None


def files(plan: Plan, order: Order) -> Sequence[File]:
    """One YAML file; of a fleet that was only described it holds the GPUs and the plan alone."""
    return [File("profile.yaml", render(order.machine, plan))]


def render(machine: Machine | None, plan: Plan | None = None) -> str:
    """The text of a profile, each line with its reason."""
    lines = [line for words in _HEAD for line in comment(words)]
    lines += [f"schema: {SCHEMA}  # the form of this file", f"rocdoctor: {_quoted(__version__)}  # what wrote it"]
    lines += _described(plan) if machine is None else _machine(machine)
    if plan is not None:
        lines += ["", *comment("The configuration that was planned, as rocdoctor estimate reads it."), "plan:"]
        lines += _nested(plan.spec, "  ", lambda key: plain(plan.why(_CHOICES.get(key, key)) or _PLANNED.get(key, "")))
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    # A JSON string of printable signs is a double-quoted scalar of YAML.
    return json.dumps(plain(value), ensure_ascii=False)


def _line(trait: Trait, value: str, indent: str) -> str:
    people = shown(trait, value)
    size = f"{people}: " if trait.unit == "bytes" and people != value else ""
    unit = f"{trait.unit}; " if trait.unit and not size else ""
    return f"{indent}{trait.key}: {_quoted(value)}  # {size}{unit}{plain(trait.why)}"


def _machine(machine: Machine) -> Iterator[str]:
    yield ""
    yield from comment(
        "The GPUs by ascending PCI address. A job that starts one rank per GPU fails when one is missing."
    )
    if machine.gpus:
        yield "gpus:"
    else:
        yield "gpus: []  # none here" if machine.gpus_complete else "# not known when this was made"
    for gpu in machine.gpus:
        found = of_gpu(machine, gpu)
        known = [(one.trait, fact.value) for one in OF_GPU if isinstance(fact := found[one.trait.key], Known)]
        lines = [_line(trait, value, "    ") for trait, value in known]
        yield from ("  - " + lines[0][4:], *lines[1:]) if lines else ("  - {}  # nothing is known about this one",)
    facts = of_machine(machine)
    for section, group, words in _SECTIONS:
        traits = [one.trait for one in OF_MACHINE if one.trait.group == group]
        lines = list(_section(traits, facts))
        if group == "version":
            lines += _packages(machine)
        if lines:
            yield from ("", f"{section}:  # {words}", *lines)


def _section(traits: Sequence[Trait], facts: Mapping[str, Fact[str]]) -> Iterator[str]:
    for trait in traits:
        fact = facts[trait.key]
        if isinstance(fact, Known) and fact.value:
            yield _line(trait, fact.value, "  ")


def _packages(machine: Machine) -> Iterator[str]:
    found = packages(machine)
    if isinstance(found, Known) and found.value:
        yield f"  packages:  # Python packages: {PACKAGE.why}"
        for name, version in found.value.items():
            yield f"    {_quoted(name)}: {_quoted(version)}  # {PACKAGE.why}"


def _described(plan: Plan | None) -> Iterator[str]:
    """The GPUs of a fleet without a machine: one node of it."""
    if plan is None or plan.fleet.vendor == "cpu":
        return
    words = {one.trait.key: one.trait for one in OF_GPU}
    yield ""
    yield from comment("The GPUs of one node: a job that starts one rank per GPU fails when one is missing.")
    yield "gpus:"
    for seat in plan.fleet.seats:
        named = {"name": seat.name, "bdf": seat.bdf or "", "gfx": plan.fleet.gfx or ""}
        lines = [_line(words[key], value, "    ") for key, value in named.items() if value]
        yield from ("  - " + lines[0][4:], *lines[1:]) if lines else ("  - {}  # described without a name",)


def _nested(value: Mapping[str, Any], indent: str, why: Callable[[str], str]) -> Iterator[str]:
    for key, one in value.items():
        name = plain(str(key))
        tail = f"  # {why(name) or 'as planned'}"
        if isinstance(one, Mapping) and one:
            yield f"{indent}{_quoted(name)}:{tail}"
            yield from _nested(one, indent + "  ", why)
        else:
            yield f"{indent}{_quoted(name)}: {_scalar(one)}{tail}"


def _scalar(value: Any) -> str:
    if isinstance(value, str):  # of a path only the last part: folders name people
        return _quoted(value.rsplit("/", 1)[-1] if value.startswith(("/", "~", ".")) else value)
    # JSON is YAML in flow style; objects of other kinds (dates) become text.
    return json.dumps(value, ensure_ascii=False, default=lambda one: plain(str(one)))
