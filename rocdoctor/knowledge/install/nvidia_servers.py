"""NVIDIA on servers: driver branches and their ends, the flavour for data-center GPUs, the fabric manager."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rocdoctor.knowledge.install.distributions import Distribution
from rocdoctor.knowledge.install.steps import InstallStep, Words, steps_of
from rocdoctor.knowledge.load import load_table, numbers, words

_TABLE = "install_servers"


@dataclass(frozen=True, slots=True)
class FabricManager:
    """The fabric manager for a driver: what installs it, what undoes that, what to know."""

    steps: tuple[InstallStep, ...]
    undo: tuple[InstallStep, ...]
    notes: Words
    sources: Words


def ended_branch(branch: int, today: str = "") -> str | None:
    """What NVIDIA's list says of a branch that it maintains no more; None for others.

    ``today`` (2026-12-09) counts where it is later than the day of the table. Months are text such as "2026-06", which
    sorts as they follow each other.
    """
    table = load_table("compat")["cuda"]
    ends = {int(one["branch"][1:]): str(one["end"]) for one in table["branches"]}
    listed = [int(one["branch"][1:]) for one in table["branches"] if "kind" in one]
    now = max(today[:7], str(table["branches_read"]))
    if ends.get(branch, "") >= now or branch > max(ends):  # newer than the list: nobody knows
        return None
    end = f"ended in {ends[branch]}" if branch in ends else "is no longer on NVIDIA's list"
    kept = ", ".join(f"{one} until {ends[one]}" for one in listed if ends[one] >= now)
    newer = "NVIDIA's own repository has newer branches"
    return f"Branch {branch} {end} and gets no more fixes; {newer}. Maintained: {kept}."


def server_driver(found: Distribution, capability: str | None) -> tuple[Mapping[str, Any], tuple[str, ...]] | None:
    """The row of the server driver of a distribution's archive and the names of its steps; None where it has none."""
    rows = load_table(_TABLE)["drivers"]
    row = next((one for one in rows if found.key in one["distributions"]), None)
    if row is None:
        return None
    below = load_table("install_nvidia")["proprietary_below"]["below"]
    closed = bool(capability) and numbers(capability or "") < numbers(below)
    return row, words(row["closed" if closed else "open"])


def has_switches(modules: int) -> bool:
    """Whether a board with so many GPU modules has NVSwitches."""
    return modules >= int(load_table(_TABLE)["fabric"]["gpus"])


def fabric_manager(found: Distribution, branch: int | None, capability: str | None) -> FabricManager | None:
    """The fabric manager that goes with a driver on a distribution; None where its packages were not read.

    ``branch`` is needed where the package's name has it (Ubuntu).
    """
    table = load_table(_TABLE)["fabric"]
    row = next((one for one in table["rows"] if found.key in one["distributions"]), None)
    if row is None:
        return None
    values = {} if branch is None else {"branch": str(branch)}
    notes, sources = [table["same"]], [*words(row["s"]), *words(table["gpus_s"])]
    own = table["subnet_manager"]
    if capability and numbers(capability) >= numbers(own["from"]):
        notes.append(own["text"])
        sources += words(own["s"])
    return FabricManager(
        steps_of(_TABLE, row["steps"], values),
        steps_of(_TABLE, row["undo"], values),
        tuple(notes),
        tuple(dict.fromkeys(sources)),
    )
