"""Machines made by hand: which GPUs a plan takes, in which order, and what it says of the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.model.evidence import NOT_ASKED
from rocdoctor.model.facts import ComputeNode, Cpus, GpuLink, Machine, Memory, Nic, NumaNode, Power
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.fleet.machine_fleet import machine_fleet
from tests.kit import amd_gpu, environment, k, machine, nvidia_gpu


def two(**changes: object) -> Machine:
    return machine(amd_gpu(0), amd_gpu(1, **changes), memory=Memory(total_bytes=k(512 << 30)))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"driver": None}, "no driver is bound"),
        ({"driver": "vfio-pci"}, "reserved for a virtual machine (vfio-pci)"),
        ({"remap_failure": True}, "could not be remapped"),
        ({"recovery_action": "Reset"}, "asks for a recovery first (Reset)"),
        ({"mig": True}, "MIG"),
        ({"fabric_state": "Completed", "fabric_status": "Insufficient resources"}, "Insufficient resources"),
        ({"integrated": True}, "integrated"),
        ({"pci_id": "1002:74a1", "vram_bytes": 20 << 30}, "differs from the 1 x AMD Instinct MI210"),
    ],
)
def test_a_gpu_that_training_cannot_use_is_left_out(changes: dict[str, object], reason: str) -> None:
    found = machine_fleet(two(**changes))
    assert [seat.bdf for seat in found.seats] == ["0000:23:00.0"]
    assert len(found.left_out) == 1
    assert found.left_out[0].startswith("gpu 1 (0000:43:00.0): ")
    assert reason in found.left_out[0]


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"bad_pages_pending": True}, "bad memory pages"),
        ({"recovery_action": "Drain and Reset"}, "drain"),
        ({"runtime_status": "suspended"}, "sleeps"),
        ({"driver": NOT_ASKED}, "its driver is not in this evidence"),
        ({"vram_used_bytes": 5 << 30}, "5.0 GiB of its memory are in use"),
    ],
)
def test_what_is_only_worth_knowing_is_a_note(changes: dict[str, object], note: str) -> None:
    found = machine_fleet(two(**changes))
    assert found.per_node == 2
    assert any(one.startswith("gpu 1") and note in one for one in found.notes)


def test_the_larger_group_of_unlike_cards_is_planned_for() -> None:
    small = {"pci_id": "1002:73df", "gfx": "gfx1031", "vram_bytes": 12 << 30, "name": "AMD Radeon RX 6700 XT"}
    found = machine_fleet(machine(amd_gpu(0, **small), amd_gpu(1), amd_gpu(2)))
    assert [seat.bdf for seat in found.seats] == ["0000:43:00.0", "0000:63:00.0"]
    assert "differs from the 2 x AMD Instinct MI210" in found.left_out[0]


@pytest.mark.parametrize(
    ("variables", "indices"),
    [
        ({"HIP_VISIBLE_DEVICES": "1"}, [1]),
        ({"HIP_VISIBLE_DEVICES": "2,0"}, [2, 0]),
        ({"ROCR_VISIBLE_DEVICES": "1,2", "HIP_VISIBLE_DEVICES": "1"}, [2]),
        ({"CUDA_VISIBLE_DEVICES": "0,1"}, [0, 1]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-00c0ffee02"}, [1]),
    ],
)
def test_visibility_variables_select_and_order_the_seats(variables: dict[str, str], indices: list[int]) -> None:
    gpus = [amd_gpu(number, unique_id=f"00c0ffee0{number + 1}") for number in range(3)]
    found = machine_fleet(machine(*gpus, environment=environment(variables)))
    assert [seat.torch_index for seat in found.seats] == indices
    assert len(found.left_out) == 3 - len(indices)
    assert all("hidden by" in one for one in found.left_out)


def test_when_everything_is_hidden_the_processors_are_planned_for() -> None:
    hidden = replace(two(), environment=environment({"HIP_VISIBLE_DEVICES": "-1"}))
    found = machine_fleet(hidden)
    assert (found.vendor, len(found.left_out)) == ("cpu", 2)
    assert any("describe it with --gpus" in note for note in found.notes)


def test_a_torch_build_decides_between_two_makers() -> None:
    both = machine(amd_gpu(0), nvidia_gpu(1))
    of_amd = replace(both, torch=replace(both.torch, hip=k("7.2"), version=k("2.11.0+rocm7.2"), cuda=k(None)))
    assert machine_fleet(of_amd).vendor == "amd"
    of_nvidia = replace(both, torch=replace(both.torch, cuda=k("12.8"), version=k("2.11.0+cu128"), hip=k(None)))
    assert machine_fleet(of_nvidia).vendor == "nvidia"


def test_a_lower_power_limit_lowers_the_rate() -> None:
    full = machine_fleet(machine(amd_gpu(0, power=Power(cap_w=k(300.0), cap_default_w=k(300.0)))))
    assert full.gpu.power_share == 1.0
    low = machine_fleet(machine(amd_gpu(0, power=Power(cap_w=k(200.0), cap_default_w=k(300.0)))))
    assert low.gpu.power_share == pytest.approx(2 / 3, abs=0.001)
    assert any("limited to 200 W of 300 W" in note for note in low.notes)


def test_an_unknown_card_has_its_memory_and_no_speed() -> None:
    found = machine_fleet(machine(amd_gpu(0, pci_id="1002:ffff", name="AMD Radeon Something", gfx="gfx1300")))
    assert (found.gpu.profile_id, found.gpu.peak, found.gpu.bandwidth) == (None, None, None)
    assert found.gpu.memory_bytes == 64 * GIB
    assert any("AMD Radeon Something" in note and "cannot estimate speed" in note for note in found.notes)


def test_memory_that_nobody_told_comes_from_the_profile_or_is_asked_for() -> None:
    found = machine_fleet(machine(amd_gpu(0, vram_bytes=NOT_ASKED)))
    assert (found.gpu.memory_bytes, found.sources["memory"]) == (64 * GIB, "profile mi210")
    with pytest.raises(SpecError, match="16GiB"):
        machine_fleet(machine(amd_gpu(0, vram_bytes=NOT_ASKED, pci_id="1002:ffff", name="AMD Radeon Something")))


def test_nothing_known_at_all_is_an_error_with_a_way_out() -> None:
    with pytest.raises(SpecError, match="--gpus"):
        machine_fleet(Machine())


def test_gpus_over_pcie_are_islands_by_numa_node() -> None:
    gpus = [nvidia_gpu(n, pci_id="10de:2684", name="NVIDIA GeForce RTX 4090", numa_node=n // 2) for n in range(4)]
    nodes = (NumaNode(0, k("0-7,16-23")), NumaNode(1, k("8-15,24-31")))
    links = tuple(GpuLink(a, b, "pcie") for a in range(4) for b in range(a + 1, 4))
    found = machine_fleet(machine(*gpus, numa_nodes=nodes, links=links, cpus=Cpus(cores=k(16), threads=k(32))))
    assert (found.fabric, found.islands, found.gpu.island) == ("pcie", ((0, 1), (2, 3)), 2)
    assert [seat.cpus for seat in found.seats] == ["0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"]


def test_cpus_whose_cores_are_not_known_are_shared() -> None:
    gpus = [amd_gpu(n, numa_node=0) for n in range(2)]
    found = machine_fleet(machine(*gpus, numa_nodes=(NumaNode(0, k("0-31")),), cpus=Cpus(cores=k(16), threads=k(32))))
    assert [seat.cpus for seat in found.seats] == ["0-31", "0-31"]
    assert any("which CPUs share a core" in note for note in found.notes)


def test_the_network_is_measured_by_its_cards_or_assumed() -> None:
    nics = tuple(Nic(f"mlx5_{n}", "infiniband", speed_gbit_s=k(400.0), state=k("up")) for n in range(4))
    gpus = [amd_gpu(n) for n in range(8)]
    found = machine_fleet(machine(*gpus, network=nics), nodes=2)
    assert found.gpu.nic == pytest.approx(4 * 50e9 / 8)  # four cards of 50 GB/s for eight GPUs
    assert (found.gpus, found.sources["network"]) == (16, "machine")
    unknown = machine_fleet(machine(*gpus, network=(Nic("eth0", "ethernet"),)), nodes=2)
    assert unknown.sources["network"] == "assumption"
    down = machine_fleet(machine(*gpus, network=(replace(nics[0], state=k("down")),)), nodes=2)
    assert down.nics == ()


def test_partitions_without_sizes_share_the_card() -> None:
    nodes = tuple(ComputeNode(kfd_node=k(n + 2)) for n in range(2))
    found = machine_fleet(machine(amd_gpu(0, compute_nodes=nodes, pci_id="1002:74a1", vram_bytes=192 << 30)))
    assert (found.per_node, found.gpu.memory_bytes) == (2, 96 * GIB)


def test_the_nearest_card_is_the_one_with_the_nearest_bus() -> None:
    buses = {"mlx5_0": "0000:61:00.0", "mlx5_1": "0000:24:00.0", "mlx5_2": "0000:44:00.0"}
    nics = tuple(Nic(name, "infiniband", bdf=k(bdf), state=k("up")) for name, bdf in buses.items())
    found = machine_fleet(machine(*[amd_gpu(number) for number in range(3)], network=nics))
    assert [seat.nic for seat in found.seats] == ["mlx5_1", "mlx5_2", "mlx5_0"]
