"""KFD topology: properties transcribed and shortened from an 8-GPU partitioned host and from a 2018 kernel."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.kernel import kfd

PARTITION = """cpu_cores_count 0
simd_count 80
mem_banks_count 1
caches_count 46
io_links_count 32
p2p_links_count 1
lds_size_in_kb 64
wave_front_size 64
array_count 4
simd_per_cu 4
gfx_target_version 90402
vendor_id 4098
device_id 29858
location_id {location}
domain {domain}
drm_render_minor 128
hive_id 1234567890123456789
max_engine_clk_fcompute 1420
local_mem_size 0
fw_version 149
unique_id 81985529216486895
num_xcc 1
max_engine_clk_ccompute 3800
"""
OLD = """cpu_cores_count 0
simd_count 256
simd_per_cu 4
vendor_id 4098
device_id 26720
location_id 6400
drm_render_minor 128
local_mem_size 17163091968
unique_id 14073402507700000001
"""
CPU = (
    "cpu_cores_count 20\nsimd_count 0\nsimd_per_cu 0\nlocation_id 0\ndrm_render_minor 0\nmax_engine_clk_ccompute 3200\n"
)
LINK = """type 11
version_major 0
version_minor 0
node_from 2
node_to 5
weight 13
min_latency 0
max_latency 0
min_bandwidth 819200
max_bandwidth 819200
recommended_transfer_size 0
recommended_sdma_engine_id_mask 2
flags 1
"""


def partition(location: int, domain: int = 0) -> kfd.KfdNode:
    return kfd.parse_node(PARTITION.format(location=location, domain=domain), "24248\n", "ip discovery\n")


def test_a_partition_of_a_new_kernel() -> None:
    node = partition(2561)
    assert node.is_gpu is True
    assert node.is_cpu is False
    assert node.gfx == "gfx942"
    assert node.pci == "0000:0a:00.1"
    assert node.compute_units == 20
    assert node.gpu_id == 24248
    assert node.hive_id == 1234567890123456789
    assert node.unique_id == 81985529216486895
    assert node.drm_render_minor == 128
    assert node.lines["gfx_target_version"] == 11


def test_an_old_kernel_prints_less() -> None:
    node = kfd.parse_node(OLD)
    assert node.gfx is None
    assert node.hive_id is None
    assert node.pci == "0000:19:00.0"
    assert node.compute_units == 64
    assert node.gpu_id is None


def test_a_cpu_node() -> None:
    node = kfd.parse_node(CPU, "0\n", "\n")
    assert node.is_gpu is False
    assert node.is_cpu is True
    assert node.pci is None
    assert node.drm_render_minor is None


def test_a_node_closed_by_a_cgroup_is_not_known() -> None:
    node = kfd.parse_node("")
    assert node.is_gpu is None
    assert node.is_cpu is None
    assert kfd.parse_node("", "24248").is_gpu is True


@pytest.mark.parametrize(
    ("version", "gfx"),
    [
        (70001, "gfx701"),
        (80003, "gfx803"),
        (90000, "gfx900"),
        (90006, "gfx906"),
        (90010, "gfx90a"),
        (90012, "gfx90c"),
        (90402, "gfx942"),
        (90500, "gfx950"),
        (100300, "gfx1030"),
        (110000, "gfx1100"),
        (110501, "gfx1151"),
        (120001, "gfx1201"),
        (0, None),
        (None, None),
        (90099, None),
    ],
)
def test_gfx_names(version: int | None, gfx: str | None) -> None:
    assert kfd.gfx_from_target_version(version) == gfx


def test_partitions_of_one_device_stand_together() -> None:
    nodes = [kfd.parse_node(CPU), *(partition(41984 + n) for n in range(4)), *(partition(2560 + n) for n in range(4))]
    nodes.append(partition(2560, domain=1))
    groups = kfd.device_groups(nodes)
    assert groups == ((5, 6, 7, 8), (1, 2, 3, 4), (9,))
    assert kfd.device_pci([nodes[index] for index in groups[0]]) == "0000:0a:00.0"
    assert kfd.device_pci([nodes[9]]) == "0001:0a:00.0"


def test_partition_number_in_the_high_bits() -> None:
    nodes = [partition(0x0A00), partition(0x1000_0A00)]
    assert [node.partition_id for node in nodes] == [None, 1]
    assert nodes[1].pci == "0000:0a:00.0"
    assert kfd.device_groups(nodes) == ((0, 1),)


def test_the_same_address_twice_is_no_partition() -> None:
    assert kfd.device_groups([kfd.parse_node(OLD), kfd.parse_node(OLD)]) == ((0,), (1,))


def test_links() -> None:
    link = kfd.parse_link(LINK)
    assert link is not None
    assert (link.type_name, link.node_from, link.node_to, link.weight) == ("xgmi", 2, 5, 13)
    assert link.lines["weight"] == 6


def test_a_pcie_link_that_lacks_things() -> None:
    link = kfd.parse_link("type 2\nnode_from 0\nnode_to 1\nweight 20\nmin_bandwidth 0\nmax_bandwidth 0\nflags 29\n")
    assert link is not None
    assert link.type_name == "pcie"
    assert kfd.parse_link("") is None


def test_memory() -> None:
    bank = kfd.parse_mem_bank("heap_type 1\nsize_in_bytes 51539607552\nflags 0\nwidth 8192\nmem_clk_max 1300\n")
    system = kfd.parse_mem_bank("heap_type 0\nsize_in_bytes 1081864880128\nflags 0\nwidth 64\nmem_clk_max 5600\n")
    assert bank is not None
    assert system is not None
    assert kfd.vram_bytes([bank, system]) == 51539607552
    assert kfd.vram_bytes([system]) is None
    assert kfd.parse_mem_bank("x 1") is None


@given(
    st.text() | st.sampled_from([PARTITION, OLD, LINK]).flatmap(lambda t: st.integers(0, len(t)).map(lambda n: t[:n]))
)
def test_any_nodes_make_devices_or_none(text: str) -> None:
    node = kfd.parse_node(text, text, text)
    kfd.device_groups([node, node])
    kfd.device_pci([node])
    if (bank := kfd.parse_mem_bank(text)) is not None:
        kfd.vram_bytes([bank])


@given(st.dictionaries(st.sampled_from(PARTITION.split()[::2]), st.integers(-5, 2**70)))
def test_any_number_never_raises(values: dict[str, int]) -> None:
    node = kfd.parse_node("\n".join(f"{name} {value}" for name, value in values.items()))
    kfd.device_groups([node])
