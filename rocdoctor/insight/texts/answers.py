"""Which answers of the tables hold for the messages of a pasted text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from rocdoctor.insight.texts.pasted import (
    all_values,
    first_value,
    gpu_words,
    in_container,
    in_slurm,
    in_wsl,
    said,
    training_gfx,
    training_gpus,
    vendors,
)
from rocdoctor.insight.texts.python_wanted import python_values
from rocdoctor.insight.texts.traits import has_trait
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.messages.answers import MessageAnswer, When, message_answers
from rocdoctor.knowledge.messages.told import NO_REPORT
from rocdoctor.model.evidence import NOT_ASKED, value_or
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.of_same import of_same
from rocdoctor.model.printable import one_line

_IN_WORDS = ("prose-", "people-")  # kinds of messages that people tell, by the beginning of their names
_SLOT = regex(r"\{(\w{1,40})(?:\|([^{}]{0,200}))?\}")
_GAP = regex(r" ?" + _SLOT.pattern)
_NO_TARGET = regex(r"[^a-z0-9]+")
_LONGEST = 160  # characters of one value in a sentence
_MOST = 3  # causes of one message
_PLACES: Mapping[str, Callable[[Machine], bool]] = {"container": in_container, "slurm": in_slurm, "wsl": in_wsl}


@dataclass(frozen=True, slots=True)
class Applied:
    """An answer that holds, the messages that it rests on, and the values for its templates."""

    kind: str
    answer: MessageAnswer
    messages: tuple[Message, ...]
    values: Mapping[str, str]


@of_same
def applied(machine: Machine) -> tuple[Applied, ...]:
    """The answers that hold: of each kind the first one that is certain or likely, else its possible ones."""
    kinds = dict.fromkeys(message.kind for message in machine.messages)
    found = tuple(one for kind in kinds if kind in message_answers() for one in _of_kind(machine, kind))
    if not said(machine, NO_REPORT):
        return found
    # Of a page, a wish or what is over only what programs print counts.
    return tuple(one for one in found if not one.kind.startswith(_IN_WORDS))


def _of_kind(machine: Machine, kind: str) -> tuple[Applied, ...]:
    messages = said(machine, kind)
    if not messages:
        return ()
    values = values_of(machine, messages)
    holding = [
        Applied(kind, one, messages, values)
        for one in message_answers()[kind]
        if holds(one.when, machine, values) and filled(one, values)
    ]
    sure = next((one for one in holding if one.answer.confidence != "possible"), None)
    return (sure,) if sure is not None else tuple(holding[:_MOST])


def fill(template: str, values: Mapping[str, str]) -> str:
    """A sentence with its values in one line each."""

    def filled_in(slot: re.Match[str]) -> str:
        value = values.get(slot[1]) or slot[2] or ""
        return f"{' ' if slot[0][0] == ' ' else ''}{value}" if value else ""

    return _GAP.sub(filled_in, template)


def filled(one: MessageAnswer, values: Mapping[str, str]) -> bool:
    """Whether there is a value for each name without words of its own."""
    return all(slot[1] in values or slot[2] is not None for slot in _SLOT.finditer(one.text + one.fix))


def values_of(machine: Machine, messages: tuple[Message, ...]) -> dict[str, str]:
    """What templates may hold: the values of messages and a few of the machine, each in one line."""
    names = dict.fromkeys(name for message in messages for name in message.values)
    found = {name: one_line(first_value(messages, name) or "")[:_LONGEST] for name in names}
    return {**_of_machine(machine), **found}


@of_same
def _of_machine(machine: Machine) -> dict[str, str]:
    values = {
        "gpu": gpu_words(training_gpus(machine)) if machine.gpus else "",
        "gfx": ", ".join(training_gfx(machine)),
        "system": value_or(machine.os.pretty_name, ""),
        "kernel": value_or(machine.kernel.release, ""),
        **python_values(machine),
    }
    return {name: one_line(value)[:_LONGEST] for name, value in values.items() if value}


def holds(when: When, machine: Machine, values: Mapping[str, str]) -> bool:
    """Whether a condition holds of a machine and the values of a message."""
    seen = vendors(machine)
    if (when.vendor and seen and when.vendor not in seen) or (when.named and when.named not in seen):
        return False
    if when.inside and not any(_PLACES[place](machine) for place in when.inside):
        return False
    if any(_PLACES[place](machine) for place in when.outside):
        return False
    if when.together and not said(machine, *when.together):
        return False
    if not all(said(machine, kind) for kind in when.every):
        return False
    if when.without and said(machine, *when.without):
        return False
    if when.variables and not any(name in machine.environment.variables for name in when.variables):
        return False
    if when.gfx and not any(_is_one(name, when.gfx) for name in training_gfx(machine)):
        return False
    if when.lacks and not _lacks(values.get(when.lacks, ""), training_gfx(machine)):
        return False
    if not all(has_trait(machine, name) for name in when.traits):
        return False
    if when.below and not _below(*(values.get(name, "") for name in when.below)):
        return False
    if when.unlike and not _unlike(*(values.get(name, "") for name in when.unlike)):
        return False
    if when.driver_below and not _driver_below(machine, when.driver_below):
        return False
    if when.capability_below and not _capability_below(machine, when.capability_below):
        return False
    if when.toolkit_from and not any(one >= numbers(when.toolkit_from) for one in _toolkits(machine)):
        return False
    return all(_is_one(values.get(name, ""), wanted) for name, wanted in when.values.items())


def _driver_below(machine: Machine, limit: str) -> bool:
    driver = numbers(value_or(machine.drivers.get("nvidia", {}).get("version", NOT_ASKED), ""))
    return bool(driver) and driver < numbers(limit)


def _capability_below(machine: Machine, limit: str) -> bool:
    """Whether NVIDIA GPUs are named, and all of them are of an older compute capability."""
    known = [numbers(value_or(gpu.compute_capability, "")) for gpu in machine.gpus if gpu.vendor == "nvidia"]
    return bool(known) and all(one and one < numbers(limit) for one in known)


def _toolkits(machine: Machine) -> list[tuple[int, ...]]:
    """The releases of CUDA toolkits here, as facts and as texts show them."""
    known = [numbers(value_or(one.version, "")) for one in machine.cuda_toolkits]
    return known + [numbers(one) for one in all_values(said(machine, "cuda-toolkit-shown"), "toolkit")]


def _lacks(listed: str, targets: Sequence[str]) -> bool:
    """Whether a list of targets holds something, and not the first GPU's."""
    return "gfx" in listed and bool(targets) and targets[0] not in _NO_TARGET.split(listed)


def _below(first: str, second: str) -> bool:
    return (
        first.isascii()
        and first.isdigit()
        and second.isascii()
        and second.isdigit()
        and (4 * int(first) < 3 * int(second))
    )


def _unlike(first: str, second: str) -> bool:
    return bool(first) and bool(second) and first != second


def _is_one(value: str, wanted: Sequence[str]) -> bool:
    return any(fnmatchcase(value, one) for one in wanted)
