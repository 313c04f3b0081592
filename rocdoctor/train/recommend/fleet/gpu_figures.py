"""The GPU of a specification: memory, peak rates and links, from the profiles."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rocdoctor.knowledge.lookup import GpuProfile, pcie_gb_s, profiles_by_name
from rocdoctor.train.recommend.fleet.trials import Trial, read_trials

GIB = float(2**30)


@dataclass(frozen=True, slots=True)
class GpuFigures:
    """One GPU device. Rates are peaks: FLOP/s dense, bytes/s; None where no table has them.

    ``board_w`` is the part's board power, ``power_share`` the limit over it where the name tells one, else 1.
    ``flash``: frameworks have an attention kernel for it that keeps no scores. ``local_link`` is bytes/s that one GPU
    sends to its peers in the node, ``fabric`` says over what, ``island`` how many GPUs it joins (the others are
    reached over ``host_link``), ``domain`` how many it joins over nodes (at least a node's), ``mesh`` that each pair of
    them has links of its own. ``measured`` is the rate of matrix products that was measured on it, in FLOP/s,
    ``trials`` the plans that were tried on it.
    """

    name: str
    profile_id: str | None
    generation: str
    memory_bytes: float
    usable_bytes: float
    peak: float | None
    peak_fp8: float | None
    bandwidth: float | None
    power_share: float
    local_link: float
    fabric: str
    node_gpus: int
    nic: float
    host_link: float
    flash: bool
    island: int
    mesh: bool
    domain: int
    measured: float | None = None
    board_w: float | None = None
    trials: tuple[Trial, ...] = ()


# Family of the profiles -> generation of the efficiency table.
_GENERATIONS = {
    "amd-cdna1": "cdna1",
    "amd-cdna2": "cdna2",
    "amd-cdna3": "cdna3",
    "amd-cdna4": "cdna4",
    "amd-gcn5": "gcn5",
    "amd-rdna1": "rdna",
    "amd-rdna2": "rdna",
    "amd-rdna3": "rdna",
    "amd-rdna4": "rdna",
    "amd-apu": "rdna",
    "nvidia-volta": "volta",
    "nvidia-ampere": "ampere",
    "nvidia-ada": "ada",
    "nvidia-hopper": "hopper",
    "nvidia-blackwell": "blackwell",
}


# Families for which neither FlashAttention nor AOTriton was built.
_NO_FLASH = {"nvidia-volta", "amd-gcn5", "amd-cdna1", "amd-rdna1", "amd-rdna2"}


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 < number < 1e18 else None


def _profile(name: str, memory_gib: float | None) -> GpuProfile | None:
    """The part that a name means: the nearest memory size, and a module with links where several GPUs work together."""
    text = re.sub(r"[-_()]+", " ", name)
    # Short names of server cards are no words of their own in prose; here they can be nothing else.
    found = profiles_by_name(name) or profiles_by_name(text) or profiles_by_name(f"nvidia {text}")
    if not found:
        return None
    wired = [one for one in found if one.nvlink_gb_s_total is not None or (one.xgmi and one.xgmi.links)]
    single = re.search(r"pcie|nvl\b", text, re.IGNORECASE) is not None
    pool = tuple(wired) if wired and not single else found

    def distance(one: GpuProfile) -> tuple[float, int]:
        sizes = one.vram_gib.values if one.vram_gib else ()
        wanted = memory_gib or 0.0
        return (min((abs(size - wanted) for size in sizes), default=999.0) if wanted else 0.0, found.index(one))

    return min(pool, key=distance)


def _usable_share(profile: GpuProfile | None, memory_bytes: float) -> float:
    """Share of the nominal memory that programs can have.

    Drivers report 191.98 of 192 GiB on MI300X, 79.6 of 80 on H100, 39.6 of 40 on A100; cards with ECC in their GDDR
    lose a sixteenth (22.5 of 24 GiB on A10G, 44.99 of 48 on L40S); desktop cards a few hundred MiB.
    """
    if profile is None:
        return 0.98
    if profile.vendor == "amd":
        return 0.99 if not profile.shared_memory else 0.9
    if profile.id in {"a10", "a10g", "l4", "l40s", "a6000", "rtx-6000-ada", "a40", "l20", "l40"}:
        return 0.9375
    return 0.985 if memory_bytes > 30 * GIB else 0.975


def _rate(profile: GpuProfile | None, name: str, *dtypes: str) -> float | None:
    """FLOP/s of the first type that is listed; of values in the order of the part's names, that of this name."""
    for dtype in dtypes:
        figure = profile.peak_tflops(dtype) if profile else None
        if profile is not None and figure is not None:
            if figure.per_device is not None:
                return figure.per_device * 1e12
            at = name_of(profile, name) if len(figure.values) == len(profile.names) else None
            return (max(figure.values) if at is None else figure.values[at]) * 1e12
    return None


def name_of(profile: GpuProfile, name: str) -> int | None:
    """The place of a name among those of a part that comes in several sizes (as many as its compute units list)."""
    units = profile.compute_units
    if units is None or not 1 < len(units.values) == len(profile.names):
        return None
    words = set(re.split(r"[^a-z0-9]+", name.lower()))
    named = [n for n, one in enumerate(profile.names) if _own_words(one) <= words]
    return named[0] if len(named) == 1 else None


def _own_words(name: str) -> set[str]:
    return set(re.split(r"[^a-z0-9]+", name.lower())) - {"amd", "radeon", "graphics"}


def _peak(profile: GpuProfile | None, name: str, why: list[str]) -> float | None:
    """Dense 16-bit peak: the listed one, else twice the vector rate in fp32.

    Twice is what GeForce 30 to 50 (with fp32 sums) and RDNA 2 to 3 have; RDNA 4 has more.
    """
    if profile is None:
        return None
    listed = _rate(profile, name, "bf16", "fp16")
    vector = (profile.tflops or {}).get("fp32_vector")
    if listed is not None or vector is None:
        return listed
    why.append(f"16-bit peak of {profile.names[0]} is not listed, so the plan uses twice its fp32 rate")
    return 2e12 * (vector.per_device or vector.values[0])


def _local_link(profile: GpuProfile | None) -> tuple[float, str]:
    if profile is not None and profile.nvlink_gb_s_total is not None:
        return profile.nvlink_gb_s_total.values[0] / 2 * 1e9, "nvlink"
    xgmi = profile.xgmi if profile else None
    if xgmi is not None and xgmi.links is not None and xgmi.gb_s_per_link is not None:
        return xgmi.links.values[0] * xgmi.gb_s_per_link.values[0] * 1e9, "xgmi"
    return _host_link(profile), "pcie"


def _domain(profile: GpuProfile | None) -> int:
    """GPUs that NVLink joins beyond a node; 0 where it ends there."""
    figure = profile.nvlink_domain if profile else None
    return int(figure.values[0]) if figure else 0


def _host_link(profile: GpuProfile | None) -> float:
    pcie = profile.pcie if profile else None
    rate = pcie_gb_s(pcie.speed_gt_s, pcie.width) if pcie is not None else None
    return (rate or 31.5) * 1e9


def _power_share(name: str, profile: GpuProfile | None) -> float:
    limit = re.search(r"(?<![a-z0-9])(\d{2,4})\s?w(?![a-z0-9])", name, re.IGNORECASE)
    board = profile.tbp_w.values[0] if profile and profile.tbp_w else None
    if limit is None or board is None:
        return 1.0
    return min(1.2, max(0.2, int(limit.group(1)) / board))


def read_gpu(raw: Any, nics: Mapping[str, float], why: list[str]) -> GpuFigures:
    """The GPU of ``gpu:`` (a name, or name, mem_gib, peak_tflops, bandwidth_gb_s, nic_gb_s); raises nothing.

    More fields that a plan for a machine gives: usable_gib, link_gb_s, fabric, island, mesh, host_gb_s, per_node,
    nvlink_domain, power_share, flash, measured_tflops, trials, and share, the part of a partitioned card. ``nics`` has
    bytes/s of the network of one GPU by generation. What is derived is named in ``why``.
    """
    table: Mapping[str, Any] = raw if isinstance(raw, Mapping) else {"name": raw} if raw else {}
    name = str(table.get("name") or "not named")[:200]
    given = next((n for key in ("mem_gib", "memory_gib", "vram_gib") if (n := _number(table.get(key)))), None)
    sized = re.search(r"(?<![0-9])(\d{1,3})\s?gi?b", name, re.IGNORECASE)
    printed = float(sized.group(1)) if sized and int(sized.group(1)) else None
    profile = _profile(name, given or printed)
    listed = profile.vram_gib if profile else None
    part = (listed.per_device or listed.values[0]) if listed else None
    # A superchip's name may print the memory of its processor.
    memory = given or (printed if printed and (part is None or printed < 1.5 * part) else part)
    if memory is None:
        memory = 80.0
        why.append(f"memory of the GPU '{name}' is not known: 80 GiB assumed; give gpu.mem_gib")
    generation = _GENERATIONS.get(profile.family, "other") if profile else "other"
    usable = _number(table.get("usable_gib"))
    usable_bytes = usable * GIB if usable else memory * GIB * _usable_share(profile, memory * GIB)
    peak = _number(table.get("peak_tflops")) or _number(table.get("bf16_tflops"))
    bandwidth = _number(table.get("bandwidth_gb_s"))
    listed_bandwidth = profile.mem_bandwidth_gb_s if profile else None
    part_of = min(1.0, _number(table.get("share")) or 1.0)
    if bandwidth is None and listed_bandwidth is not None:
        bandwidth = (listed_bandwidth.per_device or listed_bandwidth.values[0]) * part_of
        # Boards with HBM2e in place of HBM3 (named so) reach about 2.4 TB/s on five stacks.
        if re.search(r"hbm2e", name, re.IGNORECASE) and generation == "hopper":
            bandwidth = min(bandwidth, 2400.0)
    link, fabric = _local_link(profile)
    given_link = _number(table.get("link_gb_s"))
    if table.get("fabric") in ("xgmi", "nvlink", "pcie"):
        fabric = str(table["fabric"])
    nic, host = _number(table.get("nic_gb_s")), _number(table.get("host_gb_s"))
    node_gpus = int(_number(table.get("per_node")) or 8)
    power, measured = _number(table.get("power_share")), _number(table.get("measured_tflops"))
    listed_peak, fp8 = (None if peak else _peak(profile, name, why)), _rate(profile, name, "fp8")
    flash = table.get("flash")
    return GpuFigures(
        name=name,
        profile_id=profile.id if profile else None,
        generation=generation,
        memory_bytes=memory * GIB,
        usable_bytes=usable_bytes,
        peak=peak * 1e12 if peak else listed_peak * part_of if listed_peak else None,
        peak_fp8=fp8 * part_of if fp8 else None,
        bandwidth=bandwidth * 1e9 if bandwidth else None,
        power_share=min(1.2, power) if power else _power_share(name, profile),
        local_link=given_link * 1e9 if given_link else link,
        fabric=fabric,
        node_gpus=node_gpus,
        nic=(nic * 1e9) if nic else nics.get(generation, nics.get("other", 12.5e9)),
        host_link=host * 1e9 if host else _host_link(profile),
        flash=flash if isinstance(flash, bool) else profile is None or profile.family not in _NO_FLASH,
        island=int(_number(table.get("island")) or node_gpus),
        mesh=fabric == "xgmi" and table.get("mesh") is not False,
        domain=max(node_gpus, int(_number(table.get("nvlink_domain")) or _domain(profile))),
        measured=measured * 1e12 if measured else None,
        board_w=profile.tbp_w.values[0] if profile and profile.tbp_w else None,
        trials=read_trials(table.get("trials")),
    )
