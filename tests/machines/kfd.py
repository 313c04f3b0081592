"""The compute topology of the amdgpu driver, as /sys/class/kfd lists it."""

# A list of names reads better as words.
# ruff: noqa: SIM905
from __future__ import annotations

from collections.abc import Callable

from tests.machines.amd import Gpu
from tests.machines.files import Files

ROOT = "/sys/devices/virtual/kfd/kfd/topology"

# (a, b) -> links between two GPUs of one hive; 0 for none.
Width = Callable[[int, int], int]


def one_link(a: int, b: int) -> int:
    """A full mesh with one link a pair."""
    return int(a != b)


def put_topology(
    files: Files,
    gpus: list[Gpu],
    cpu_nodes: int,
    cores: int,
    width: Width = one_link,
    hidden: tuple[int, ...] = (),
    first_minor: int = 128,
) -> None:
    """All nodes and links. ``hidden`` GPUs are those that a device cgroup closes: it refuses to read them."""
    files.link("/sys/class/kfd/kfd", "/sys/devices/virtual/kfd/kfd")
    for node in range(cpu_nodes):
        _put_cpu(files, node, cores // cpu_nodes)
    places = [(number, part) for number, gpu in enumerate(gpus) if gpu.card.kfd for part in range(gpu.partitions)]
    minor = first_minor
    minors: dict[tuple[int, int], int] = {}
    for number, gpu in enumerate(gpus):
        for part in range(gpu.partitions):
            minors[number, part] = minor
            minor += 1
    for at, (number, part) in enumerate(places):
        node = cpu_nodes + at
        if number in hidden:
            for name in ("properties", "gpu_id", "name"):
                files.refuse(f"{ROOT}/nodes/{node}/{name}")
            continue
        _put_gpu(files, node, gpus[number], part, minors[number, part])
        _put_links(files, node, gpus, places, number, part, cpu_nodes, width)


def _put_cpu(files: Files, node: int, cores: int) -> None:
    names = (
        "cpu_cores_count simd_count mem_banks_count caches_count io_links_count p2p_links_count cpu_core_id_base "
        "simd_id_base max_waves_per_simd lds_size_in_kb gds_size_in_kb num_gws wave_front_size array_count "
        "simd_arrays_per_engine cu_per_simd_array simd_per_cu max_slots_scratch_cu gfx_target_version vendor_id "
        "device_id location_id domain drm_render_minor hive_id num_sdma_engines num_sdma_xgmi_engines "
        "num_sdma_queues_per_engine num_cp_queues"
    ).split()
    values = dict.fromkeys(names, 0) | {"cpu_cores_count": cores, "mem_banks_count": 1, "max_engine_clk_ccompute": 3700}
    files.put(f"{ROOT}/nodes/{node}/properties", _lines(values))
    files.put_all(f"{ROOT}/nodes/{node}", {"gpu_id": 0, "name": ""})


def gpu_id(gpu: Gpu, part: int) -> int:
    """The driver's short id of a node."""
    return (gpu.unique_id // 7 + part * 4111) % 65000 + 300


def _put_gpu(files: Files, node: int, gpu: Gpu, part: int, minor: int) -> None:
    card = gpu.card
    units = card.compute_units // gpu.partitions
    bus, rest = gpu.bdf[5:].split(":")
    location = int(bus, 16) << 8 | int(rest.split(".")[0], 16) << 3 | (part if gpu.partitions > 1 else 0)
    major = card.gfx_version // 10000
    values = {
        "cpu_cores_count": 0,
        "simd_count": units * card.simd_per_cu,
        "mem_banks_count": 1,
        "caches_count": units * 3,
        "io_links_count": 1,
        "p2p_links_count": 0,
        "cpu_core_id_base": 0,
        "simd_id_base": 2147487744,
        "max_waves_per_simd": 16 if major >= 11 else 8,
        "lds_size_in_kb": 64,
        "gds_size_in_kb": 0,
        "num_gws": 64,
        "wave_front_size": 32 if major >= 10 else 64,
        "array_count": 8,
        "simd_arrays_per_engine": 1,
        "cu_per_simd_array": max(units // 8, 1),
        "simd_per_cu": card.simd_per_cu,
        "max_slots_scratch_cu": 32,
        "gfx_target_version": card.gfx_version,
        "vendor_id": 4098,
        "device_id": int(card.device, 16),
        "location_id": location,
        "domain": int(gpu.bdf[:4], 16),
        "drm_render_minor": minor,
        "hive_id": gpu.hive,
        "num_sdma_engines": 2,
        "num_sdma_xgmi_engines": 6 if gpu.hive else 0,
        "num_sdma_queues_per_engine": 8,
        "num_cp_queues": 24,
        "max_engine_clk_fcompute": card.sclk_mhz[-1],
        "local_mem_size": 0,
        "fw_version": 182,
        "capability": 746037888,
        "debug_prop": 1511,
        "sdma_fw_version": 24,
        "unique_id": gpu.unique_id if card.unique else 0,
        "num_xcc": card.xccs // gpu.partitions or 1,
        "max_engine_clk_ccompute": 3700,
    }
    folder = f"{ROOT}/nodes/{node}"
    files.put(f"{folder}/properties", _lines(values))
    files.put_all(folder, {"gpu_id": gpu_id(gpu, part), "name": "ip discovery"})
    size = card.compute_bytes // gpu.partitions
    heap = 1 if card.apu or card.large_bar else 2
    width = 8192 if card.ras else 384
    bank = {"heap_type": heap, "size_in_bytes": size, "flags": 0, "width": width, "mem_clk_max": card.mclk_mhz[-1]}
    files.put(f"{folder}/mem_banks/0/properties", _lines(bank))


def _put_links(
    files: Files,
    node: int,
    gpus: list[Gpu],
    places: list[tuple[int, int]],
    number: int,
    part: int,
    cpu_nodes: int,
    width: Width,
) -> None:
    gpu = gpus[number]
    home = gpu.slot.numa if 0 <= gpu.slot.numa < cpu_nodes else 0
    lanes = gpu.card.link[1]
    speed = int(float(gpu.card.link[0]) * lanes / 8 * 1000)
    rows: list[dict[str, int]] = [_link(2, node, home, 20, 312, speed)]
    peers: list[dict[str, int]] = []
    for at, (other, other_part) in enumerate(places):
        there = cpu_nodes + at
        same = other == number
        if there == node or (same and other_part == part):
            continue
        if gpu.hive and gpus[other].hive == gpu.hive and (same or width(number, other)):
            each = 64000 if gpu.card.xccs > 1 else 50000
            rows.append(_link(11, node, there, 13 if same else 15, each, each * max(width(number, other), 1)))
        elif gpu.card.large_bar and gpus[other].card.large_bar and not gpu.card.apu and not gpus[other].card.apu:
            far = gpus[other].slot.numa != gpu.slot.numa
            peers.append(_link(2, node, there, 52 if far else 40, 0, 0))
    for kind, found in (("io_links", rows), ("p2p_links", peers)):
        for at, values in enumerate(found):
            files.put(f"{ROOT}/nodes/{node}/{kind}/{at}/properties", _lines(values))


def _link(kind: int, start: int, end: int, weight: int, low: int, high: int) -> dict[str, int]:
    return {
        "type": kind,
        "version_major": 0,
        "version_minor": 0,
        "node_from": start,
        "node_to": end,
        "weight": weight,
        "min_latency": 0,
        "max_latency": 0,
        "min_bandwidth": low,
        "max_bandwidth": high,
        "recommended_transfer_size": 0,
        "recommended_sdma_engine_id_mask": 3 if kind == 2 else 28,
        "flags": 1,
    }


def _lines(values: dict[str, int]) -> str:
    return "\n".join(f"{name} {value}" for name, value in values.items())
