"""Fleets that words describe: counts, names, memory, links, and what is assumed."""

from __future__ import annotations

import re

import pytest

from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.fleet.described_fleet import described
from rocdoctor.train.recommend.fleet.gpu_figures import GIB, read_gpu
from rocdoctor.train.recommend.fleet.node_network import network_rates


@pytest.mark.parametrize(
    ("text", "count", "profile"),
    [
        ("8xMI300X", 8, "mi300x"),
        ("8 x MI300X", 8, "mi300x"),
        ("8 MI300X", 8, "mi300x"),
        ("MI300X x 8", 8, "mi300x"),
        ("8×MI300X", 8, "mi300x"),
        ("8*mi300x", 8, "mi300x"),
        ("MI300X", 1, "mi300x"),
        ("8xAMD Instinct MI300X", 8, "mi300x"),
        ("4 x RTX 4090", 4, "rtx-4090"),
        ("4xRTX-4090", 4, "rtx-4090"),
        ("RX 7900 XTX", 1, "rx-7900-xtx"),
        ("7900 XTX", 1, "rx-7900-xtx"),
        ("2x 7900XTX", 2, "rx-7900-xtx"),
        ("2x9070 XT", 2, "rx-9070-xt"),
        ("8xH100-SXM", 8, "h100-sxm"),
        ("8xH100 PCIe", 8, "h100-pcie"),
        ("8xH100", 8, "h100-sxm"),
        ("2xA100-40GB", 2, "a100-sxm-40"),
        ("2xA100-80GB", 2, "a100-sxm-80"),
        ("2xA100-PCIE-80GB", 2, "a100-pcie-80"),
        ("4090", 1, "rtx-4090"),
        ("2x3090", 2, "rtx-3090"),
        ("GeForce 4090", 1, "rtx-4090"),
        ("4 4090", 4, "rtx-4090"),
        ("3090 Ti", 1, "rtx-3090-ti"),
        ("2x6800", 2, "rx-6800"),
        ("4090:24GiB", 1, "rtx-4090"),
        ("8xA10", 8, "a10"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", 1, "rtx-4070-ti-super"),
        ("4xMI300A", 4, "mi300a"),
    ],
)
def test_counts_and_names_are_read_as_people_write_them(text: str, count: int, profile: str) -> None:
    fleet = described(text)
    assert (fleet.per_node, fleet.gpu.profile_id, fleet.nodes) == (count, profile, 1)
    assert [seat.local_rank for seat in fleet.seats] == list(range(count))
    assert fleet.spec_gpu["per_node"] == count


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("8xMI300", "nearest: MI300X, MI300A"),
        ("RTX 4900", "nearest: RTX 4090"),
        ("4xRTX-4090-Laptop", "not known"),
        ("4090 Laptop", "not known"),
        ("MI300X Ultra", "not known"),
        ("8xFoo:24GiB", "not known; examples"),
        ("8xMI300X+2xMI210", "several kinds"),
        ("0xMI300X", "nearest: 1"),
        ("", "8xMI300X"),
        ("MI300X:9999GiB", "between 1 and 2048"),
    ],
)
def test_what_is_no_fleet_is_refused_with_the_nearest_that_is(text: str, words: str) -> None:
    with pytest.raises(SpecError, match=re.escape(words)):
        described(text)


def test_a_card_whose_memory_no_table_has_asks_for_it() -> None:
    for text, asked in (("8xT4", "8xT4:16GiB"), ("RX 7800M", "1xRX-7800M:16GiB"), ("4xMI308X", "4xMI308X:16GiB")):
        with pytest.raises(SpecError, match=re.escape(asked)):
            described(text)


def test_stated_memory_counts_and_a_rate_that_no_table_has_stays_unknown() -> None:
    fleet = described("8xT4:16GiB")
    assert fleet.gpu.memory_bytes == 16 * GIB
    assert (fleet.gpu.peak, fleet.compute_capability, fleet.vendor) == (None, "7.5", "nvidia")
    assert fleet.sources["memory"] == "stated"
    assert "peak" not in fleet.sources
    assert any("cannot estimate speed" in note for note in fleet.notes)


def test_a_stated_size_that_no_table_has_is_taken_and_named() -> None:
    fleet = described("RTX 4090:48GiB")
    assert fleet.gpu.memory_bytes == 48 * GIB
    assert any("48 GiB per GPU as stated; the tables know RTX 4090 with 24 GiB" in note for note in fleet.notes)


@pytest.mark.parametrize(("text", "gib"), [("8xA100", 40), ("2xMI50", 16), ("8xV100", 16), ("4xGH200", 96)])
def test_of_sizes_that_share_a_name_the_smallest_is_planned_for(text: str, gib: float) -> None:
    fleet = described(text)
    assert fleet.gpu.memory_bytes == gib * GIB
    assert any("GiB are assumed; state yours as" in note for note in fleet.notes)


@pytest.mark.parametrize(
    ("text", "name", "gib"),
    [
        ("V100-32GB", "1 x Tesla V100-SXM2-32GB", 32),
        ("8xV100", "8 x Tesla V100-SXM2-16GB", 16),
        ("8xH100:94GiB", "8 x H100 94GB HBM3", 94),
        ("GH200", "1 x GH200 480GB", 96),
        ("1080 Ti:11GiB", "1 x 1080 Ti", 11),
        ("2x4060 Ti:16GiB", "2 x RTX 4060 Ti", 16),
        ("9060 XT", "1 x RX 9060 XT", 8),
    ],
)
def test_the_name_prints_the_memory_that_is_planned_for(text: str, name: str, gib: float) -> None:
    fleet = described(text)
    assert (fleet.name, fleet.gpu.memory_bytes / GIB) == (name, gib)


def test_two_dies_are_two_gpus() -> None:
    fleet = described("4xMI250X")
    assert (fleet.per_node, fleet.gpu.memory_bytes) == (8, 64 * GIB)
    assert any("one card is 2 GPUs" in note for note in fleet.notes)


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("16xMI300X", "--gpus 8xMI300X --nodes 2"),
        ("12xH100", "--gpus 6xH100 --nodes 2"),
        ("8xMI300A", "--gpus 4xMI300A --nodes 2"),
        ("12xMI250X", "--gpus 4xMI250X --nodes 3"),
        ("32xRX 7900 XTX", "--gpus 8xRX-7900-XTX --nodes 4"),
    ],
)
def test_more_than_a_node_holds_is_several_nodes(text: str, nearest: str) -> None:
    with pytest.raises(SpecError, match=re.escape(nearest)):
        described(text)
    what, nodes = nearest.removeprefix("--gpus ").split(" --nodes ")
    assert described(what, int(nodes)).nodes == int(nodes)


@pytest.mark.parametrize(
    ("text", "fabric", "gb_s"),
    [
        ("8xMI300X", "xgmi", 7 * 64.0),  # one link of 32 GT/s x 16 to each peer
        ("4xMI300X", "xgmi", 3 * 64.0),
        ("2xMI300X", "xgmi", 64.0),
        ("4xMI300A", "xgmi", 3 * 64.0),
        ("8xH100", "nvlink", 450.0),
        ("8xA100-80GB", "nvlink", 300.0),
        ("8xMI210", "pcie", 31.5),
        ("2xRTX 4090", "pcie", 31.5),
        ("4xMI250X", "xgmi", 50.0),
    ],
)
def test_links_are_those_of_the_family(text: str, fabric: str, gb_s: float) -> None:
    fleet = described(text)
    assert fleet.fabric == fabric == fleet.gpu.fabric
    assert fleet.gpu.local_link == pytest.approx(gb_s * 1e9, rel=0.001)
    assert fleet.islands == (tuple(range(fleet.per_node)),)
    assert fleet.gpu.mesh == (fabric == "xgmi" and "250" not in text)


def test_one_gpu_needs_no_link() -> None:
    fleet = described("MI300X")
    assert (fleet.fabric, fleet.island) == ("none", 1)


def test_host_memory_is_assumed_and_said_so_or_taken_as_given() -> None:
    assumed = described("8xMI300X")
    assert assumed.host_memory_bytes == 3 * 8 * 192 * GIB
    assert assumed.sources["host_memory"] == "assumption"
    assert any("three times" in note for note in assumed.notes)
    given = described("8xMI300X", ram_gib=1024)
    assert (given.host_memory_bytes, given.sources["host_memory"]) == (1024 * GIB, "stated")
    assert not any("main memory" in note for note in given.notes)


def test_a_gpu_in_main_memory_leaves_the_host_what_it_does_not_use() -> None:
    fleet = described("4xMI300A")
    assert fleet.integrated
    assert fleet.host_memory_bytes == pytest.approx(4 * 128 * GIB - 4 * fleet.gpu.usable_bytes)


def test_the_network_between_nodes_is_an_assumption() -> None:
    fleet = described("8xMI300X", nodes=4)
    assert (fleet.gpus, fleet.sources["network"]) == (32, "assumption")
    assert any("network is not known" in note for note in fleet.notes)
    with pytest.raises(SpecError):
        described("8xMI300X", nodes=0)


def test_the_specification_reads_back_as_the_same_gpu() -> None:
    for text in ("8xMI300X", "4xMI250X", "2xMI50", "8xT4:16GiB", "8xA100", "2xRTX 4090"):
        fleet = described(text)
        assert read_gpu(dict(fleet.spec_gpu), network_rates(), []) == fleet.gpu


@pytest.mark.parametrize("text", ["Ryzen AI Max+ 395:128GiB", "Ryzen AI Max 390:96GiB", "Ryzen AI Max+ PRO 395:64GiB"])
def test_a_plus_sign_of_a_name_joins_no_two_kinds(text: str) -> None:
    one = described(text)
    assert one.integrated
    assert one.gfx == "gfx1151"


def test_a_part_in_main_memory_asks_what_it_may_use_and_has_the_rate_of_its_size() -> None:
    with pytest.raises(SpecError, match="uses main memory; state how much the GPU may use"):
        described("Ryzen AI Max+ 395")
    with pytest.raises(SpecError, match="Without it, a machine that has none"):
        described("cpu")
    large, middle = described("Ryzen AI Max+ 395:96GiB"), described("Radeon 8050S:96GiB")
    assert large.gpu.peak == pytest.approx(512 * 40 * 2.9e9, rel=0.001)
    assert middle.gpu.peak == pytest.approx(0.8 * 59.4e12, rel=0.001)  # 32 compute units of 40
    assert "8050S" in middle.name
    assert any("half of main memory" in note for note in middle.notes)
    assert not any("half of main memory" in note for note in described("4xMI300A").notes)
    assert read_gpu(dict(middle.spec_gpu), network_rates(), []) == middle.gpu


@pytest.mark.parametrize("text", ["8xMI300X+8xMI250X", "MI300X + RTX 4090", "RX 7900 XTX+7900 XT", "MI300X, MI210"])
def test_two_kinds_are_refused(text: str) -> None:
    with pytest.raises(SpecError, match="several kinds"):
        described(text)


@pytest.mark.parametrize(
    ("text", "gpus", "name", "note"),
    [
        # As Slurm and ROCm count on a node of four cards, and as AMD's data sheets do: the same node.
        ("8xMI250X", 8, "8 x MI250X (4 cards)", "8 GPUs (GCDs)"),
        ("4xMI250X", 8, "4 x MI250X (8 GPUs)", "the 8 GPUs that Slurm"),
        ("6xMI250", 6, "6 x MI250 (3 cards)", "3 cards of 2 GPUs"),
        ("4 MI250X GCDs", 4, "4 x MI250X (2 cards)", "4 GPUs (GCDs)"),
        ("MI250X-GCD", 1, "1 x MI250X (1 card)", "1 card of 2 GPUs"),
    ],
)
def test_cards_of_two_gpus_are_counted_as_the_user_does(text: str, gpus: int, name: str, note: str) -> None:
    fleet = described(text)
    assert (fleet.per_node, fleet.spec_gpu["per_node"], fleet.name) == (gpus, gpus, name)
    assert any(note in line for line in fleet.notes)
    assert fleet.gpu.memory_bytes == 64 * GIB


def test_more_cards_of_two_gpus_than_a_node_holds_may_be_cards_or_gpus() -> None:
    with pytest.raises(SpecError, match=r"--gpus 4xMI250X --nodes 4 for cards, --gpus 8xMI250X --nodes 2 for GPUs"):
        described("16xMI250X")
    assert described("8xMI250X", 2).name == "2 x 8 MI250X (4 cards each)"


@pytest.mark.parametrize(("text", "gib"), [("8xA100-40", 40), ("A100 80", 80), ("V100-32", 32)])
def test_a_size_without_its_unit_is_one_that_the_part_has(text: str, gib: float) -> None:
    assert described(text).gpu.memory_bytes == gib * GIB
    with pytest.raises(SpecError, match="not known"):
        described("A100-48")


def test_a_processor_with_graphics_may_use_half_of_main_memory() -> None:
    fleet = described("Strix Halo", 1, 128)
    assert (fleet.gpu.memory_bytes, fleet.sources["memory"]) == (64 * GIB, "half of main memory, the driver's default")
    assert any("1xStrix-Halo:96GiB" in note for note in fleet.notes)
    with pytest.raises(SpecError, match="state how much"):
        described("Strix Halo")


@pytest.mark.parametrize(
    ("text", "profile", "gib"),
    [("8xH20", "h20", 96), ("2xA10", "a10", 24), ("L4", "l4", 24), ("4xL20", "l20", 48), ("8xH800", "h800-sxm", 80)],
)
def test_short_names_of_server_cards_are_known(text: str, profile: str, gib: float) -> None:
    gpu = described(text).gpu
    assert (gpu.profile_id, gpu.memory_bytes / GIB) == (profile, gib)
    assert gpu.peak is not None
    assert read_gpu(text.split("x")[-1], {}, []).profile_id == profile


def test_a_gpu_in_main_memory_leaves_the_system_a_part() -> None:
    """128 GiB are all that a Strix Halo board has; 96 of them may be the GPU's."""
    every = described("Strix Halo:128GiB")
    assert every.gpu.memory_bytes == 96 * GIB
    assert any("--ram says how much" in note for note in every.notes)
    stated = described("Strix Halo:96GiB", 1, 128)
    assert stated.gpu.memory_bytes == 96 * GIB
    assert not any("rest is for the system" in note for note in stated.notes)
    assert described("Strix Halo:120GiB", 1, 128).gpu.memory_bytes == 96 * GIB
