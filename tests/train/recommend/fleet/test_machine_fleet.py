"""What a machine gives a plan, over all fixtures: the facts decide, nothing is made up."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from rocdoctor.collect import collect
from rocdoctor.model.evidence import NOT_ASKED, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.facts.system import Kernel
from rocdoctor.parsers.formats.cpuset import list_to_set
from rocdoctor.train.recommend.fleet.gpu_figures import GIB, read_gpu
from rocdoctor.train.recommend.fleet.machine_fleet import machine_fleet
from rocdoctor.train.recommend.fleet.node_network import network_rates
from rocdoctor.train.recommend.plan import Fleet
from tests.golden.edits import Broken
from tests.golden.replay import NAMES, host_of
from tests.kit import k


@cache
def facts(name: str) -> Machine:
    return collect(host_of(name))


@cache
def fleet(name: str) -> Fleet:
    return machine_fleet(facts(name))


# name: vendor, seats, fabric, sizes of islands, GiB of memory, left out; what each capture's own text says.
EXPECTED: dict[str, tuple[str, int, str, tuple[int, ...], float, int]] = {
    "a10g-8gpu-cloud": ("nvidia", 8, "pcie", (8,), 22.49, 0),
    "arc-b580": ("cpu", 1, "none", (1,), 31.93, 1),
    "arm-server": ("cpu", 2, "none", (2,), 479.96, 0),
    "cpu-only-laptop": ("cpu", 1, "none", (1,), 15.93, 1),
    "egpu-thunderbolt": ("amd", 1, "none", (1,), 23.98, 1),
    "epyc-cpu-only": ("cpu", 8, "none", (8,), 191.96, 0),
    "gtx1660ti-laptop": ("nvidia", 1, "none", (1,), 6.0, 1),
    "h100-8gpu": ("nvidia", 8, "nvlink", (8,), 79.65, 0),
    "mi210-8gpu": ("amd", 8, "xgmi", (4, 4), 63.98, 0),
    "mi210-slurm-2of8": ("amd", 2, "xgmi", (2,), 63.98, 6),
    "mi250-4module": ("amd", 8, "xgmi", (8,), 63.98, 0),
    "mi300a-4apu": ("amd", 4, "xgmi", (4,), 63.99, 0),
    "mi300x-8gpu": ("amd", 8, "xgmi", (8,), 191.98, 0),
    "mi300x-8gpu-cpx": ("amd", 64, "xgmi", (64,), 24.0, 0),
    "mi300x-cloud-vf": ("amd", 1, "none", (1,), 191.98, 0),
    "mi300x-docker": ("amd", 8, "xgmi", (8,), 191.98, 0),
    "mi350x-8gpu": ("amd", 8, "xgmi", (8,), 287.98, 0),
    "phoenix-laptop": ("amd", 1, "none", (1,), 13.6, 0),
    "r7-240-display": ("cpu", 1, "none", (1,), 15.93, 1),
    "radeon-vii-old-board": ("amd", 1, "none", (1,), 15.98, 0),
    "recorded-cpu-vm": ("cpu", 1, "none", (1,), 23.54, 0),
    "rtx4090-2gpu": ("nvidia", 2, "pcie", (2,), 23.99, 0),
    "rx580": ("cpu", 1, "none", (1,), 15.93, 1),
    "rx6600": ("amd", 1, "none", (1,), 7.98, 0),
    "rx6700xt-override": ("amd", 1, "none", (1,), 11.98, 0),
    "rx7600s-laptop": ("amd", 1, "none", (1,), 7.98, 1),
    "rx7900xtx-2gpu": ("amd", 2, "pcie", (2,), 23.98, 0),
    "rx7900xtx-podman": ("amd", 1, "none", (1,), 23.98, 0),
    "rx7900xtx-raphael": ("amd", 1, "none", (1,), 23.98, 1),
    "rx9070xt": ("amd", 1, "none", (1,), 15.92, 0),
    "strix-halo": ("amd", 1, "none", (1,), 62.28, 0),
    "wsl2-rx7900xtx": ("cpu", 1, "none", (1,), 31.93, 0),
}


def test_every_fixture_is_expected() -> None:
    assert set(EXPECTED) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_fixture_gives_the_fleet_that_it_is(name: str) -> None:
    found = fleet(name)
    sizes = tuple(len(one) for one in found.islands)
    assert (found.vendor, found.per_node, found.fabric, sizes) == EXPECTED[name][:4]
    assert found.gpu.memory_bytes / GIB == pytest.approx(EXPECTED[name][4], abs=0.02)
    assert len(found.left_out) == EXPECTED[name][5]


@pytest.mark.parametrize("name", NAMES)
def test_what_holds_of_every_fleet(name: str) -> None:
    found, of = fleet(name), facts(name)
    assert sorted(rank for island in found.islands for rank in island) == list(range(found.per_node))
    assert [seat.local_rank for seat in found.seats] == list(range(found.per_node))
    assert all(seat.local_rank in found.islands[seat.island] for seat in found.seats)
    assert 0 < found.gpu.usable_bytes < found.gpu.memory_bytes
    assert read_gpu(dict(found.spec_gpu), network_rates() if found.vendor != "cpu" else {}, []) == found.gpu
    assert found.spec_gpu["per_node"] == found.per_node
    assert "memory" in found.sources
    if found.gpu.peak is None:
        assert any("cannot estimate speed" in note for note in found.notes)
    addresses = {value_or(gpu.bdf, "") for gpu in of.gpus}
    for seat in found.seats:
        if found.vendor != "cpu":
            assert seat.bdf in addresses
        if seat.cpus is not None:
            own = next(node for node in of.numa_nodes if node.node == seat.numa_node)
            assert list_to_set(seat.cpus) <= list_to_set(own.cpulist.value)  # type: ignore[operator, union-attr]


@pytest.mark.parametrize("name", ["mi300x-8gpu", "h100-8gpu", "mi210-8gpu", "mi250-4module", "mi300x-8gpu-cpx"])
def test_cpus_of_seats_are_disjoint_whole_cores(name: str) -> None:
    shares = [list_to_set(seat.cpus) or frozenset() for seat in fleet(name).seats]
    assert all(shares)
    assert len(frozenset().union(*shares)) == sum(map(len, shares))
    half = facts(name).cpus.threads.value // 2  # type: ignore[union-attr]
    assert all({(cpu + half) % (2 * half) for cpu in share} == share for share in shares)


def test_links_of_a_mesh_are_those_to_its_peers() -> None:
    assert fleet("mi300x-8gpu").gpu.local_link == pytest.approx(7 * 64e9)
    four = fleet("mi210-8gpu").gpu
    assert four.local_link == pytest.approx(3 * 50e9)
    assert (four.island, four.mesh) == (4, True)
    assert fleet("mi250-4module").gpu.mesh is False  # platforms differ: one link is certain
    assert fleet("h100-8gpu").gpu.local_link == pytest.approx(450e9)


def test_the_weakest_pcie_link_is_the_host_link() -> None:
    # Two cards with eight lanes of 16 GT/s each: 16 x 128/130 / 8 x 8 GB/s.
    assert fleet("rx7900xtx-2gpu").gpu.host_link == pytest.approx(15.75e9, rel=0.001)
    assert fleet("rx7900xtx-2gpu").gpu.local_link == pytest.approx(15.75e9, rel=0.001)
    assert fleet("mi300x-8gpu").gpu.host_link == pytest.approx(63.02e9, rel=0.001)
    assert "host_gb_s" not in fleet("mi300x-cloud-vf").spec_gpu  # what a hypervisor shows is no link


def test_each_gpu_has_the_network_card_beside_it() -> None:
    assert [seat.nic for seat in fleet("mi300x-8gpu").seats] == [f"mlx5_{number}" for number in range(8)]
    nics = [seat.nic for seat in fleet("h100-8gpu").seats]
    assert set(nics[:4]) == {"mlx5_0", "mlx5_1"}
    assert set(nics[4:]) == {"mlx5_2", "mlx5_3"}
    assert {seat.nic for seat in fleet("mi300x-8gpu-cpx").seats[:8]} == {"mlx5_0"}


def test_partitions_are_gpus_with_their_share() -> None:
    found = fleet("mi300x-8gpu-cpx")
    whole = fleet("mi300x-8gpu")
    assert found.gpu.peak == pytest.approx(whole.gpu.peak / 8)  # type: ignore[operator]
    assert found.gpu.bandwidth == pytest.approx(whole.gpu.bandwidth / 8)  # type: ignore[operator]
    assert [seat.torch_index for seat in found.seats] == list(range(64))
    assert any("8 partitions" in note for note in found.notes)


def test_gpus_that_this_process_cannot_see_are_left_out_with_the_reason() -> None:
    found = fleet("mi210-slurm-2of8")
    assert [seat.bdf for seat in found.seats] == ["0000:43:00.0", "0000:46:00.0"]
    assert all("hidden from this process" in one for one in found.left_out)
    assert found.sources["host_memory"] == "limit of the control group"
    assert all(seat.cpus is None for seat in found.seats)


def test_reasons_name_the_gpu() -> None:
    assert fleet("rx7900xtx-raphael").left_out == ("gpu 1 (0000:6c:00.0): it is a display GPU of 2 compute units",)
    assert "integrated" in fleet("rx7600s-laptop").left_out[0]
    assert "radeon" in fleet("r7-240-display").left_out[0]
    assert "gfx803" in fleet("rx580").left_out[0]
    assert "AMD and NVIDIA" in fleet("arc-b580").left_out[0]
    assert any("WSL" in note for note in fleet("wsl2-rx7900xtx").notes)


def test_a_shared_memory_leaves_the_rest_to_the_host() -> None:
    for name in ("phoenix-laptop", "strix-halo", "mi300a-4apu"):
        found = fleet(name)
        total = facts(name).memory.total_bytes.value  # type: ignore[union-attr]
        assert found.integrated
        assert found.host_memory_bytes == pytest.approx(total - found.per_node * found.gpu.usable_bytes, rel=0.001)
    assert fleet("strix-halo").sources["memory"] == "torch on this machine"


def test_an_old_kernel_gives_an_integrated_gpu_its_carve_out_alone() -> None:
    old = replace(facts("phoenix-laptop"), kernel=Kernel(release=k("6.8.0-45-generic")))
    assert machine_fleet(old).gpu.memory_bytes == 4 * GIB


def test_a_missing_link_splits_no_hive_that_is_still_connected() -> None:
    broken = Broken("mi300x-8gpu").unlink(2, 3)
    found = machine_fleet(collect(broken.host))
    assert found.islands == (tuple(range(8)),)
    assert not found.gpu.mesh


def test_gpus_without_driver_in_a_real_tree_are_left_out() -> None:
    broken = Broken("mi300x-8gpu").unbind("0000:ea:00.0", "card8", 9)
    found = machine_fleet(collect(broken.host))
    assert found.per_node == 7
    assert any("0000:ea:00.0" in one and "no driver" in one for one in found.left_out)


def test_links_that_are_not_in_the_evidence_are_those_of_a_fabric_that_took_the_gpus_in_or_assumed() -> None:
    """As a text of ``nvidia-smi -q`` alone has it."""
    whole = facts("h100-8gpu")

    def without_links(status: str | None) -> Fleet:
        told = NOT_ASKED if status is None else k(status)
        bare = [replace(gpu, nvlinks=NOT_ASKED, fabric_status=told) for gpu in whole.gpus]
        return machine_fleet(replace(whole, gpus=tuple(bare), links=(), links_complete=False))

    joined, unknown = without_links("Success"), without_links(None)
    assert joined.fabric == "nvlink"
    assert any("registered with the NVLink fabric" in note for note in joined.notes)
    assert (unknown.fabric, unknown.sources["link"]) == ("pcie", "assumption")
    assert any("PCIe is assumed" in note for note in unknown.notes)
