"""Tells which ROCm release installed packages belong to, and whether releases or streams are mixed.

AMD's classic packages end their version in the release as digits (``rocblas 4.2.0.60200-66~24.04`` is of 6.2.0); new
ones are named ``amdrocm*``; wheels are ``rocm`` and ``rocm-sdk-*``; distributions update each component on its own, so
different numbers side by side are normal there. Packages of the kernel driver (amdgpu-*) follow their own releases and
are left out. Names: install page of 10.0, Debian, Fedora and Arch package lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.amd.rocm_install import decode_release, plausible, release_key

Stream = Literal["classic", "core", "distribution", "wheel"]

MAX_PACKAGES = 100_000

_ROCM_NAME = regex(
    r"(?:rocm(?:$|[-_\d.])|rocm(?:info|fft)"
    r"|roc(?:alution|al|blas|fft|jpeg|decode|prim|profiler|rand|shmem|solver|sparse|thrust|tracer|wmma|r-|gdb)"
    r"|hip(?:$|-|blas|cc|cub|fft|fort|ify|rand|solver|sparse|tensor)|hsa(?:-|kmt)|lib(?:amdhip64|hsa-runtime64|hsakmt)"
    r"|lib(?:amd-comgr|amd-smi|miopen|rccl|hip(?:blas|fft|rand|solver|sparse|tensor))"
    r"|libroc(?:m-|blas|fft|rand|solver|sparse|alution)"
    r"|rccl|miopen|comgr|composablekernel|amd-?smi|migraphx|mivisionx|rpp(?:$|-)|rdc(?:$|-)|half(?:$|\d)|openmp-extras"
    r"|amdrocm)"
)
_VENDOR_VERSION = regex(r"(?:\d+:)?\d[\w.]*\.(\d{5,6})(?:[-~+].*)?")
_NAMED_RELEASE = regex(r"^[a-z][a-z_-]*?(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)(?=$|-)")
_PLAIN_VERSION = regex(r"(?:\d+:)?(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)(?![\d])")
# Meta packages of AMD's repository that no distribution has: before 4.0 nothing else tells them apart.
_AMD_META = frozenset(["rocm-dev", "rocm-dkms", "rocm-libs", "rocm-utils"])


@dataclass(frozen=True, slots=True)
class RocmPackage:
    """One package of ROCm and the release it belongs to; ``side_by_side`` when its name carries the release."""

    name: str
    version: str
    stream: Stream
    release: str | None
    side_by_side: bool = False


@dataclass(frozen=True, slots=True)
class RocmPackages:
    """The packages of ROCm on a machine.

    ``mixed``: packages that replace each other come from more than one release; None when there are none.
    """

    packages: tuple[RocmPackage, ...]
    mixed: bool | None
    outsiders: tuple[RocmPackage, ...] = ()  # when mixed: those that are not of the release that most are of


def rocm_packages(pairs: Iterable[tuple[str, str]], wheels: bool = False) -> RocmPackages:
    """Sorts (name, version) pairs of one package manager (``wheels``: of pip) and leaves out what is not of ROCm."""
    found = (classify(name, version, wheels) for name, version in islice(pairs, MAX_PACKAGES))
    return summarise(item for item in found if item is not None)


def summarise(packages: Iterable[RocmPackage]) -> RocmPackages:
    """Whether packages are of one release; those of several package managers can be put together here."""
    kept = tuple(packages)
    vendor = [item for item in kept if item.stream in ("classic", "core") and item.release]
    # Two releases of the new stream install side by side: their folders differ.
    shared = [item for item in vendor if not item.side_by_side and item.stream == "classic"]
    counts: dict[str, int] = {}
    for item in shared:
        counts[item.release or ""] = counts.get(item.release or "", 0) + 1
    most = max(counts, key=lambda release: (counts[release], release_key(release)), default=None)
    return RocmPackages(
        packages=kept,
        mixed=len(counts) > 1 if shared else None,
        outsiders=tuple(item for item in shared if item.release != most) if len(counts) > 1 else (),
    )


def classify(name: str, version: str, wheels: bool = False) -> RocmPackage | None:
    """What a package is, or None when it is not one of ROCm."""
    name, version = name[:200].lower(), version[:200]
    if wheels:
        if name.replace("_", "-") != "rocm" and not name.replace("_", "-").startswith("rocm-sdk"):
            return None
        return RocmPackage(name, version, "wheel", _number(version))
    if not _ROCM_NAME.match(name):
        return None
    named = _NAMED_RELEASE.match(name)
    number = _number(version)
    if name.startswith("amdrocm"):
        release = number if number and release_key(number) >= (7, 9) else named.group(1) if named else None
        return RocmPackage(name, version, "core", release, named is not None)
    vendor = _VENDOR_VERSION.fullmatch(version)
    release = decode_release(vendor.group(1)) if vendor else None
    if release:
        return RocmPackage(name, version, "classic", release, named is not None)
    if name in _AMD_META:
        return RocmPackage(name, version, "classic", number)
    if "rocm-rel-" in version:  # AMD's before 4.0: the number is the component's own
        return RocmPackage(name, version, "classic", None)
    return RocmPackage(name, version, "distribution", number)


def of_driver_bundle(name: str) -> bool:
    """Whether a package is of AMD's older driver bundle for workstations: AMDGPU-PRO, which is no part of ROCm."""
    return name.startswith("amdgpu-pro") or name.endswith("-amdgpu-pro")


def _number(version: str) -> str | None:
    """The number that a package version begins with, where it can be a ROCm release."""
    plain = _PLAIN_VERSION.match(version)
    return plain.group(1) if plain and plausible(plain.group(1)) else None
