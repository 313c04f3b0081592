"""gfx targets: numbers and names, generic ISA groups, kernels, wheels, and what an override may do.

Figures and rules come from ``gfx.yaml``, where each row names its sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from rocdoctor.knowledge.load import load_table, numbers, words

OverrideSafety = Literal["no-op", "same-group", "risky", "unsafe", "unknown"]


@dataclass(frozen=True, slots=True)
class GfxTarget:
    """An ISA target. ``kernel_present`` is the oldest upstream release in which its compute path was seen,
    ``kernel_absent`` the newest in which it was seen to be missing; distribution kernels carry backports."""

    gfx: str
    gfx_target_version: int
    generic: str | None
    family: str
    integrated: bool
    chip: str | None
    kernel_present: str | None
    kernel_absent: str | None
    wheel_native: bool
    wheel_first_torch: str | None
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip that the kernel driver knows by PCI id. ``kfd`` False: there is no compute path for it at all."""

    chip: str
    family: str
    gfx: str | None
    kfd: bool
    kfd_note: str | None
    devices: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OverrideRow:
    """What running ``physical`` as ``override`` means; ``basis_sources`` say why."""

    physical: str
    override: str
    safety: OverrideSafety
    in_common_use: bool
    note: str
    sources: tuple[str, ...]


@cache
def gfx_targets() -> Mapping[str, GfxTarget]:
    """Every target by name."""
    return {raw["gfx"]: _target(raw) for raw in load_table("gfx")["targets"]}


def _target(raw: Any) -> GfxTarget:
    kernel = raw["kernel"] or {}
    return GfxTarget(
        raw["gfx"],
        raw["gfx_target_version"],
        raw["generic"],
        raw["family"],
        raw["integrated"],
        raw.get("chip"),
        kernel.get("known_present"),
        kernel.get("known_absent"),
        raw["wheel"]["native"],
        raw["wheel"].get("first_torch"),
        words(raw["s"]),
    )


def _plain(name: str) -> str:
    """The bare target of a name such as ``gfx90a:sramecc+:xnack-`` or ``amdgcn-amd-amdhsa--gfx1100``."""
    bare = name.strip().lower().rsplit("--", 1)[-1].split(":", 1)[0]
    return str(load_table("gfx")["aliases"].get(bare, bare))


def gfx_target(name: str) -> GfxTarget | None:
    """The target called ``name`` (features such as ``:xnack-`` are left out), or None when it is not in the table."""
    return gfx_targets().get(_plain(name))


def gfx_name(target_version: int) -> str | None:
    """The name of a KFD ``gfx_target_version`` (90010 is gfx90a); None for 0, which is a CPU node."""
    if not 0 < target_version < 1_000_000:
        return None
    major, rest = divmod(target_version, 10_000)
    minor, stepping = divmod(rest, 100)
    return f"gfx{major}{minor:x}{stepping:x}" if minor < 16 and stepping < 16 else None


def override_gfx_name(value: str) -> str | None:
    """The target that an override value (``10.3.0``) stands for, or None when the runtime would refuse the value."""
    parts = value.split(".")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) <= 3 for part in parts):
        return None
    major, minor, stepping = (int(part) for part in parts)
    limits = load_table("gfx")["override"]["limits"]
    if major > limits["major"] or minor > limits["minor"] or stepping > limits["stepping"]:
        return None
    return f"gfx{major}{minor:x}{stepping:x}"


def generic_group(name: str) -> str | None:
    """The generic target that code for ``name`` may be built for; a generic name is its own group."""
    bare = _plain(name)
    groups = load_table("gfx")["generic_groups"]["members"]
    if bare in groups:
        return bare
    return next((group for group, members in groups.items() if bare in members), None)


def same_isa_group(a: str, b: str) -> bool:
    """Whether code of one target can in principle run on the other: the same target, or the same generic group."""
    if _plain(a) == _plain(b):
        return True
    group = generic_group(a)
    return group is not None and group == generic_group(b)


def arch_list_covers(arch_list: tuple[str, ...] | list[str], name: str) -> bool:
    """Whether a build's architecture list holds code for a target: by name or by its generic group."""
    listed = {_plain(one) for one in arch_list}
    return _plain(name) in listed or generic_group(name) in listed


@cache
def _override_rows() -> Mapping[tuple[str, str], OverrideRow]:
    rows = (
        OverrideRow(r["physical"], r["override"], r["safety"], r["in_common_use"], r["note"], words(r["s"]))
        for r in load_table("gfx")["override"]["pairs"]
    )
    return {(row.physical, row.override): row for row in rows}


def override_row(physical: str, value: str) -> OverrideRow:
    """What running ``physical`` with the override ``value`` means: a row of the table, else by its ISA group."""
    bare = _plain(physical)
    found = _override_rows().get((bare, value))
    if found is not None:
        return found
    target = override_gfx_name(value)
    safety: OverrideSafety = "unknown"
    note = "The runtime refuses this value." if target is None else "One of the two targets is not in the tables."
    if target is not None and target == bare:
        safety, note = "no-op", "This is the real value."
    elif target is not None and (known := gfx_target(target)) is not None and gfx_target(bare) is not None:
        if same_isa_group(bare, target):
            safety, note = "same-group", "Both share a generic instruction set; nobody supports it."
        else:
            safety, note = "unsafe", f"{known.gfx} has different instructions from {bare}."
    return OverrideRow(bare, value, safety, False, note, ("rocr-isa",))


@cache
def _chips() -> Mapping[str, Chip]:
    rows = (
        Chip(
            raw["chip"],
            raw["family"],
            raw["gfx"],
            raw["kfd"],
            raw.get("kfd_note"),
            words(raw["devices"]),
            words(raw["s"]),
        )
        for raw in load_table("gfx")["chips"]
    )
    return {device: row for row in rows for device in row.devices}


def chip_of_device(device_id: int | str) -> Chip | None:
    """The AMD chip with this PCI device id, for parts that the driver knows by id (up to RDNA 2)."""
    text = f"{device_id:x}" if isinstance(device_id, int) else device_id.strip().lower().removeprefix("0x")
    return _chips().get(text.rjust(4, "0"))


@cache
def _refused() -> frozenset[str]:
    found: set[str] = set()
    for span in load_table("gfx")["not_amdgpu"]["devices"].split():
        first, _, last = span.partition("-")
        found.update(f"{device:04x}" for device in range(int(first, 16), int(last or first, 16) + 1))
    return frozenset(found)


def amdgpu_refuses(device_id: str) -> bool:
    """Whether amdgpu leaves the AMD chip with this PCI device id ("515e") to older drivers, none of which computes."""
    return device_id.lower() in _refused()


def kernel_knows(name: str, release: str) -> bool | None:
    """Whether an upstream kernel release has the compute path of a target; None where no evidence decides.

    A distribution kernel may carry it by a backport, so False is a hint and never proof.
    """
    target, have = gfx_target(name), numbers(release)[:2]
    if target is None or len(have) < 2:
        return None
    if target.kernel_present is not None and have >= numbers(target.kernel_present):
        return True
    if target.kernel_absent is not None and have <= numbers(target.kernel_absent):
        return False
    return None
