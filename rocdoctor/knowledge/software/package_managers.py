"""How packages come and go, by package manager: commands and names of ``package_managers.yaml``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from rocdoctor.knowledge.load import load_table, words

Verb = Literal["refresh", "install", "reinstall", "remove", "remove_all", "sources", "holds"]
_VERBS: tuple[Verb, ...] = ("refresh", "install", "reinstall", "remove", "remove_all", "sources", "holds")


@dataclass(frozen=True, slots=True)
class PackageManager:
    """A package manager. ``by_library``: what installs whatever package holds a library, by its soname, or None.

    ``whole`` are words by which it upgrades all packages.
    """

    name: str
    commands: Mapping[Verb, tuple[str, ...]]
    by_library: str | None
    whole: tuple[str, ...] = ()

    def command(self, verb: Verb, packages: Sequence[str] = (), file: str = "") -> tuple[str, ...]:
        """The words of a command, without sudo; () where this manager has none."""
        found: list[str] = []
        for word in self.commands.get(verb, ()):
            found += packages if word == "{packages}" else [word.replace("{file}", file)]
        return tuple(found)

    def upgrades_all(self, rest: Sequence[str]) -> bool:
        """Whether the words behind its name upgrade the whole system, with kernel and drivers."""
        if any(word in self.whole for word in rest if word.startswith("-")):
            return True
        named = [word for word in rest if not word.startswith("-")]
        return len(named) == 1 and named[0] in self.whole


@cache
def package_managers() -> Mapping[str, PackageManager]:
    """Every package manager by name."""
    return {
        raw["name"]: PackageManager(
            raw["name"],
            {verb: tuple(shlex.split(raw[verb])) for verb in _VERBS if raw[verb] is not None},
            raw["by_library"],
            words(raw["whole"]),
        )
        for raw in load_table("package_managers")["managers"]
    }


def manager_of(distribution: str) -> PackageManager | None:
    """The package manager of a distribution, by its id in os-release; None for one that the table does not have."""
    rows = load_table("package_managers")["managers"]
    name = next((raw["name"] for raw in rows if distribution in raw["of"]), None)
    return package_managers()[name] if name is not None else None


def distribution_of_kernel(release: str) -> str | None:
    """The distribution that builds kernels with such a release (``6.8.0-45-generic``), or None."""
    for raw in load_table("package_managers")["managers"]:
        for distribution, pattern in raw["kernels"].items():
            if re.search(pattern, release):
                return str(distribution)
    return None


def wanted_packages(thing: str, distribution: str = "") -> Mapping[str, tuple[str, ...]]:
    """What a thing is called: by the id of this distribution, or by manager; templates, to be filled by ``shell``."""
    names = load_table("package_managers")["wanted"][thing]["names"]
    if not distribution:
        return {manager: words(one) for manager, one in names.items() if manager in package_managers()}
    manager = manager_of(distribution)
    key = distribution if distribution in names else manager.name if manager is not None else ""
    return {key: words(names[key])} if key in names else {}


def vendor_first() -> tuple[str, str]:
    """What makes apt prefer AMD's repository to the archive: the file, and what stands in it in words."""
    step = load_table("install_rocm")["steps"]["legacy-pin"]
    host = load_table("install")["hosts"]["amd_legacy"]["base"].split("//", 1)[1]
    return step["file"], f"{step['lines'][-1].replace(': ', ' ')} for {host}"


def new_initramfs(manager: str) -> tuple[str, ...]:
    """The command that makes the initial RAM disks anew where this manager is at home, or ()."""
    table = load_table("install_kernel")
    row = next((one for one in table["initramfs"] if manager in one["managers"]), None)
    return tuple(shlex.split(table["steps"][row["step"]]["run"][0])) if row is not None else ()
