"""Wheels of pytorch.org: addresses, what pip is told, which CUDA build fits; from ``install_torch``, ``compat``."""

from __future__ import annotations

from typing import Any, Literal

from rocdoctor.knowledge.load import load_table, numbers
from rocdoctor.knowledge.software.compat import torch_releases
from rocdoctor.model.shell_command import ShellCommand, TableCommand, shell_of_table

# The oldest driver branch of CUDA 12, for a machine whose driver is not known.
_OLDEST_DRIVER = "525"


def wheel_url(flavour: str) -> str:
    """The index of a flavour: ``rocm7.2``, ``cu128``, ``cpu``."""
    return f"{load_table('install')['hosts']['pytorch_whl']['base']}/{flavour}"


def flavour_rank(flavour: str) -> tuple[bool, tuple[int, ...]]:
    """What to take of ROCm flavours, the highest: one that brings its own libraries before one that asks for more."""
    number = numbers(flavour.removeprefix("rocm"))
    own = numbers(load_table("install_torch")["pytorch_org"]["self_contained_through"])
    return number <= own, number


def install_torch(index: str | None, *, how: Literal["install", "reinstall", "upgrade"] = "reinstall") -> ShellCommand:
    """The command that brings torch from an index: with its companions in place of what is there, alone (``install``)
    or over it (``upgrade``); "" for None."""
    return shell_of_table(_pip(how), index=index) if index else ShellCommand()


def _pip(how: str) -> TableCommand:
    return str(load_table("install_torch")["pip"][how])


def cuda_rows(capability: str = "", driver: str = "") -> list[Any]:
    """The rows of CUDA builds that fit a GPU and a driver, best first; what is not known counts as usual today."""
    have, runs = numbers(capability), numbers(driver or _OLDEST_DRIVER)
    return [
        row
        for row in load_table("install_torch")["cuda"]["rows"]
        if not ("below" in row and (not have or have >= numbers(row["below"])))
        and not ("from" in row and have and have < numbers(row["from"]))
        and not ("driver" in row and runs < numbers(row["driver"]))
    ]


def has_wheels(flavour: str) -> bool:
    """Whether some release of torch is known to have wheels of this CUDA flavour."""
    return any(flavour in (release.cuda or ()) for release in torch_releases())


def newest_cuda_flavour(major: int) -> str | None:
    """The flavour for drivers that go up to this major version of CUDA: that of the newest torch that has one."""
    for release in torch_releases():
        fitting = [one for one in release.cuda or () if _number(one) < 10 * (major + 1)]
        if fitting:
            return max(fitting, key=_number)
    return None


def _number(flavour: str) -> int:
    """126 of cu126, which is CUDA 12.6."""
    return int(flavour.removeprefix("cu"))
