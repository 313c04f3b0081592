"""The only place where a host meets the parsers: questions in, a Machine out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from rocdoctor.collect.gpus.same_answers import SameAnswers
from rocdoctor.collect.jobs import statements
from rocdoctor.collect.jobs.speakers import with_voices
from rocdoctor.collect.steps import FACTS, CollectSteps, whole_machine
from rocdoctor.host.base import Host
from rocdoctor.model.evidence import NOT_LOOKED_AT
from rocdoctor.model.facts import Expected, Machine, Unanswered
from rocdoctor.model.late import Way, late, looked_at


def collect(
    host: Host,
    import_torch: bool = False,
    smoke: str = "",
    wake: bool = False,
    hold_torch: bool = False,
    seen_gpus: SameAnswers | None = None,
) -> Machine:
    """Everything that the host knows of its machine. Never raises for what a machine may answer.

    torch is imported (in a child) only where there is a GPU that it could use, or when asked; with ``hold_torch`` only
    when asked, since it takes longer than all else together. ``smoke``: the question of smoke tests to run; recorded
    ones are read without it. A GPU that sleeps is left asleep unless ``wake``: neither
    its vendor's tools nor torch are asked then. ``seen_gpus`` keeps what was read of GPUs from look to look.
    """
    steps = CollectSteps(host, import_torch, smoke, wake, hold_torch, seen_gpus)
    machine = with_voices(steps.host, statements.filled(steps.host, whole_machine(steps)))
    return replace(machine, unanswered=steps.unanswered)


# Whose answers teach the names of people and secrets, so that they are masked in what is asked after them.
_TEACHING = ("env", "read /etc/group")


def collect_on_demand(host: Host, wake: bool = False, expected: Expected | None = None) -> Machine:
    """A machine whose facts are asked for when somebody looks at them, with the values that ``collect`` finds.

    torch is imported where its facts are looked at and there is a GPU that it could use. The host must hold no pasted
    text and no job (nothing is ``available()`` on a live machine): what a text tells changes many facts at once.
    """
    steps = CollectSteps(host, import_torch=False, smoke="", wake=wake, hold_torch=False, seen_gpus=None, whole=False)
    for question in _TEACHING:
        steps.host.ask(question)

    def unanswered() -> tuple[Unanswered, ...]:
        for way in FACTS.values():
            way(steps)
        return steps.unanswered

    ways: dict[str, Way] = {**{name: partial(way, steps) for name, way in FACTS.items()}, "unanswered": unanswered}
    rest: dict[str, Way] = {
        "gpus": lambda: tuple(map(looked_at, steps.gpus)) if steps.gpus_known else (),
        "gpus_complete": lambda: steps.gpus_known and steps.complete,
        "gpus_gap": lambda: steps.gap if steps.gpus_known else NOT_LOOKED_AT,
        "unanswered": lambda: steps.unanswered,
    }
    return late(Machine, {"expected": expected, "passages": ()}, ways, rest)
