"""Measured rates in place of listed ones: whose, which of several, and what is not believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from rocdoctor.model.facts import GpuLink, Machine, SmokeRun
from rocdoctor.train.recommend.estimate import efficiency, estimate
from rocdoctor.train.recommend.fleet.machine_fleet import machine_fleet
from rocdoctor.train.recommend.fleet.measured import measured, with_measured
from rocdoctor.train.recommend.plan import Fleet
from tests.kit import amd_gpu, k, machine

COUNT = 4


def of(values: list[float], name: str = "matmul_bf16_tflops") -> dict[str, Any]:
    """A figure of each GPU."""
    return {
        name: [
            {"gpu": n, "rank": n, "pci": f"0000:{0x23 + 0x20 * n:02x}:00.0", "value": v} for n, v in enumerate(values)
        ]
    }


def recorded(figures: Mapping[str, Any], backend: str = "nccl", device: str = "cuda", **changes: Any) -> Machine:
    gpus = [amd_gpu(number, **changes) for number in range(COUNT)]
    links = tuple(GpuLink(a, b, "xgmi", k(15), k(1)) for a in range(COUNT) for b in range(a + 1, COUNT))
    return machine(*gpus, links=links, smoke=(SmokeRun(COUNT, backend, device, "2.13.0", 9.0, (), figures=figures),))


def fleet(of_machine: Machine) -> Fleet:
    return with_measured(machine_fleet(of_machine), of_machine)


def share(*keys: str) -> float:
    table: Any = efficiency()["speed"]
    for key in keys:
        table = table[key]
    return float(table["v"])


def test_without_figures_nothing_changes() -> None:
    bare = recorded({})
    assert with_measured(machine_fleet(bare), bare) == machine_fleet(bare)


def test_the_slowest_gpu_counts_and_the_source_says_so() -> None:
    found = fleet(recorded(of([150.0, 148.0, 120.0, 152.0])))
    assert found.gpu.measured == 120e12
    assert found.spec_gpu["measured_tflops"] == 120.0
    assert found.sources["peak"] == "measured here: 120 TFLOPS of bf16 products, the slowest of 4 GPUs"
    assert found.gpu.peak == machine_fleet(recorded({})).gpu.peak  # the published peak stays what it is


def test_of_several_figures_of_a_gpu_the_median_counts() -> None:
    entries = [{"gpu": 0, "rank": 0, "pci": "0000:23:00.0", "value": value} for value in (10.0, 100.0, 110.0)]
    rates = measured(recorded({"matmul_bf16_tflops": entries}), machine_fleet(recorded({})))
    assert (rates.tflops, rates.gpus) == (100.0, 1)


def test_figures_of_some_gpus_only_are_noted() -> None:
    found = fleet(recorded(of([150.0, 148.0])))
    assert any("2 of the 4 GPUs" in note for note in found.notes)


def test_figures_of_gpus_that_are_not_planned_for_do_not_count() -> None:
    base = recorded(of([150.0, 148.0, 30.0, 152.0]))
    planned = machine_fleet(machine(*base.gpus[:2]))
    assert with_measured(planned, base).gpu.measured == 148e12


def test_a_measured_rate_sets_the_speed() -> None:
    spec = {"model": "llama-3-8b", "gpus": 4, "seq": 4096, "micro_batch": 1, "parallel": {"fsdp": 4}}
    slow, fast = (fleet(recorded(of([value] * COUNT))).spec_gpu for value in (60.0, 120.0))
    slower, faster = (estimate({**spec, "gpu": dict(gpu)})["tokens_per_s_per_gpu"] for gpu in (slow, fast))
    assert 1.5 * slower < faster < 2.05 * slower


def test_a_rate_that_agrees_with_the_table_changes_nothing() -> None:
    row = efficiency()["generations"]["cdna2"]["matrix_bf16"]["v"]
    listed = machine_fleet(recorded({}))
    exactly = (listed.gpu.peak or 0.0) / 1e12 * row / share("measured_share")
    spec = {"model": "llama-3-8b", "gpus": 4, "seq": 4096, "micro_batch": 1, "parallel": {"fsdp": 4}}
    before = estimate({**spec, "gpu": dict(listed.spec_gpu)})
    after = estimate({**spec, "gpu": {**listed.spec_gpu, "measured_tflops": exactly}})
    assert after["tokens_per_s_per_gpu"] == pytest.approx(before["tokens_per_s_per_gpu"], rel=1e-6)


def test_a_card_without_a_listed_peak_gets_a_speed() -> None:
    unknown = {"pci_id": "1002:ffff", "name": "AMD Radeon Something", "gfx": "gfx1300"}
    spec = {"model": "llama-3.2-1b", "gpus": 4, "seq": 2048, "micro_batch": 1, "parallel": {"fsdp": 4}}
    bare = fleet(recorded({}, **unknown))
    assert estimate({**spec, "gpu": dict(bare.spec_gpu)})["tokens_per_s_per_gpu"] is None
    found = fleet(recorded(of([50.0] * COUNT), **unknown))
    assert estimate({**spec, "gpu": dict(found.spec_gpu)})["tokens_per_s_per_gpu"] > 0
    assert not any("cannot estimate speed" in note for note in found.notes)


def test_more_than_the_peak_is_not_believed() -> None:
    found = fleet(recorded(of([900.0] * COUNT) | of([9000.0] * COUNT, "memory_triad_gb_s")))
    assert found.gpu.measured is None
    assert found.gpu.bandwidth == machine_fleet(recorded({})).gpu.bandwidth
    assert len([note for note in found.notes if "not used" in note]) == 2


def test_measured_memory_is_what_programs_reach() -> None:
    found = fleet(recorded(of([1200.0, 1300.0, 1250.0, 1220.0], "memory_triad_gb_s")))
    assert found.gpu.bandwidth == pytest.approx(1200e9 / share("bandwidth_share"), rel=1e-4)
    assert "measured here: 1200 GB/s" in found.sources["bandwidth"]


def test_an_all_reduce_over_the_node_gives_the_link() -> None:
    sizes = [
        {"gpu": None, "ranks": COUNT, "bytes": size, "value": value} for size, value in ((1024, 0.1), (2**28, 91.0))
    ]
    found = fleet(recorded({"all_reduce_bus_gb_s": sizes}))
    assert found.gpu.local_link == pytest.approx(91e9 / share("fabric", "xgmi"), rel=1e-4)
    assert "all-reduce of 4 GPUs" in found.sources["link"]


def test_a_small_or_partial_all_reduce_tells_nothing_of_links() -> None:
    for ranks, size in ((COUNT, 1024), (2, 2**28)):
        entry = {"gpu": None, "ranks": ranks, "bytes": size, "value": 5.0}
        assert "link_gb_s" in fleet(recorded({})).spec_gpu
        assert fleet(recorded({"all_reduce_bus_gb_s": [entry]})) == fleet(recorded({}))


def test_copies_between_gpus_stand_in_where_no_all_reduce_was_measured() -> None:
    pairs = [{"gpu": 0, "peer": n, "pci": "0000:23:00.0", "value": 30.0 + n} for n in (1, 2, 3)]
    found = fleet(recorded({"device_to_device_gb_s": pairs}))
    assert found.gpu.local_link == pytest.approx(3 * 31e9 / share("fabric", "xgmi"), rel=1e-4)


def test_host_copies_give_the_host_link() -> None:
    found = fleet(recorded(of([26.0, 25.0, 24.0, 25.5], "host_to_device_pinned_gb_s")))
    assert found.gpu.host_link == 24e9


def test_what_the_processor_or_gloo_carried_is_no_link_of_a_gpu() -> None:
    entry = {"gpu": None, "ranks": COUNT, "bytes": 2**28, "value": 1.0}
    assert fleet(recorded({"all_reduce_bus_gb_s": [entry]}, backend="gloo")) == fleet(recorded({}))
    assert fleet(recorded(of([1.0] * COUNT), device="cpu")) == fleet(recorded({}))


def test_ranks_that_shared_a_gpu_measured_each_other() -> None:
    entries = [{"gpu": 0, "rank": rank, "pci": "0000:23:00.0", "value": 70.0} for rank in range(2)]
    assert fleet(recorded({"matmul_bf16_tflops": entries})) == fleet(recorded({}))


def test_a_damaged_record_is_no_figure() -> None:
    damaged: list[list[Any]] = [[None], [{"value": "fast"}], [{"value": float("nan")}], [{}]]
    for bad in damaged:
        names = ("matmul_bf16_tflops", "memory_triad_gb_s", "all_reduce_bus_gb_s", "device_to_device_gb_s")
        assert fleet(recorded(dict.fromkeys(names, bad))) == fleet(recorded({}))
