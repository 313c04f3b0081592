"""What a specification says of the links of a node, and what groups that leave an island pay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rocdoctor.train.recommend.estimate import estimate
from rocdoctor.train.recommend.fleet.gpu_figures import GpuFigures, read_gpu

MI210 = {"name": "AMD Instinct MI210", "fabric": "xgmi", "link_gb_s": 150.0, "host_gb_s": 31.5, "per_node": 8}


def gpu(**fields: Any) -> GpuFigures:
    return read_gpu({**MI210, **fields}, {}, [])


def speed(tp: int, **fields: Any) -> float:
    plan = {"tp": tp, "dp": 8 // tp}
    spec = {"model": "llama-3-8b", "gpus": 8, "seq": 4096, "micro_batch": 1, "parallel": plan, "framework": "megatron"}
    return float(estimate({**spec, "gpu": {**MI210, **fields}})["tokens_per_s_per_gpu"])


def test_fields_of_a_machine_are_read() -> None:
    found = gpu(island=4, power_share=0.5, flash=False, measured_tflops=90.0, usable_gib=60.0)
    assert (found.island, found.fabric, found.mesh, found.flash) == (4, "xgmi", True, False)
    assert (found.host_link, found.local_link, found.power_share) == (31.5e9, 150e9, 0.5)
    assert (found.measured, found.usable_bytes) == (90e12, 60.0 * 2**30)
    assert not gpu(mesh=False).mesh
    assert gpu().island == 8  # without a word the whole node is one


def test_nonsense_in_these_fields_changes_nothing() -> None:
    bad: dict[str, Any] = {"island": "many", "power_share": -1, "flash": "perhaps", "measured_tflops": None, "share": 0}
    assert gpu(**bad) == gpu()
    assert gpu(fabric="string") == replace(gpu(), fabric="pcie", mesh=False)  # the profile knows no links of a node


def test_a_share_of_a_card_has_that_share_of_its_rates() -> None:
    whole, part = (read_gpu({"name": "MI300X", "share": share}, {}, []) for share in (1, 0.125))
    assert part.peak == pytest.approx((whole.peak or 0) / 8)
    assert part.peak_fp8 == pytest.approx((whole.peak_fp8 or 0) / 8)
    assert part.bandwidth == pytest.approx((whole.bandwidth or 0) / 8)


def test_groups_inside_an_island_do_not_care_how_many_islands_there_are() -> None:
    two, one = (speed(4, island=island, mesh=False) for island in (4, 8))
    assert two <= one  # gradients cross between the islands
    assert speed(8, island=8, mesh=False) > 1.3 * speed(8, island=4, mesh=False)


def test_a_small_group_of_a_mesh_has_its_own_links_alone() -> None:
    assert speed(2, island=8) < speed(2, island=8, mesh=False)
