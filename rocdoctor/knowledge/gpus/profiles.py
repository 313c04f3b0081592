"""GPU profiles: what a card is known to be, each figure with its source.

A figure whose source is secondary or derived is for display and estimates; a check may judge by it never.
Two-die modules are two GPUs: ``per_device`` of a figure is what one of them has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from rocdoctor.knowledge.load import Kind, Table, load_profile, profile_texts, words


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its source: ``values`` has several entries where variants of the part differ."""

    values: tuple[float, ...]
    source: str
    kind: Kind
    per_die: float | None = None
    uncertain: bool = False

    @property
    def value(self) -> float | None:
        """The one value of the whole card, or None where variants differ."""
        return self.values[0] if len(self.values) == 1 else None

    @property
    def per_device(self) -> float | None:
        """The value of one GPU device (a die of a two-die module)."""
        return self.per_die if self.per_die is not None else self.value


@dataclass(frozen=True, slots=True)
class PciId:
    """A PCI device id in four lower-case hex digits; ``revision`` None means any."""

    device: str
    revision: str | None
    source: str


@dataclass(frozen=True, slots=True)
class PcieSpec:
    """The PCIe interface of a part: GT/s and lanes."""

    speed_gt_s: float
    width: int
    source: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class XgmiSpec:
    """XGMI links of a part; ``gb_s_per_link`` is one direction of one link."""

    links: Figure | None
    speed_gt_s: Figure | None
    width: Figure | None
    gb_s_per_link: Figure | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class OverrideAdvice:
    """``advice``: not-needed, never, risky or last-resort. ``value`` is only set for the last two."""

    value: str | None
    advice: str
    note: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RocmSupport:
    """ROCm releases that list the part: None where it was not verified. ``listed`` False: in no list that was read."""

    listed: bool | None
    first: str | None
    first_or_earlier: bool
    last: str | None
    last_is_current: bool
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WheelSupport:
    """Whether official torch wheels carry code for the part, and since which torch release."""

    native: bool
    first_torch: str | None
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GpuProfile:
    """A GPU part. Figures are of the whole card; ``dies`` 2 means that the card is two GPU devices.

    ``nvlink_domain``: GPUs that NVLink joins where those are more than a node's (a rack of NVL72).
    """

    id: str
    family: str
    vendor: str
    arch: str
    names: tuple[str, ...]
    aliases: tuple[str, ...]
    pci: tuple[PciId, ...]
    gfx: str | None = None
    compute_capability: str | None = None
    dies: int = 1
    integrated: bool = False
    shared_memory: bool = False
    compute_units: Figure | None = None
    vram_gib: Figure | None = None
    mem_bandwidth_gb_s: Figure | None = None
    tflops: Mapping[str, Figure] | None = None
    tbp_w: Figure | None = None
    nvlink_gb_s_total: Figure | None = None
    nvlink_domain: Figure | None = None
    pcie: PcieSpec | None = None
    xgmi: XgmiSpec | None = None
    temp_limits_c: Mapping[str, tuple[float, float]] | None = None
    rocm: RocmSupport | None = None
    torch_wheel: WheelSupport | None = None
    override: OverrideAdvice | None = None
    compute_partitions: tuple[str, ...] = ()
    memory_partitions: Mapping[str, tuple[str, ...]] | None = None
    note: str | None = None

    def peak_tflops(self, dtype: str) -> Figure | None:
        """Dense peak for ``fp32``, ``tf32``, ``bf16``, ``fp16`` or ``fp8``: matrix units first, else vector rate."""
        table = self.tflops or {}
        return table.get(f"{dtype}_matrix") or table.get(f"{dtype}_vector")


def _figure(raw: Any, kinds: Mapping[str, Kind]) -> Figure | None:
    if raw is None:
        return None
    value = raw["v"]
    values = tuple(float(one) for one in value) if isinstance(value, list) else (float(value),)
    per_die = raw.get("per_die")
    return Figure(
        values, raw["s"], kinds[raw["s"]], float(per_die) if per_die is not None else None, bool(raw.get("uncertain"))
    )


def _xgmi(raw: Any, kinds: Mapping[str, Kind]) -> XgmiSpec | None:
    if raw is None:
        return None
    return XgmiSpec(
        links=_figure(raw.get("links"), kinds),
        speed_gt_s=_figure(raw.get("speed_gt_s"), kinds),
        width=_figure(raw.get("width"), kinds),
        gb_s_per_link=_figure(raw.get("gb_s_per_link"), kinds),
        note=raw.get("note"),
    )


def _rocm(raw: Any) -> RocmSupport | None:
    if raw is None:
        return None
    first, last = raw.get("first") or {}, raw.get("last") or {}
    sources = tuple(one["s"] for one in (first, last) if one)
    return RocmSupport(
        raw.get("listed"),
        first.get("v"),
        bool(first.get("or_earlier")),
        last.get("v"),
        bool(last.get("current")),
        sources,
    )


def _profile(raw: Any, table: Table, kinds: Mapping[str, Kind]) -> GpuProfile:
    xgmi, pcie, wheel = raw.get("xgmi"), raw.get("pcie"), raw.get("torch_wheel")
    override, partitions, limits = raw.get("override"), raw.get("partitions") or {}, raw.get("temp_limits_c")
    return GpuProfile(
        id=raw["id"],
        family=table["family"],
        vendor=table["vendor"],
        arch=raw["arch"],
        names=words(raw["names"]),
        aliases=words(raw["aliases"]),
        pci=tuple(PciId(one["device"], one.get("revision"), one["s"]) for one in raw["pci"]),
        gfx=raw["gfx"]["v"] if "gfx" in raw else None,
        compute_capability=raw["compute_capability"]["v"] if "compute_capability" in raw else None,
        dies=raw.get("dies", 1),
        integrated=raw.get("integrated", False),
        shared_memory=raw.get("shared_memory", False),
        compute_units=_figure(raw.get("compute_units"), kinds),
        vram_gib=_figure(raw.get("vram_gib"), kinds),
        mem_bandwidth_gb_s=_figure(raw.get("mem_bandwidth_gb_s"), kinds),
        tflops={name: one for name, value in raw.get("tflops", {}).items() if (one := _figure(value, kinds))},
        tbp_w=_figure(raw.get("tbp_w"), kinds),
        nvlink_gb_s_total=_figure(raw.get("nvlink_gb_s_total"), kinds),
        nvlink_domain=_figure(raw.get("nvlink_domain"), kinds),
        pcie=PcieSpec(float(pcie["speed_gt_s"]), pcie["width"], pcie["s"], kinds[pcie["s"]]) if pcie else None,
        xgmi=_xgmi(xgmi, kinds),
        temp_limits_c={name: (float(v[0]), float(v[1])) for name, v in limits["v"].items()} if limits else None,
        rocm=_rocm(raw.get("rocm")),
        torch_wheel=WheelSupport(wheel["native"], wheel.get("first_torch"), words(wheel["s"])) if wheel else None,
        override=OverrideAdvice(override["value"], override["advice"], override["note"], words(override["s"]))
        if override
        else None,
        compute_partitions=words(partitions.get("compute")),
        memory_partitions={mode: words(nps) for mode, nps in partitions["memory"].items()} if partitions else None,
        note=raw.get("note"),
    )


@cache
def family_profiles(family: str) -> tuple[GpuProfile, ...]:
    """The profiles of one family file."""
    table = load_profile(family)
    kinds: dict[str, Kind] = {key: one["kind"] for key, one in table["sources"].items()}
    return tuple(_profile(raw, table, kinds) for raw in table["gpus"])


def families() -> tuple[str, ...]:
    """The names of all families."""
    return tuple(name for name, _ in profile_texts())


def all_profiles() -> tuple[GpuProfile, ...]:
    """Every profile; parses every family, so only for searches by name and for lists."""
    return tuple(profile for family in families() for profile in family_profiles(family))


def _hex(value: int | str, digits: int) -> str:
    text = f"{value:x}" if isinstance(value, int) else value.strip().lower().removeprefix("0x")
    return text.rjust(digits, "0")


_VENDORS = {"1002": "amd", "10de": "nvidia", "8086": "intel"}


@cache
def _by_device(vendor: str, device: str) -> tuple[GpuProfile, ...]:
    found: list[GpuProfile] = []
    for family, text in profile_texts():
        # Only the families whose text has the id are parsed.
        if family.startswith(f"{vendor}-") and device in text:
            found += [one for one in family_profiles(family) if any(pci.device == device for pci in one.pci)]
    return tuple(found)


def gpu_candidates(
    vendor: str,
    device_id: int | str,
    revision: int | str | None = None,
    compute_units: int | None = None,
    vram_gib: float | None = None,
) -> tuple[GpuProfile, ...]:
    """Every part that a PCI id may stand for, narrowed by what is known of the device.

    ``vendor`` is amd, nvidia or a PCI vendor id; ids are numbers or hex text. ``compute_units`` and ``vram_gib`` are
    those of one GPU device; they only tell apart parts that share an id (MI250X and MI250, MI60 and the two MI50),
    since partitions and harvested parts show fewer. A revision that no entry names gives no part.
    """
    device = _hex(device_id, 4)
    found = _by_device(_VENDORS.get(_hex(vendor, 4), vendor.lower()), device)
    if revision is not None:
        wanted = _hex(revision, 2)
        exact = [p for p in found if any(i.device == device and i.revision == wanted for i in p.pci)]
        loose = [p for p in found if any(i.device == device and i.revision is None for i in p.pci)]
        found = tuple(exact or loose)
    if len(found) > 1 and compute_units is not None:
        same = tuple(p for p in found if p.compute_units is None or p.compute_units.per_device in (None, compute_units))
        found = same or found
    if len(found) > 1 and vram_gib is not None:
        found = tuple(p for p in found if _fits(p, vram_gib)) or found
    return found


def _fits(profile: GpuProfile, vram_gib: float) -> bool:
    figure = profile.vram_gib
    if figure is None:
        return True
    sizes = (figure.per_die,) if figure.per_die is not None else figure.values
    # Drivers report a little less than the nominal size.
    return any(0.9 * size <= vram_gib <= 1.03 * size for size in sizes)


def gpu_profile(
    vendor: str,
    device_id: int | str,
    revision: int | str | None = None,
    compute_units: int | None = None,
    vram_gib: float | None = None,
) -> GpuProfile | None:
    """The part with this PCI id, or None when none or more than one fits (see ``gpu_candidates``)."""
    found = gpu_candidates(vendor, device_id, revision, compute_units, vram_gib)
    return found[0] if len(found) == 1 else None
