"""What stays as it is on a machine that nobody changes: each trait is read from the facts as text.

Profiles record traits, and comparisons of machines look at them. Left out is what moves by itself (temperatures, used
memory, clocks, counters) and what names one machine (host and user names, serials, unique ids, network addresses).
A value is text that is equal where the machines are; sizes are bytes, ``none`` says that there is none.
"""

from __future__ import annotations

from typing import Any

from rocdoctor.compare.traits.gpu import OF_GPU
from rocdoctor.compare.traits.machine import OF_MACHINE, PACKAGE, packages, packages_complete
from rocdoctor.compare.traits.trait import Group, Trait, number, same, shown, text
from rocdoctor.model.evidence import Fact, Known, Unknown, convert
from rocdoctor.model.facts import Gpu, Machine

__all__ = [
    "OF_GPU",
    "OF_MACHINE",
    "PACKAGE",
    "Group",
    "Trait",
    "number",
    "of_gpu",
    "of_machine",
    "packages",
    "packages_complete",
    "same",
    "shown",
    "text",
]


def _worded(trait: Trait, fact: Fact[Any]) -> Fact[str]:
    words = convert(fact, text)
    if isinstance(words, Known) and (
        not words.value or (trait.kind in ("near", "number") and number(words.value) is None)
    ):
        return Unknown("what its source says there makes no sense", "unparsable", words.source)
    return words


def of_gpu(machine: Machine, gpu: Gpu) -> dict[str, Fact[str]]:
    """All traits of a GPU by key."""
    return {one.trait.key: _worded(one.trait, one.read(machine, gpu)) for one in OF_GPU}


def of_machine(machine: Machine) -> dict[str, Fact[str]]:
    """All traits of the machine by key."""
    return {one.trait.key: _worded(one.trait, one.read(machine)) for one in OF_MACHINE}
