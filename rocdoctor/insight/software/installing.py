"""What installs a thing on this machine: with the package manager of its distribution, by the names that it has there.

Where the evidence does not tell the distribution there is no command, and the words name the packages for each manager.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocdoctor.insight.software.libraries import Library
from rocdoctor.knowledge.software.package_managers import (
    PackageManager,
    distribution_of_kernel,
    manager_of,
    new_initramfs,
    package_managers,
    wanted_packages,
)
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import ShellCommand, TableCommand, Word, joined, shell, shell_of_table

_NOTHING = ShellCommand()


@dataclass(frozen=True, slots=True)
class Wanted:
    """How a thing is installed: the packages in words, and the command; "" where the distribution is not known."""

    words: str
    command: ShellCommand


def distribution_of(machine: Machine, host: bool = False, kernel: str = "") -> str:
    """The distribution's id, or that of the one it is built on; "" where nothing tells it.

    ``host``: what is under a container counts, which shares only its kernel with it; ``kernel`` is the release of
    another kernel of the machine, for evidence without that of the running one.
    """
    inside = value_or(machine.container.kind, "none") not in ("none", "wsl")
    names = [] if host and inside else [value_or(machine.os.id, ""), *value_or(machine.os.id_like, "").split()]
    if not inside or host:
        names.append(distribution_of_kernel(value_or(machine.kernel.release, "") or kernel) or "")
    return next((name for name in names if name and manager_of(name) is not None), "")


def manager_here(machine: Machine, host: bool = False) -> PackageManager | None:
    """The package manager of this machine, or of the host of this container."""
    return manager_of(distribution_of(machine, host))


def wanted(machine: Machine, thing: str, *, host: bool = False, **words: Word) -> Wanted:
    """How a thing of the tables is installed here; ``words`` fill names of packages (``kernel``)."""
    kernel = words.get("kernel", "")
    distribution = distribution_of(machine, host, kernel if isinstance(kernel, str) else "")
    manager = manager_of(distribution)
    named = wanted_packages(thing, distribution) if manager is not None else {}
    if manager is None or not named:
        return Wanted(_by_manager(wanted_packages(thing), words), _NOTHING)
    (templates,) = named.values()
    packages = [_package(one, words) for one in templates]
    return Wanted(" and ".join(packages), with_sudo(manager.command("install"), packages))


def _by_manager(packages: Mapping[str, Sequence[str]], words: Mapping[str, Word]) -> str:
    """``gcc and python3-dev (apt), gcc and python3-devel (dnf, zypper)``."""
    managers: dict[str, list[str]] = {}
    for manager, templates in packages.items():
        managers.setdefault(" and ".join(_package(one, words) for one in templates), []).append(manager)
    if len(managers) == 1:
        return next(iter(managers))
    return ", ".join(f"{names} ({', '.join(those)})" for names, those in managers.items())


def _package(template: TableCommand, words: Mapping[str, Word]) -> ShellCommand:
    return shell_of_table(template, **words)


def install_library(machine: Machine, one: Library) -> ShellCommand:
    """The command that installs the package of a library: by its name, or by the name of the library; or ""."""
    manager = manager_here(machine)
    if manager is None:
        return _NOTHING
    if manager.by_library is not None:
        package = manager.by_library.replace("{file}", one.name)
    else:
        package = (one.package or "").split(" ", 1)[0] if manager.name == "apt" else ""
    return with_sudo(manager.command("install"), [package]) if package else _NOTHING


def initramfs_here(machine: Machine) -> ShellCommand:
    """The command that makes the initial RAM disks of this machine anew; or ""."""
    manager = manager_here(machine, host=True)
    words = new_initramfs(manager.name) if manager is not None else ()
    return with_sudo(words) if words else _NOTHING


def find_library(machine: Machine, name: str) -> ShellCommand:
    """The command that tells which package holds a file with this name; or ""."""
    manager = manager_here(machine)
    return shell("{words:option}", words=manager.command("holds", file=name)) if manager is not None else _NOTHING


def finders() -> str:
    """What finds the package of a file, by manager, for words: ``apt-file search, dnf provides``."""
    return ", ".join(" ".join(one.command("holds")[:2]) for one in package_managers().values())


def in_order(*commands: ShellCommand) -> ShellCommand:
    """Those commands that are there, one after the other."""
    return joined(one for one in commands if one)


def with_sudo(command: Sequence[TableCommand], packages: Sequence[str] = ()) -> ShellCommand:
    """A command of a manager, as its table has it, with these packages behind it."""
    return _filled(" ".join(("sudo", *command, *(("{packages}",) if packages else ()))), packages)


def _filled(template: TableCommand, packages: Sequence[str]) -> ShellCommand:
    return shell_of_table(template, packages=packages)
