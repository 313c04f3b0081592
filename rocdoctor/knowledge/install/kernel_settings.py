"""How kernel parameters, the initial RAM disk and sysctl settings are changed, by distribution.

The steps are those of ``install_kernel.yaml``.
"""

from __future__ import annotations

import re
from typing import Any

from rocdoctor.knowledge.install.distributions import Distribution
from rocdoctor.knowledge.install.steps import InstallStep, steps_of
from rocdoctor.knowledge.load import load_table
from rocdoctor.model.evidence import Unknown

Change = tuple[tuple[InstallStep, ...], tuple[InstallStep, ...]]  # what to do, and what undoes it

_TABLE = "install_kernel"


def _slug(word: str) -> str:
    """A name for a file: ``kernel.numa_balancing=0`` is ``kernel-numa-balancing``."""
    return re.sub(r"[^a-z0-9]+", "-", word.partition("=")[0].lower()).strip("-")


def _row(rows: Any, found: Distribution) -> Any:
    for raw in rows:
        fits = found.manager in raw["managers"] and found.id not in raw.get("except", ())
        if fits and found.id in raw.get("only", (found.id,)):
            return raw
    return None


def kernel_parameter(found: Distribution | None, word: str, *, remove: bool = False) -> Change | Unknown:
    """How a parameter such as ``iommu=pt`` gets on the kernel's command line, or off it."""
    row = None if found is None else _row(load_table(_TABLE)["parameters"], found)
    if row is None:
        return Unknown("the tables do not say how this distribution keeps kernel parameters")
    end = r"\b" if word[-1:].isalnum() else ""  # a longer value of the same parameter stays
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.,:=/+@-]{0,200}", word):  # it gets into files that a shell reads
        return Unknown("this parameter has signs that no file of a boot loader should be given by a program")
    values = {"word": word, "slug": _slug(word), "pattern": re.sub(r"([.*\[\]\\/^$])", r"\\\1", word) + end}
    names = ("remove", "restore") if remove else ("set", "undo")
    return steps_of(_TABLE, row[names[0]], values), steps_of(_TABLE, row[names[1]], values)


def initramfs(found: Distribution | None) -> tuple[InstallStep, ...] | Unknown:
    """How the initial RAM disk is made anew, in which firmware and blacklists are kept."""
    row = None if found is None else _row(load_table(_TABLE)["initramfs"], found)
    if row is None:
        return Unknown("the tables do not say how this distribution makes its initial RAM disk")
    return steps_of(_TABLE, [row["step"]], {})


def sysctl_setting(word: str) -> Change:
    """How a setting such as ``kernel.numa_balancing=0`` is made now and at every start."""
    values, row = {"word": word, "slug": _slug(word)}, load_table(_TABLE)["sysctl"]
    return steps_of(_TABLE, [row["step"]], values), steps_of(_TABLE, [row["undo"]], values)
