"""What a profile says of the machine that it was made for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rocdoctor.model.evidence import NOT_ASKED, Fact, Known


@dataclass(frozen=True, slots=True)
class Expected:
    """A profile that was read. ``name`` is its file name without folders.

    ``gpus``: the traits of each GPU by key, in the order of the file; unknown where the profile does not list them.
    ``machine``: traits of the machine by key; ``packages``: Python packages with their versions. What the profile does
    not say is not in them. ``problems``: lines that make no sense, each in one sentence.
    """

    name: str
    gpus: Fact[tuple[Mapping[str, Known[str]], ...]] = NOT_ASKED
    machine: Mapping[str, Known[str]] = field(default_factory=dict)
    packages: Mapping[str, Known[str]] = field(default_factory=dict)
    problems: tuple[Known[str], ...] = ()
