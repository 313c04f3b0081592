"""Which measured figures are far too low, and the likely reason. Pure: figures and facts in, findings out.

Two measures count, and nothing else: a share of the peak for which a source says what is normal, and equal devices in
the same machine (less than half of what the others reach at the median). The CPU is never judged: other
programs run there, and nobody publishes what two threads of it should reach.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.train.smoke.figures.expected import PER_DEVICE, gpu_of, link_between
from rocdoctor.train.smoke.figures.figure_math import usable
from rocdoctor.train.smoke.figures.figure_words import title, with_unit

LOW = 0.5
# A rate that heat took away over minutes: a tenth is more than a busy machine's own noise.
_DROP = 0.9
# Most causes slow several figures of a device: they are one finding.
_CLOCK_LOW = 0.5
_LINK_LOW = 0.75
_CAP_LOW = 0.9
_ORDER = ("host_", "device_to_host", "device_to_device", "memory_", "matmul_", "train_", "soak_")


@dataclass(frozen=True, slots=True)
class LowFigure:
    """A finding: ``message`` states the values, ``reason`` what was seen that would explain it (empty: nothing was).

    ``cause`` is the id of a root cause, or empty; ``figures`` names all low figures of this device or pair.
    """

    gpu: int
    pci: str | None
    figures: tuple[str, ...]
    message: str
    reason: str = ""
    cause: str = ""
    peer: int | None = None

    @property
    def words(self) -> str:
        """Message and reason."""
        return f"{self.message} {self.reason or 'Nothing seen during the test shows why.'}"


Completed = Mapping[str, Sequence[Mapping[str, Any]]]


def low_figures(figures: Completed, machine: Machine) -> tuple[LowFigure, ...]:
    """The findings, one a device or pair; ``figures`` are those of ``with_expected``."""
    by_place: dict[tuple[int, int | None], list[tuple[str, Mapping[str, Any], str]]] = {}
    for name, entries in figures.items():
        for entry in entries:
            if not isinstance(entry.get("gpu"), int) or not usable(entry):
                continue
            words = _low(name, entry, figures, machine)
            if words:
                by_place.setdefault((entry["gpu"], entry.get("peer")), []).append((name, entry, words))
    return tuple(
        [_finding(place, low, figures, machine) for place, low in sorted(by_place.items(), key=_place_order)]
        + _soaked(figures)
    )


def outliers(entries: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], str]]:
    """Devices that reach less than half of the equal ones, in words; for display on any machine, the CPU too."""
    return [
        (one, f"{_who(one)} reaches {one['of_others']:.0%} of the median of the others")
        for one in entries
        if isinstance(one.get("of_others"), float | int) and one["of_others"] < LOW
    ]


def _who(entry: Mapping[str, Any]) -> str:
    return f"rank {entry.get('rank')}" if entry.get("gpu") is None else f"gpu {entry['gpu']}"


def _place_order(item: tuple[tuple[int, int | None], Any]) -> tuple[int, int]:
    (gpu, peer), _ = item
    return gpu, -1 if peer is None else peer


def _low(name: str, entry: Mapping[str, Any], figures: Completed, machine: Machine) -> str:
    """What is low about an entry, as the end of a sentence; empty when nothing is."""
    share, normal, low = entry.get("share"), entry.get("normal"), entry.get("low_below")
    if isinstance(normal, float | int) and isinstance(low, float | int) and _below(share, low):
        peak = with_unit(name, float(entry["expected"]))
        return f"{share:.0%} of the {peak} that the path could carry, where {normal:.0%} is normal"
    others = entry.get("of_others")
    if name.startswith(PER_DEVICE) and isinstance(others, float | int) and others < LOW:
        return f"{others:.0%} of the median of the identical GPUs here"
    if name == "device_to_device_gb_s":
        return _pair_low(entry, figures, machine)
    return ""


def _pair_low(entry: Mapping[str, Any], figures: Completed, machine: Machine) -> str:
    """A pair beside the pairs whose links are stated to be the same; unlike links are no measure of each other."""
    kind = _link_kind(entry, machine)
    if kind is None:
        return ""
    same = [
        float(one["value"])
        for one in figures.get("device_to_device_gb_s", ())
        if one is not entry and usable(one) and _link_kind(one, machine) == kind
    ]
    if len(same) < 2:
        return ""
    share = float(entry["value"]) / statistics.median(same)
    return f"{share:.0%} of the median of the other pairs with the same link" if share < LOW else ""


def _link_kind(entry: Mapping[str, Any], machine: Machine) -> object:
    one, two = entry.get("gpu"), entry.get("peer")
    link = link_between(machine, one, two) if isinstance(one, int) and isinstance(two, int) else None
    if link is None or link.type not in ("xgmi", "nvlink"):
        return None
    return (link.type, value_or(link.weight, None), value_or(link.hops, None), value_or(link.count, None))


def _finding(
    place: tuple[int, int | None], low: list[tuple[str, Mapping[str, Any], str]], figures: Completed, machine: Machine
) -> LowFigure:
    low.sort(key=lambda one: next((at for at, word in enumerate(_ORDER) if one[0].startswith(word)), len(_ORDER)))
    name, entry, words = low[0]
    gpu, peer = place
    to = f" to gpu {peer} ({entry.get('peer_pci')})" if peer is not None else ""
    more = f" (also low: {'; '.join(title(one) for one, _, _ in low[1:])})" if len(low) > 1 else ""
    value = with_unit(name, float(entry["value"]))
    message = f"gpu {gpu} ({entry.get('pci')}){to} reaches {value} in '{title(name)}', {words}{more}."
    reason, cause = reason_of(name, entry, figures, machine)
    return LowFigure(gpu, entry.get("pci"), tuple(one for one, _, _ in low), message, reason, cause, peer)


def reason_of(name: str, entry: Mapping[str, Any], figures: Completed, machine: Machine) -> tuple[str, str]:
    """The likely reason and its root cause, from what was seen meanwhile; empty when nothing explains it."""
    busy = _of(figures, "busy_before_percent", entry)
    if busy is not None:
        return f"The GPU was {busy['value']:g} % busy before the measurement: something else uses it.", ""
    gpu = gpu_of(entry, machine)
    if name.startswith(("host_", "device_to_")) and entry.get("link") not in ("xgmi", "nvlink"):
        found = _link_reason(entry, figures)
        if found:
            return found, "pcie-link-degraded"
    slowed = _of(figures, "slowed", entry)
    if slowed is not None and slowed.get("reasons"):
        return f"Meanwhile its clocks were held down: {', '.join(slowed['reasons'])}.", "thermal-or-power-limit"
    clock = _of(figures, "clock_mhz", entry)
    if name.startswith(("matmul_", "train_", "memory_", "soak_")):
        cap = _cap_reason(gpu)
        if cap:
            return cap, "thermal-or-power-limit"
        if clock is not None and _below(clock.get("share"), _CLOCK_LOW):
            level = value_or(gpu.performance_level, None) if gpu is not None else None
            held = f"; its performance level is {level}" if level not in (None, "auto") else ""
            return f"Its clock stayed at {clock['value']:g} of {clock['expected']:g} MHz{held}.", ""
    return _numa_reason(name, entry, gpu, machine), ""


def _link_reason(entry: Mapping[str, Any], figures: Completed) -> str:
    link = _of(figures, "pcie_link_gb_s", entry)
    if link is None or not _below(link.get("share"), _LINK_LOW):
        return ""
    return f"Under load its PCIe link ran at {link['value']:g} of the {link['expected']:g} GB/s that both ends can do."


def _cap_reason(gpu: Gpu | None) -> str:
    if gpu is None:
        return ""
    cap, default = value_or(gpu.power.cap_w, None), value_or(gpu.power.cap_default_w, None)
    if cap and default and cap < _CAP_LOW * default:
        return f"Its power cap is {cap:g} W, the default {default:g} W."
    return ""


def _numa_reason(name: str, entry: Mapping[str, Any], gpu: Gpu | None, machine: Machine) -> str:
    """Whether the copying process ran on another node than the GPU's."""
    cpu = entry.get("cpu")
    node = value_or(gpu.numa_node, None) if gpu is not None else None
    if not name.startswith(("host_", "device_to_host")) or not isinstance(cpu, int) or node is None:
        return ""
    ran = next((one.node for one in machine.numa_nodes if _holds(value_or(one.cpulist, ""), cpu)), None)
    if ran is None or ran == node:
        return ""
    return f"The copying process ran on NUMA node {ran}, the GPU belongs to node {node}: bind ranks to their node."


def _holds(cpulist: str, cpu: int) -> bool:
    for part in cpulist.split(","):
        first, _, last = part.strip().partition("-")
        low, high = whole_number(first), whole_number(last)
        if low is not None and low <= cpu <= (low if high is None else high):
            return True
    return False


def _below(share: Any, limit: float) -> bool:
    return isinstance(share, float | int) and share < limit


def _of(figures: Completed, name: str, entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The entry of another figure for the same device."""
    return next((one for one in figures.get(name, ()) if one.get("gpu") == entry.get("gpu")), None)


def _soaked(figures: Completed) -> list[LowFigure]:
    """Sustained load during which heat or a signal from outside took clock and rate away."""
    found = []
    for entry in figures.get("soak_tflops", ()):
        drop, reasons = entry.get("of_first"), entry.get("slowed")
        if not isinstance(entry.get("gpu"), int) or not reasons or not _below(drop, _DROP):
            continue
        clocks = ""
        if entry.get("clock_first_mhz") and entry.get("clock_last_mhz"):
            clocks = f", its clock from {entry['clock_first_mhz']:g} to {entry['clock_last_mhz']:g} MHz"
        heat = f" at {entry['temp_max_c']:g} °C" if entry.get("temp_max_c") else ""
        message = (
            f"Under sustained load gpu {entry['gpu']} ({entry.get('pci')}) fell from {entry['first']:g} to "
            f"{entry['value']:g} TFLOPS{clocks}{heat}."
        )
        reason = f"The driver gave {', '.join(reasons)} as the reason."
        found.append(
            LowFigure(entry["gpu"], entry.get("pci"), ("soak_tflops",), message, reason, "thermal-or-power-limit")
        )
    return found
