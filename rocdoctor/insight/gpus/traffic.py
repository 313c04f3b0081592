"""What moves over the links of a GPU: rates between two looks, in words, and why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rocdoctor.model.evidence import Fact, Known, Unknown, value_or
from rocdoctor.model.facts import Gpu

_STEPS = (("TB", 1e9), ("GB", 1e6), ("MB", 1e3))


class Counted(Protocol):
    """One look at a GPU: when (monotonic), and the counters of its XGMI links."""

    @property
    def at_s(self) -> float: ...
    @property
    def xgmi_read_kb(self) -> int | None: ...
    @property
    def xgmi_written_kb(self) -> int | None: ...


def amount(kb: float) -> str:
    """``567 KB``, ``1.2 GB``: decimal units, three digits."""
    for unit, size in _STEPS:
        if kb >= size:
            value = kb / size
            return f"{value:.0f} {unit}" if value >= 99.5 else f"{value:.1f} {unit}"
    return f"{kb:.0f} KB"


def xgmi_rates_kb_s(series: Sequence[Counted]) -> list[tuple[float, float] | None]:
    """(read, written) in KB/s between each look and the one before; None where either has no count.

    Counters that are lower than before began anew (a reset): that look has no rate.
    """
    rates: list[tuple[float, float] | None] = []
    for before, now in zip((None, *series), series, strict=False):
        rates.append(_rate(before, now) if before is not None else None)
    return rates


def _rate(before: Counted, now: Counted) -> tuple[float, float] | None:
    span_s = now.at_s - before.at_s
    counts = (before.xgmi_read_kb, now.xgmi_read_kb, before.xgmi_written_kb, now.xgmi_written_kb)
    if span_s <= 0 or any(one is None for one in counts):
        return None
    read_before, read, written_before, written = (one or 0 for one in counts)
    if read < read_before or written < written_before:
        return None
    return (read - read_before) / span_s, (written - written_before) / span_s


def pcie_words(gpu: Gpu) -> str:
    """``received 1.1 GB/s, sent 567 KB/s``, with what the source is known for; "" where nothing tells."""
    received, sent, both = gpu.traffic.pcie_received_kb_s, gpu.traffic.pcie_sent_kb_s, gpu.traffic.pcie_mbit_s
    told = [(name, one) for name, one in (("received", received), ("sent", sent)) if isinstance(one, Known)]
    if told:
        parts = [f"{name} {amount(one.value)}/s" for name, one in told]
        asked = told[0][1].source.question
        if asked.endswith("/pcie_bw"):  # packets times the size of the largest
            return "at most " + ", ".join(parts)
        return ", ".join(parts) + (" (in 20 ms)" if "nvidia-smi" in asked else "")
    return f"{both.value} Mb/s, both directions together" if isinstance(both, Known) else ""


def pcie_kb_s(gpu: Gpu) -> float | None:
    """All that moves over PCIe, both directions together."""
    traffic = gpu.traffic
    if isinstance(traffic.pcie_received_kb_s, Known) and isinstance(traffic.pcie_sent_kb_s, Known):
        return float(traffic.pcie_received_kb_s.value + traffic.pcie_sent_kb_s.value)
    both = value_or(traffic.pcie_mbit_s, None)
    return None if both is None else both * 125.0


def no_pcie(gpu: Gpu) -> Unknown | None:
    """Why it is not known what moves over PCIe; None where it is."""
    return _why(gpu.traffic.pcie_mbit_s, gpu.traffic.pcie_received_kb_s, gpu.traffic.pcie_sent_kb_s)


def no_xgmi(gpu: Gpu) -> Unknown | None:
    """Why it is not known what moves over XGMI; None where it is."""
    return _why(gpu.traffic.xgmi_read_kb, gpu.traffic.xgmi_written_kb)


def _why(*facts: Fact[int]) -> Unknown | None:
    if any(isinstance(one, Known) for one in facts):
        return None
    unknown = [one for one in facts if isinstance(one, Unknown)]
    return next((one for one in unknown if one.reason != "not-asked"), unknown[0])
