"""Which ROCm installation a path belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rocdoctor.knowledge.load import numbers
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import Machine, RocmInstall
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.amd.rocm_packages import RocmPackages, rocm_packages

_ROOT = regex(r"(/opt/rocm(?:-\d[\w.]{0,40})?(?:/core(?:-\d[\w.]{0,40})?)?)(?=/|$)")


def root_of(path: str) -> str | None:
    """The ROCm root below /opt that a path lies in: ``/opt/rocm-6.2.0/lib`` is ``/opt/rocm-6.2.0``."""
    found = _ROOT.match(path.strip())
    return found.group(1) if found else None


def install_of(machine: Machine, root: str) -> RocmInstall | None:
    """The installation with this root or with this other name."""
    return next((one for one in machine.rocm if root == one.root or root in one.aliases), None)


def version_of(machine: Machine, root: str) -> str | None:
    """The release of a root, by its version file, else by the folder's own name."""
    install = install_of(machine, root)
    if install is not None and isinstance(install.version, Known):
        return install.version.value
    named = re.search(r"-(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)$", root)
    return named.group(1) if named else None


def roots_on(value: str) -> list[str]:
    """The ROCm roots that a colon-separated path names, in order, each once."""
    found = (root_of(part) for part in value.split(":")[:1000])
    return list(dict.fromkeys(root for root in found if root is not None))


def releases(versions: Iterable[str]) -> set[tuple[int, ...]]:
    """Release lines (major and minor) of versions."""
    return {numbers(version)[:2] for version in versions if len(numbers(version)) >= 2}


def package_summary(machine: Machine) -> RocmPackages | None:
    """The releases and streams of the installed ROCm packages; None when their list is unknown."""
    if not isinstance(machine.rocm_packages, Known):
        return None
    return rocm_packages(machine.rocm_packages.value.items())
