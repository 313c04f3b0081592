"""Distributions whose packages go to registered systems alone: what tells, and what registers one."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from rocdoctor.knowledge.install.distributions import Distribution
from rocdoctor.knowledge.install.steps import Words, fill_text
from rocdoctor.knowledge.load import load_table, words


@dataclass(frozen=True, slots=True)
class Registration:
    """``tell`` shows whether a system is registered, ``by`` registers it. ``cloud_text`` is what differs where the
    cloud gives the packages, and ``cloud_command`` enables CodeReady Builder there; both may be empty."""

    vendor: str
    tell: Words
    by: str
    sources: Words
    cloud_text: str = ""
    cloud_command: Words = ()


def registration(found: Distribution | None) -> Registration | None:
    """How systems of this distribution are registered; None for those that need no registration."""
    rows = load_table("install")["registration"]
    row = None if found is None else next((one for one in rows if one["id"] == found.id), None)
    if row is None or found is None:
        return None
    made = Registration(row["vendor"], tuple(shlex.split(row["tell"])), row["by"], words(row["s"]))
    cloud = row["cloud"]
    if cloud is None:
        return made
    command = tuple(shlex.split(fill_text(cloud["command"], found.values)))
    return Registration(made.vendor, made.tell, made.by, (*made.sources, *words(cloud["s"])), cloud["text"], command)
