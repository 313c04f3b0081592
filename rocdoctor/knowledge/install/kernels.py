"""Kernels of distributions: the oldest that AMD supports with a target, and the steps to newer ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rocdoctor.knowledge.install.distributions import Distribution
from rocdoctor.knowledge.install.steps import InstallStep, Words, steps_of
from rocdoctor.knowledge.load import load_table, numbers, words
from rocdoctor.model.lazy_re import regex

_BACKPORTS = regex(r"\.(?:el|amzn|azl|cm)\d|-default\b|uek")

_64K = "+64k"


@dataclass(frozen=True, slots=True)
class KernelUpdate:
    """A distribution's own newer kernel. ``line``: what its release begins with; "" where that is not known."""

    steps: tuple[InstallStep, ...]
    undo: tuple[InstallStep, ...]
    line: str
    why: str
    sources: Words


def kernel_floor(gfx: str, distribution: str, version: str, kernel: str) -> str | None:
    """What AMD asks for with a target where this kernel is too old for it; None where it is not, or nobody knows."""
    found = _floor(gfx, distribution, version, kernel)
    if found is None:
        return None
    named = f"the {found['kind']} kernel" if "kind" in found else "Linux"
    return f"{named} {found['kernel']} or later"


def kernel_least(gfx: str, distribution: str, version: str, kernel: str) -> str:
    """The release of that kernel (``6.18.4``); "" where none is asked for."""
    found = _floor(gfx, distribution, version, kernel)
    return "" if found is None else str(found["kernel"])


def _floor(gfx: str, distribution: str, version: str, kernel: str) -> Mapping[str, Any] | None:
    """The row that asks for a newer kernel than this one.

    Kernels of Red Hat and its rebuilds, of SUSE and Oracle carry newer drivers than their numbers say.
    """
    table = load_table("install")["driver"]["kernel_floors"]
    rows = next((one["rows"] for one in table if gfx in one["gfx"]), ())
    have = tuple(int(one) for one in re.findall(r"\d{1,9}", kernel)[:4])
    if not have or _BACKPORTS.search(kernel):
        return None
    kind = "OEM" if "-oem" in kernel else "HWE"
    for one in rows:
        released = tuple(int(part) for part in re.findall(r"\d{1,6}", version)[:2])
        least = tuple(int(part) for part in one.get("release", "0").split("."))
        if one["where"] not in ("*", distribution) or ("release" in one and released < least):
            continue
        if one.get("kind", kind) != kind:
            continue
        reached = "kernel" not in one or have >= tuple(int(part) for part in re.split(r"[.-]", one["kernel"]))
        return None if reached else one
    return None


def kernel_values(kernel: str) -> dict[str, str]:
    """What a running kernel gives to steps: its release, and the names of packages of its like on Debian and RHEL."""
    like = regex(r"\d-((?:cloud-|rt-)?(?:amd64|arm64))\Z").search(kernel)
    release = kernel.removesuffix(_64K)  # the packages of RHEL for pages of 64 KiB leave it out of their release
    named = {"debkernel": like[1] if like else "amd64", "elkernel": "kernel-64k" if release != kernel else "kernel"}
    return named | ({"kernel": release} if kernel else {})


def modules_apart(kernel: str, key: str) -> bool:
    """Whether this Ubuntu (``ubuntu 24.04``) has modules of this kernel in a package apart, linux-modules-extra."""
    in_one = load_table("install")["driver"]["modules_in_one"]
    if kernel.rpartition("-")[2] in in_one["kinds"]:
        return False
    return numbers(kernel)[:2] < numbers(in_one["sooner"].get(key, in_one["from"]))


def kernel_gone(found: Distribution, kernel: str) -> tuple[str, Words]:
    """(what to do where the archive has no package of the running kernel any more, sources); "" where nobody read it.

    What is built on a distribution has kernels of its own, and so have clouds.
    """
    table = load_table("install")["driver"]["gone"]
    follows = table["follows"].get(found.key, {}) if found.derived_from is None and kernel.endswith("-generic") else {}
    package = follows.get(".".join(map(str, numbers(kernel)[:2])), follows.get("any"))
    return (table["text"].format(package=package), words(table["s"])) if package else ("", ())


def at_least(release: str) -> str:
    """A pattern (of Python and of ``grep -E``) of releases from this one on: ``6.18.4`` gives 6.18.12 and 7.0 too."""
    parts = [int(part) for part in re.findall(r"\d{1,6}", release)]
    fixed, ways = "", []
    for at, part in enumerate(parts):
        last = at == len(parts) - 1
        ways.append(f"{fixed}({_number_from(part if last else part + 1)})")
        fixed += f"{part}{'[.]' if at < 2 else '[.-]'}"
    return f"^({'|'.join(ways)})([^0-9]|$)"


def _number_from(least: int) -> str:
    """A pattern of the whole numbers from this one on."""
    digits = str(least)
    ways = [f"[1-9][0-9]{{{len(digits)},}}"]
    for at, digit in enumerate(digits):
        low = int(digit) + (at < len(digits) - 1)
        if low <= 9:
            ways.append(f"{digits[:at]}[{low}-9]" + "[0-9]" * (len(digits) - at - 1))
    return "|".join(ways)


def kernel_step(distribution: str, kind: str, line: str) -> tuple[InstallStep, ...]:
    """The step to a newer kernel of a distribution (``ubuntu 24.04``, HWE, 7.0); () where none is in the tables."""
    for row in load_table("install")["driver"]["kernel_steps"]:
        if (row["distribution"], row["kind"], row["kernel"]) == (distribution, kind, line):
            return steps_of("install", [row["step"]], {})
    return ()


def kernel_update(found: Distribution, kernel: str) -> KernelUpdate | None:
    """A distribution's own way to a newer kernel than this one; None where the tables have none.

    What is built on a distribution has kernels of its own.
    """
    for row in load_table("install")["driver"]["kernel_updates"]:
        if row["distribution"] in (found.key, found.id) and found.derived_from is None:
            steps, undo = steps_of("install", row["steps"], {}), steps_of("install", row["undo"], {"kernel": kernel})
            return KernelUpdate(steps, undo, row["line"], row["why"], words(row["s"]))
    return None
