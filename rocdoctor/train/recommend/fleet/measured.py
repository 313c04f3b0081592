"""Rates that smoke tests measured on this machine, in place of those of the profiles.

Of several ranks on a GPU the median counts, and of the GPUs the slowest, since a step waits for it. The estimate
multiplies rates by the share that programs reach, so a measured bandwidth or bus rate is divided by that share.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rocdoctor.model.facts import Machine, SmokeRun
from rocdoctor.train.recommend.estimate import efficiency
from rocdoctor.train.recommend.fleet.gpu_figures import read_gpu
from rocdoctor.train.recommend.fleet.node_network import network_rates
from rocdoctor.train.recommend.plan import Fleet
from rocdoctor.train.smoke.figures.figure_math import usable

# A rate above the published peak is a fault of the measurement; boost clocks reach a little beyond it.
_BEYOND_PEAK = 1.1
# Below this size a collective waits for its start, not for its links.
_LARGE = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Rates:
    """What was measured, of the slowest GPU: TFLOPS of 16-bit products, GB/s; None where nothing usable was.

    ``bus_gb_s`` is the bus bandwidth of an all-reduce over ``ranks``, ``pair_gb_s`` the slowest copy between two GPUs.
    """

    tflops: float | None = None
    dtype: str = ""
    memory_gb_s: float | None = None
    host_gb_s: float | None = None
    pair_gb_s: float | None = None
    bus_gb_s: float | None = None
    ranks: int = 0
    gpus: int = 0


def measured(machine: Machine, fleet: Fleet) -> Rates:
    """The rates of the fleet's GPUs in the machine's smoke runs; a later run counts before an earlier one.

    Runs on the CPU, and runs whose ranks share a GPU, tell nothing about a GPU.
    """
    found = Rates()
    for run in machine.smoke:
        if not run.figures or run.device == "cpu" or fleet.vendor == "cpu":
            continue
        one = _of_run(run, fleet)
        kept = {name: value for name in Rates.__dataclass_fields__ if (value := getattr(one, name))}
        if kept:
            found = replace(found, **kept)
    return found


def _of_run(run: SmokeRun, fleet: Fleet) -> Rates:
    addresses = [seat.bdf for seat in fleet.seats]
    named = all(addresses)
    figures: Mapping[str, Sequence[Mapping[str, Any]]] = run.figures

    def entries(name: str) -> list[Mapping[str, Any]]:
        listed = figures.get(name) or ()
        own = [one for one in listed if isinstance(one, Mapping) and usable(one)]
        return [one for one in own if one.get("pci") is None or not named or one.get("pci") in addresses]

    products, dtype = entries("matmul_bf16_tflops"), "bf16"
    if not products:
        products, dtype = entries("matmul_fp16_tflops"), "fp16"
    if _shared(products, addresses) or _shared(entries("memory_copy_gb_s"), addresses):
        return Rates()
    tflops = _slowest(products)
    bus = [
        one
        for one in figures.get("all_reduce_bus_gb_s") or ()
        if isinstance(one, Mapping) and usable(one) and run.backend == "nccl" and (one.get("bytes") or 0) >= _LARGE
    ]
    largest = max(bus, key=lambda one: float(one.get("bytes") or 0), default=None)
    pairs = [float(one["value"]) for one in entries("device_to_device_gb_s")]
    return Rates(
        tflops,
        dtype if tflops else "",
        _slowest(entries("memory_triad_gb_s") or entries("memory_copy_gb_s")),
        _slowest(entries("host_to_device_pinned_gb_s")),
        min(pairs, default=None),
        float(largest["value"]) if largest else None,
        int(largest.get("ranks") or 0) if largest else 0,
        len({one.get("pci") or one.get("gpu") for one in products}),
    )


def _shared(entries: Sequence[Mapping[str, Any]], addresses: Sequence[str | None]) -> bool:
    """Whether several ranks measured on one device; partitions of a card have its address in common."""
    ranks: dict[object, set[object]] = {}
    for one in entries:
        ranks.setdefault(one.get("pci") or one.get("gpu"), set()).add(one.get("rank"))
    return any(len(found) > max(1, list(addresses).count(str(place))) for place, found in ranks.items())


def _slowest(entries: Sequence[Mapping[str, Any]]) -> float | None:
    """The median of each device, and of these the lowest."""
    by_device: dict[object, list[float]] = {}
    for one in entries:
        by_device.setdefault((one.get("pci"), one.get("gpu")), []).append(float(one["value"]))
    return min((statistics.median(values) for values in by_device.values()), default=None)


def with_measured(fleet: Fleet, machine: Machine) -> Fleet:
    """The fleet with measured rates where there are some; each is named in ``sources``."""
    if fleet.origin != "machine" or fleet.vendor == "cpu":
        return fleet
    rates = measured(machine, fleet)
    spec, sources, notes = dict(fleet.spec_gpu), dict(fleet.sources), list(fleet.notes)
    table = efficiency()["speed"]
    if rates.tflops is not None:
        _products(fleet, rates, spec, sources, notes)
    if rates.memory_gb_s is not None:
        peak = fleet.gpu.bandwidth
        if peak is not None and rates.memory_gb_s * 1e9 > _BEYOND_PEAK * peak:
            notes.append(
                f"memory was measured at {rates.memory_gb_s:.4g} GB/s, more than the {peak / 1e9:.4g} GB/s "
                "that are possible: not used"
            )
        else:
            spec["bandwidth_gb_s"] = round(rates.memory_gb_s / float(table["bandwidth_share"]["v"]), 2)
            sources["bandwidth"] = f"measured here: {rates.memory_gb_s:.4g} GB/s"
    if rates.host_gb_s is not None:
        spec["host_gb_s"] = round(rates.host_gb_s, 2)
        sources["host_link"] = f"measured here: {rates.host_gb_s:.4g} GB/s"
    _links(fleet, rates, spec, sources, table)
    if spec == fleet.spec_gpu and notes == list(fleet.notes):
        return fleet
    if "measured_tflops" in spec:
        notes = [one for one in notes if not one.startswith("no table has the peak rate")]
    gpu = read_gpu(spec, network_rates(), [])
    return replace(fleet, spec_gpu=spec, sources=sources, notes=tuple(notes), gpu=gpu)


def _products(fleet: Fleet, rates: Rates, spec: dict[str, Any], sources: dict[str, str], notes: list[str]) -> None:
    peak, tflops = fleet.gpu.peak, rates.tflops or 0.0
    if peak is not None and tflops * 1e12 > _BEYOND_PEAK * peak:
        notes.append(
            f"{rates.dtype} products were measured at {tflops:.4g} TFLOPS, more than the peak of "
            f"{peak / 1e12:.4g}: not used"
        )
        return
    spec["measured_tflops"] = tflops
    every = len({seat.bdf for seat in fleet.seats})
    which = "the slowest" if rates.gpus > 1 else "one"
    sources["peak"] = f"measured here: {tflops:.4g} TFLOPS of {rates.dtype} products, {which} of {rates.gpus} GPUs"
    if rates.gpus < every:
        notes.append(f"rates were measured on {rates.gpus} of the {every} GPUs; the others may be slower")


def _links(fleet: Fleet, rates: Rates, spec: dict[str, Any], sources: dict[str, str], table: Mapping[str, Any]) -> None:
    """Links inside a node: an all-reduce over one island of all GPUs, else the slowest copy between two of them."""
    if fleet.fabric == "none" or fleet.island < fleet.per_node:
        return
    share = float(table["fabric"][fleet.fabric]["v"])
    if rates.bus_gb_s is not None and rates.ranks == fleet.per_node:
        spec["link_gb_s"] = round(rates.bus_gb_s / share, 2)
        sources["link"] = f"measured here: all-reduce of {rates.ranks} GPUs, bus rate {rates.bus_gb_s:.4g} GB/s"
    elif rates.pair_gb_s is not None and fleet.fabric != "nvlink":
        peers = fleet.per_node - 1 if fleet.gpu.mesh else 1
        spec["link_gb_s"] = round(rates.pair_gb_s * peers / share, 2)
        sources["link"] = f"measured here: slowest copy between two GPUs {rates.pair_gb_s:.4g} GB/s"
