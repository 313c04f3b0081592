"""Whether a package exists for a release: in its own archive or in the vendor's repositories for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from rocdoctor.knowledge.install.distributions import Distribution
from rocdoctor.knowledge.install.kernels import modules_apart
from rocdoctor.knowledge.load import load_table, words


@cache
def _stream_packages() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """(stream, manager or "", pattern) of every package of the vendor's ROCm repositories."""
    found: list[tuple[str, str, re.Pattern[str]]] = []
    for raw in load_table("install_rocm")["streams"]:
        for key, manager in (
            ("packages", ""),
            ("other_packages", ""),
            ("deb_packages", "apt"),
            ("rpm_packages", "rpm"),
        ):
            for one in words(raw.get(key)):
                text = re.escape(one.replace("{mm}", raw["mm"]).replace("{gfx}", "GFX"))
                found.append((raw["id"], manager, re.compile(text.replace("GFX", f"(?:{'|'.join(raw['gfx'])})"))))
    return tuple(found)


def package_exists(found: Distribution, package: str) -> bool | None:
    """Whether a package exists for this release, in its archive or the vendor's repositories; None: not looked up."""
    table = load_table("install_packages")
    archive = table["releases"].get(found.key, {"has": {}, "lacks": []})
    if package in archive["has"] or package in table["common"].get(found.manager, {"has": []})["has"]:
        return True
    extra = re.fullmatch(r"linux-modules-extra-([0-9]\S+)", package)
    if extra and not modules_apart(extra[1], found.key):
        return False
    if any(re.fullmatch(re.escape(stem) + r"[0-9]\S+", package) for stem in table["stems"].get(found.manager, ())):
        return True
    for stream, manager, pattern in _stream_packages():
        fits = manager == "" or (manager == "apt") == (found.manager == "apt")
        if fits and found.streams.get(stream) in ("vendor", "works-unsupported") and pattern.fullmatch(package):
            return True
    if package in table["vendor"]["has"]:
        return True
    return False if package in archive["lacks"] or package in table["vendor"]["gone"] else None


@cache
def pro_packages() -> Mapping[str, Any]:
    """The row of AMD's older driver bundle (AMDGPU-PRO): what its packages bring, what to do with them, sources."""
    row: Mapping[str, Any] = load_table("install_rocm")["pro"]
    return row


def gone_packages() -> frozenset[str]:
    """Packages that older guides install and no release has any more."""
    gone = set(words(load_table("install_packages")["vendor"]["gone"]))
    for raw in load_table("install_rocm")["streams"]:
        gone |= set(words(raw.get("gone")))
    return frozenset(gone)
