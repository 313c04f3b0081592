"""From times of repetitions to figures with units. Pure.

A figure is a list of entries, one a device (``gpu``: its number, None on the CPU), a pair (``peer``) or a size
(``bytes``, ``ranks``). Its ``value`` is the median of the repetitions; ``spread`` is the distance between the fastest
and the slowest of them as a share of it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Entry = dict[str, Any]
Figures = dict[str, list[Entry]]
TYPES = {"float32": "fp32", "tf32": "tf32", "float16": "fp16", "bfloat16": "bf16", "float8": "fp8"}
# name of the measurement -> figure; a rate counts work in 10^12 operations or 10^9 bytes a second
_RATES = {
    **{f"matmul_{kind}": (f"matmul_{short}_tflops", 1e12) for kind, short in TYPES.items()},
    "memory_copy": ("memory_copy_gb_s", 1e9),
    "memory_triad": ("memory_triad_gb_s", 1e9),
    "host_to_device_pinned": ("host_to_device_pinned_gb_s", 1e9),
    "host_to_device_pageable": ("host_to_device_pageable_gb_s", 1e9),
    "device_to_host_pinned": ("device_to_host_pinned_gb_s", 1e9),
    "device_to_host_pageable": ("device_to_host_pageable_gb_s", 1e9),
    "device_to_device": ("device_to_device_gb_s", 1e9),
}
_TIMES = {
    "host_to_device_latency": "host_to_device_latency_us",
    "device_to_device_latency": "device_to_device_latency_us",
    "op_start": "op_start_us",
    "op_round_trip": "op_round_trip_us",
}
_KEPT = ("bytes", "size", "cpu", "peer_access")


@dataclass(frozen=True, slots=True)
class Measured:
    """What one rank measured in one part: ``gpu`` is torch's number of its device, None on the CPU."""

    rank: int
    gpu: int | None
    pci: str | None
    records: Sequence[Mapping[str, Any]] = field(default_factory=tuple)


def bus_bandwidth(size_bytes: float, ranks: int, seconds: float) -> float:
    """Bus bandwidth of an all-reduce in bytes/s: size / time x 2 (n - 1) / n (rccl-tests, doc/PERFORMANCE.md).

    It is what each rank's link has to carry, so that it compares with the link's rate for any number of ranks.
    """
    return size_bytes / seconds * 2 * (ranks - 1) / ranks


def model_flops_rate(tokens_per_s: float, token_flops: float) -> float:
    """Operations a second that the model needs (6 N + 12 L h s a token), whatever was recomputed."""
    return tokens_per_s * token_flops


def token_flops(parameters: float, layers: int, width: int, sequence: int) -> float:
    """Operations of one token, forward and backward: 6 N + 12 L h s (PaLM, appendix B)."""
    return 6.0 * parameters + 12.0 * layers * width * sequence


def median_entry(values: Sequence[float]) -> Entry:
    """``value`` and ``spread`` of repetitions, rounded to what they can tell."""
    middle = statistics.median(values)
    return {
        "value": _short(middle),
        "expected": None,
        "share": None,
        "spread": _short((max(values) - min(values)) / middle, 2) if middle else None,
    }


def _short(value: float, digits: int = 4) -> float:
    return float(f"{value:.{digits}g}")


def figures_of(measured: Iterable[Measured]) -> Figures:
    """All figures of what the ranks measured; a record without usable times gives none."""
    found: Figures = {}
    steps: dict[int, list[tuple[list[float], Mapping[str, Any]]]] = {}
    reduced: dict[int, list[list[float]]] = {}
    ranks = list(measured)
    for one in ranks:
        for record in one.records:
            given = record.get("seconds") or ()
            seconds = [float(value) for value in given if isinstance(value, int | float) and value > 0]
            if not seconds:
                continue
            name = str(record.get("name"))
            if name == "all_reduce":
                reduced.setdefault(int(record["bytes"]), []).append(seconds)
            elif name == "scaling":
                steps.setdefault(int(record["ranks"]), []).append((seconds, record))
            else:
                for figure, entry in _single(name, seconds, record):
                    found.setdefault(figure, []).append({**_who(one, record, ranks), **entry})
    if len(ranks) > 1:
        _all_reduce(found, reduced, len(ranks))
    _scaling(found, steps)
    _against_products(found)
    for entries in found.values():
        entries.sort(key=lambda entry: (entry.get("rank") or 0, entry.get("peer") or 0, entry.get("ranks") or 0))
    return found


def _who(one: Measured, record: Mapping[str, Any], ranks: Sequence[Measured]) -> Entry:
    """Whose figure it is. Of a copy between devices it is the source's, whoever measured it."""
    if "source" not in record:
        return {"gpu": one.gpu, "rank": one.rank, "pci": one.pci}
    by_number = {other.gpu: other for other in reversed(ranks)}
    source, target = record["source"], record["target"]
    owner, other = by_number.get(source), by_number.get(target)
    return {
        "gpu": source,
        "peer": target,
        "rank": owner.rank if owner else None,
        "pci": owner.pci if owner else None,
        "peer_pci": other.pci if other else None,
    }


def _single(name: str, seconds: list[float], record: Mapping[str, Any]) -> list[tuple[str, Entry]]:
    kept = {key: record[key] for key in _KEPT if key in record}
    if name in _RATES:
        figure, unit = _RATES[name]
        return [(figure, {**median_entry([record["work"] / one / unit for one in seconds]), **kept})]
    if name in _TIMES:
        return [(_TIMES[name], {**median_entry([one * 1e6 for one in seconds]), **kept})]
    if name in ("training", "training_compiled"):
        rates = [record["tokens"] / one for one in seconds]
        more = {"dtype": TYPES.get(record["dtype"], record["dtype"]), "parameters": record.get("parameters")}
        flops = model_flops_rate(statistics.median(rates), record["token_flops"]) / 1e12
        words = "train" if name == "training" else "train_compiled"
        return [
            (f"{words}_tokens_per_s", {**median_entry(rates), **more}),
            (f"{words}_model_tflops", {**median_entry([flops]), **more}),
        ]
    if name == "compiling":
        return [("compile_s", median_entry(seconds))]
    return []


def _all_reduce(found: Figures, reduced: Mapping[int, Sequence[Sequence[float]]], ranks: int) -> None:
    """The time of a collective is the mean over ranks of their medians, as rccl-tests report it."""
    for size, all_seconds in sorted(reduced.items()):
        seconds = statistics.fmean(statistics.median(one) for one in all_seconds)
        about = {"gpu": None, "ranks": ranks, "bytes": size}
        rate = bus_bandwidth(size, ranks, seconds) / 1e9
        found.setdefault("all_reduce_bus_gb_s", []).append({**about, **median_entry([rate]), "spread": None})
        found.setdefault("all_reduce_us", []).append({**about, **median_entry([seconds * 1e6]), "spread": None})


def _scaling(found: Figures, steps: Mapping[int, Sequence[tuple[list[float], Mapping[str, Any]]]]) -> None:
    """Tokens a second of n ranks over n times those of one; a step is over when the slowest rank's is."""
    rates = {
        count: count * of[0][1]["tokens"] / max(statistics.median(seconds) for seconds, _ in of)
        for count, of in steps.items()
        if of
    }
    for count, rate in sorted(rates.items()):
        about = {"gpu": None, "ranks": count}
        found.setdefault("train_ddp_tokens_per_s", []).append({**about, **median_entry([rate]), "spread": None})
        if count > 1 and 1 in rates:
            entry = {**about, **median_entry([rate / (count * rates[1])]), "spread": None}
            found.setdefault("train_scaling", []).append(entry)


def _against_products(found: Figures) -> None:
    """How much of this device's own matrix rate the training step reaches; compiled against eager."""
    for words in ("train", "train_compiled"):
        for entry in found.get(f"{words}_model_tflops", []):
            products = _of_rank(found.get(f"matmul_{entry.get('dtype')}_tflops", []), entry["rank"])
            if products:
                value = _short(entry["value"] / products["value"], 3)
                found.setdefault(f"{words}_of_matmul", []).append({**entry, "value": value, "spread": None})
    for entry in found.get("train_compiled_tokens_per_s", []):
        eager = _of_rank(found.get("train_tokens_per_s", []), entry["rank"])
        if eager:
            value = _short(entry["value"] / eager["value"], 3)
            found.setdefault("compile_speedup", []).append({**entry, "value": value, "spread": None})


def _of_rank(entries: Sequence[Entry], rank: Any) -> Entry | None:
    return next((one for one in entries if one.get("rank") == rank and one.get("value")), None)


def of_others(entries: Sequence[Mapping[str, Any]], at: int) -> float | None:
    """The value of one device as a share of the median of the others; None where there are no others."""
    others = [float(one["value"]) for number, one in enumerate(entries) if number != at and usable(one)]
    if not others or not usable(entries[at]):
        return None
    middle = statistics.median(others)
    return _short(float(entries[at]["value"]) / middle, 3) if middle > 0 else None


def usable(entry: Mapping[str, Any]) -> bool:
    """Whether there is a positive number."""
    value = entry.get("value")
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
