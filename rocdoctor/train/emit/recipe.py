"""The YAML file of a program that brings its own training loop, and the script that starts it on every rank."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rocdoctor.train.emit.files import File, comment
from rocdoctor.train.emit.launcher import Argument
from rocdoctor.train.emit.script import render, told
from rocdoctor.train.recommend.plan import Plan, Setting


@dataclass(frozen=True, slots=True)
class RecipeLine:
    """One value of the file, and why."""

    key: str
    value: Any
    reason: str = ""


def recipe(plan: Plan, program: str, head: Iterable[str], entries: Iterable[RecipeLine]) -> str:
    """The file: sentences for the reader, then each value below its reason."""
    out = [line for sentence in (told(plan, program), *head) for line in comment(sentence)]
    for one in entries:
        out += comment(one.reason)
        out.append(f"{one.key}: {json.dumps(one.value)}")
    return "\n".join(out) + "\n"


def with_script(
    plan: Plan, name: str, program: str, text: str, needed: Sequence[Setting], words: Iterable[Argument]
) -> list[File]:
    """``NAME.yaml`` and ``NAME.sh``; ``needed`` are variables that only the user knows."""
    head = [told(plan, program), f"Run it in the folder of {name}.yaml, which holds what was planned."]
    return [File(f"{name}.yaml", text), File(f"{name}.sh", render(plan, head, needed, words), executable=True)]
