"""amd-smi of several releases: texts constructed after outputs seen and the library's field names, values by eye."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.amd.amd_smi import parse_amd_smi

STATIC_TEXT = """\
WARNING: User is missing the following required groups: render, video. Please add user to these groups.
GPU: 0
    ASIC:
        MARKET_NAME: AMD Instinct MI350X
        VENDOR_ID: 0x1002
        SUBVENDOR_ID: 0x1002
        DEVICE_ID: 0x75a0
        SUBSYSTEM_ID: 0x75a0
        REV_ID: 0x02
        ASIC_SERIAL: 0xE8986800E182538A
        OAM_ID: 6
        NUM_COMPUTE_UNITS: 256
        TARGET_GRAPHICS_VERSION: gfx950
    BUS:
        BDF: 0000:05:00.0
        MAX_PCIE_WIDTH: 16
        MAX_PCIE_SPEED: 32 GT/s
        PCIE_LEVELS: N/A
        PCIE_INTERFACE_VERSION: Gen 5
        SLOT_TYPE: OAM
    IFWI:
        NAME: AMD MI350X
        BUILD_DATE: 2025/06/19 21:03
        PART_NUMBER: 113-M350-01-1K0-920A
        VERSION: 00154951
    LIMIT:
        MAX_POWER: 1000 W
        MIN_POWER: 0 W
        SOCKET_POWER: 950 W
        SLOWDOWN_EDGE_TEMPERATURE: N/A
        SLOWDOWN_HOTSPOT_TEMPERATURE: 100 °C
        SHUTDOWN_VRAM_TEMPERATURE: 115 °C
    DRIVER:
        NAME: amdgpu
        VERSION: 6.18.3
    RAS:
        EEPROM_VERSION: 0x10000
        PARITY_SCHEMA: DISABLED
        POISON_SCHEMA: ENABLED
        ECC_BLOCK_STATE:
            UMC: ENABLED
            SDMA: DISABLED
    PARTITION:
        COMPUTE_PARTITION: SPX
        MEMORY_PARTITION: NPS1
        PARTITION_ID: 0
    NUMA:
        NODE: 1
        AFFINITY: -1
    VRAM:
        TYPE: HBM3E
        VENDOR: N/A
        SIZE: 294896 MB
        BIT_WIDTH: 8192
    PROCESS_ISOLATION: Disabled

GPU: 1
    ASIC:
        MARKET_NAME: N/A
        OAM_ID: N/A
    BUS:
        BDF: 0000:15:00.0
"""

STATIC_JSON: list[dict[str, Any]] = [
    {
        "gpu": 0,
        "asic": {
            "market_name": "AMD Instinct MI300X",
            "vendor_id": "0x1002",
            "device_id": "0x74a1",
            "subsystem_id": "0x74a1",
            "asic_serial": "0x8D1457E2C20F59D2",
            "oam_id": 4294967295,
            "num_compute_units": 304,
            "target_graphics_version": "gfx942",
        },
        "bus": {
            "bdf": "0000:0C:00.0",
            "max_pcie_width": 16,
            "max_pcie_speed": {"value": 32, "unit": "GT/s"},
            "pcie_interface_version": "Gen 5",
            "slot_type": "OAM",
        },
        "limit": {
            "ppt0": {"max_power_limit": {"value": 750, "unit": "W"}, "socket_power_limit": {"value": 650, "unit": "W"}},
            "slowdown_hotspot_temperature": {"value": 100, "unit": "C"},
        },
        "driver": {"name": "amdgpu", "version": "6.8.5"},
        "ras": {
            "eeprom_version": "0x10000",
            "poison_schema": "ENABLED",
            "ecc_block_state": [{"block": "UMC", "status": "ENABLED"}, {"block": "GFX", "status": "DISABLED"}],
        },
        "vram": {"type": "HBM", "vendor": "SAMSUNG", "size": {"value": 196592, "unit": "MB"}, "bit_width": 8192},
        "numa": {"node": 0, "affinity": 4294967295},
    }
]

METRIC: dict[str, Any] = {
    "gpu": 3,
    "usage": {"gfx_activity": {"value": 97, "unit": "%"}, "umc_activity": {"value": 12, "unit": "%"}},
    "power": {"socket_power": {"value": 133, "unit": "W"}, "throttle_status": "UNTHROTTLED"},
    "clock": {
        "gfx_0": {"clk": {"value": 132, "unit": "MHz"}, "max_clk": {"value": 2100, "unit": "MHz"}},
        "mem_0": {"clk": {"value": 900, "unit": "MHz"}, "max_clk": "N/A"},
    },
    "temperature": {"edge": "N/A", "hotspot": {"value": 41, "unit": "C"}, "mem": {"value": 33, "unit": "C"}},
    "pcie": {
        "width": 8,
        "speed": {"value": 16, "unit": "GT/s"},
        "replay_count": 7,
        "replay_roll_over_count": "N/A",
        "nak_sent_count": 0,
    },
    "ecc": {"total_correctable_count": 5, "total_uncorrectable_count": 1, "total_deferred_count": "N/A"},
    "ecc_blocks": {"UMC": {"correctable_count": 5, "uncorrectable_count": 1, "deferred_count": 0}},
    "perf_level": "AMDSMI_DEV_PERF_LEVEL_AUTO",
    "mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}, "used_vram": {"value": 283, "unit": "MB"}},
    "throttle": {
        "ppt_violation_status": "ACTIVE",
        "socket_thermal_violation_status": "NOT ACTIVE",
        "hbm_thermal_violation_status": "N/A",
        "gfx_clk_below_host_limit_violation_status": {"xcp_0": ["NOT ACTIVE", "ACTIVE"]},
    },
}

TOPOLOGY_TEXT = """\
ACCESS TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 ENABLED      ENABLED
0000:22:00.0 ENABLED      ENABLED

WEIGHT TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 0            15
0000:22:00.0 15           0

HOPS TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 0            1
0000:22:00.0 1            0

LINK TYPE TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 SELF         XGMI
0000:22:00.0 XGMI         SELF

NUMA BW TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 N/A          50000-64000
0000:22:00.0 50000-64000  N/A
"""

OVERVIEW = """\
+------------------------------------------------------------------------------+
| AMD-SMI 26.0.0+37d158ab      amdgpu version: 6.14.14  ROCm version: 7.0.0    |
| Platform: Linux Baremetal                                                    |
|-------------------------------------+----------------------------------------|
| BDF                        GPU-Name | Mem-Uti   Temp   UEC       Power-Usage |
| GPU  HIP-ID  OAM-ID  Partition-Mode | GFX-Uti    Fan               Mem-Usage |
|=====================================+========================================|
| 0000:05:00.0    AMD Instinct MI300X | 2 %      40 °C   0           140/750 W |
|   0       1       7        SPX/NPS1 | 3 %        N/A           283/196592 MB |
|-------------------------------------+----------------------------------------|
| 0000:15:00.0    AMD Instinct MI300X | N/A        N/A   0             N/A/0 W |
|   1     N/A     N/A             N/A | N/A        N/A             0/196592 MB |
+-------------------------------------+----------------------------------------+
+------------------------------------------------------------------------------+
| Processes:                                                                   |
|  GPU        PID  Process Name          GTT_MEM  VRAM_MEM  MEM_USAGE     CU % |
|==============================================================================|
|    0       4711  python3                2.0 MB    1.5 GB     1.6 GB     0.0  |
+------------------------------------------------------------------------------+
"""


def test_static_text() -> None:
    smi = parse_amd_smi(STATIC_TEXT)
    assert len(smi.gpus) == 2
    gpu, other = smi.gpus
    assert (gpu.get("name"), gpu.get("vendor_id"), gpu.get("device_id")) == ("AMD Instinct MI350X", "1002", "75a0")
    assert (gpu.get("unique_id"), gpu.get("compute_units"), gpu.get("gfx")) == ("e8986800e182538a", 256, "gfx950")
    assert (gpu.get("bdf"), gpu.get("pcie.device.max_width"), gpu.get("pcie.device.max_speed_gt_s")) == (
        "0000:05:00.0",
        16,
        32.0,
    )
    assert gpu.get("vbios") == "113-M350-01-1K0-920A"
    assert (gpu.get("power.cap_w"), gpu.get("power.cap_max_w")) == (950.0, 1000.0)
    assert gpu.get("limit_temps_c") == {"slowdown_junction": 100.0, "shutdown_memory": 115.0}
    assert (gpu.get("driver"), gpu.get("driver_version")) == ("amdgpu", "6.18.3")
    assert (gpu.get("partition.compute"), gpu.get("partition.memory")) == ("SPX", "NPS1")
    assert (gpu.get("numa"), gpu.get("numa_affinity")) == (1, -1)
    assert gpu.get("vram_bytes") == 294896 << 20
    assert STATIC_TEXT.splitlines()[gpu.lines["device_id"] - 1].strip() == "DEVICE_ID: 0x75a0"
    assert (other.get("name"), other.get("bdf")) == (None, "0000:15:00.0")
    assert STATIC_TEXT.splitlines()[other.line - 1] == "GPU: 1"


@pytest.mark.parametrize("wrapped", [STATIC_JSON, {"gpu_data": STATIC_JSON}, STATIC_JSON[0]])
def test_static_json(wrapped: object) -> None:
    smi = parse_amd_smi(json.dumps(wrapped, indent=4))
    (gpu,) = smi.gpus
    assert smi.complete is True
    assert (gpu.get("name"), gpu.get("device_id"), gpu.get("unique_id")) == (
        "AMD Instinct MI300X",
        "74a1",
        "8d1457e2c20f59d2",
    )
    assert (gpu.get("bdf"), gpu.get("pcie.device.max_speed_gt_s"), gpu.get("pcie.device.max_width")) == (
        "0000:0c:00.0",
        32.0,
        16,
    )
    assert gpu.get("compute_units") == 304
    assert (gpu.get("power.cap_w"), gpu.get("power.cap_max_w")) == (650.0, 750.0)
    assert gpu.get("limit_temps_c") == {"slowdown_junction": 100.0}
    assert (gpu.get("vram_bytes"), gpu.get("numa"), gpu.get("numa_affinity")) == (196592 << 20, 0, -1)
    assert "74a1" in json.dumps(wrapped, indent=4).splitlines()[gpu.lines["device_id"] - 1]


def test_metric_json() -> None:
    (gpu,) = parse_amd_smi(json.dumps([METRIC])).gpus
    assert gpu.index == 3
    assert gpu.get("power.now_w") == 133.0
    assert (gpu.get("clocks_mhz.gfx_0"), gpu.get("clocks_mhz.mem_0")) == (132.0, 900.0)
    assert gpu.get("temps_c") == {"junction": 41.0, "memory": 33.0}
    assert (gpu.get("pcie.device.width"), gpu.get("pcie.device.speed_gt_s"), gpu.get("pcie.replay_count")) == (
        8,
        16.0,
        7,
    )
    assert gpu.get("violations") == {"ppt": True, "socket_thermal": False, "gfx_clk_below_host_limit": True}
    assert (gpu.get("performance_level"), gpu.get("vram_used_bytes")) == ("auto", 283 << 20)


def test_metric_text() -> None:
    smi = parse_amd_smi(
        "GPU: 0\n    POWER:\n        SOCKET_POWER: 1 W\n        THROTTLE_STATUS: THROTTLED\n    TEMPERATURE:\n"
        "        EDGE: 34 °C\n        HOTSPOT: 37 °C\n    ECC_BLOCKS:\n        UMC:\n            CORRECTABLE_COUNT: 2\n"
        "            UNCORRECTABLE_COUNT: 0\n        GFX: N/A\n    PCIE:\n        WIDTH: 16\n        SPEED: 2.5 GT/s\n"
        "    THROTTLE:\n        PPT_VIOLATION_STATUS: NOT ACTIVE\n"
    )
    (gpu,) = smi.gpus
    assert (gpu.get("power.now_w"), gpu.get("temps_c")) == (1.0, {"edge": 34.0, "junction": 37.0})
    assert (gpu.get("pcie.device.width"), gpu.get("pcie.device.speed_gt_s"), gpu.get("violations")) == (
        16,
        2.5,
        {"ppt": False},
    )


def test_older_field_names() -> None:
    (gpu,) = parse_amd_smi(
        json.dumps(
            [
                {
                    "gpu": 0,
                    "vram": {"vram_type": "GDDR6", "vram_size_mb": 24560},
                    "driver": {"driver_name": "amdgpu", "driver_version": "6.3.6"},
                    "bus": {"bdf": "0000:03:00.0", "max_pcie_lanes": 16, "max_pcie_speed": "16000 MT/s"},
                    "pcie": {"current_lanes": 1, "current_speed": "2500 MT/s"},
                }
            ]
        )
    ).gpus
    assert (gpu.get("vram_bytes"), gpu.get("driver_version")) == (24560 << 20, "6.3.6")
    assert (
        gpu.get("pcie.device.max_width"),
        gpu.get("pcie.device.max_speed_gt_s"),
        gpu.get("pcie.device.width"),
        gpu.get("pcie.device.speed_gt_s"),
    ) == (16, 16.0, 1, 2.5)


def test_list() -> None:
    (gpu,) = parse_amd_smi(
        json.dumps(
            [
                {
                    "gpu": 2,
                    "bdf": "0001:00:00.0",
                    "uuid": "04ff74a1-0000-1000-8014-57e2c20f59d2",
                    "kfd_id": 55354,
                    "node_id": 2,
                    "partition_id": 0,
                    "hip_id": 1,
                    "render": "renderD130",
                }
            ]
        )
    ).gpus
    assert (gpu.get("bdf"), gpu.get("gpu_id"), gpu.get("kfd_node"), gpu.get("hip_index")) == (
        "0001:00:00.0",
        55354,
        2,
        1,
    )
    text = parse_amd_smi("GPU: 0\n    BDF: 0000:63:00.0\n    UUID: 17ff66a1-0000\n    KFD_ID: 4711\n    NODE_ID: 1\n")
    assert (text.gpus[0].get("bdf"), text.gpus[0].get("gpu_id"), text.gpus[0].get("kfd_node")) == (
        "0000:63:00.0",
        4711,
        1,
    )


def test_topology_text() -> None:
    smi = parse_amd_smi(TOPOLOGY_TEXT)
    assert [gpu.get("bdf") for gpu in smi.gpus] == ["0000:0c:00.0", "0000:22:00.0"]
    (link,) = smi.links
    assert (link.a, link.b, link.type, link.weight, link.hops) == (0, 1, "xgmi", 15, 1)


def test_topology_json() -> None:
    far = {"weight": 15, "link_status": "ENABLED", "link_type": "XGMI", "num_hops": 1, "bandwidth": "50000-64000"}
    smi = parse_amd_smi(
        json.dumps(
            [
                {"gpu": 0, "bdf": "0000:0c:00.0", "links": [{"gpu": 0, "link_type": "SELF"}, {"gpu": 1, **far}]},
                {"gpu": 1, "bdf": "0000:22:00.0", "links": [{"gpu": 0, **far}, {"gpu": 1, "weight": 0}]},
            ]
        )
    )
    (link,) = smi.links
    assert (link.a, link.b, link.type, link.weight, link.hops) == (0, 1, "xgmi", 15, 1)


def test_partition_text_and_json() -> None:
    text = parse_amd_smi(
        "CURRENT_PARTITION:\nGPU_ID  MEMORY  ACCELERATOR_TYPE  ACCELERATOR_PROFILE_INDEX  PARTITION_ID\n"
        "0       NPS4    CPX               3                          0\n1       N/A     N/A               N/A   N/A\n"
    )
    assert (text.gpus[0].get("partition.memory"), text.gpus[0].get("partition.compute")) == ("NPS4", "CPX")
    assert text.gpus[1].get("partition.compute") is None
    found = parse_amd_smi(
        json.dumps(
            {"current_partition": [{"gpu_id": 0, "memory": "NPS1", "accelerator_type": "SPX", "partition_id": "0"}]}
        )
    )
    assert (found.gpus[0].get("partition.memory"), found.gpus[0].get("partition.compute")) == ("NPS1", "SPX")


def test_processes() -> None:
    info = {"name": "python3", "pid": 4711, "memory_usage": {"vram_mem": {"value": 2048, "unit": "B"}}}
    smi = parse_amd_smi(json.dumps([{"gpu": 1, "process_list": [{"process_info": info}]}]))
    (process,) = smi.processes
    assert (process.gpu, process.vram_bytes) == (1, 2048)
    text = parse_amd_smi(
        "GPU: 0\n    PROCESS_INFO:\n        NAME: train\n        PID: 12\n        MEMORY_USAGE:\n"
        "            GTT_MEM: 2.0 MB\n            VRAM_MEM: 1.5 GB\n    PROCESS_INFO:\n        PID: 13\n"
    )
    assert [one.vram_bytes for one in text.processes] == [1610612736, None]
    assert parse_amd_smi("GPU: 0\n    PROCESS_INFO: No running processes detected\n").no_processes


def test_version_text_and_json() -> None:
    text = parse_amd_smi(
        "AMDSMI Tool: 25.5.1+41065ee | AMDSMI Library version: 25.5.1 | ROCm version: 6.4.1 | amdgpu version: 6.12.12\n"
    )
    assert text.driver_version == "6.12.12"
    found = parse_amd_smi(json.dumps([{"tool": "AMDSMI Tool", "rocm_version": "N/A", "amdgpu_version": "6.12.12"}]))
    assert (found.driver_version, found.lines) == ("6.12.12", {"driver_version": 1})


def test_xgmi_text() -> None:
    metrics = "LINK METRIC TABLE:\n       bdf          bit_rate\nGPU0   0000:0c:00.0 32 Gb/s   512 Gb/s       XGMI\n"
    for text in (metrics, "XGMI LINK STATUS:\nGPU0   0000:0c:00.0  SELF U D\n"):
        assert [gpu.get("bdf") for gpu in parse_amd_smi(text).gpus] == ["0000:0c:00.0"]


def test_firmware() -> None:
    found = parse_amd_smi(json.dumps([{"gpu": 0, "fw_list": [{"fw_id": "CP_MEC1", "fw_version": "138"}]}]))
    assert found.gpus[0].get("firmware") == {"CP_MEC1": "138"}
    text = parse_amd_smi(
        "GPU: 0\n    FW_LIST:\n        FW 0:\n            FW_ID: CP_MEC1\n            FW_VERSION: 138\n"
        "        FW 1:\n            FW_ID: RLC\n            FW_VERSION: 63\n"
    )
    assert text.gpus[0].get("firmware") == {"CP_MEC1": "138", "RLC": "63"}


def test_overview_of_release_7() -> None:
    smi = parse_amd_smi(OVERVIEW)
    assert smi.driver_version == "6.14.14"
    gpu, other = smi.gpus
    assert (gpu.get("bdf"), gpu.get("name"), gpu.get("hip_index")) == ("0000:05:00.0", "AMD Instinct MI300X", 1)
    assert (gpu.get("power.now_w"), gpu.get("power.cap_w"), gpu.get("temps_c")) == (140.0, 750.0, {"shown": 40.0})
    assert (gpu.get("partition.compute"), gpu.get("partition.memory")) == ("SPX", "NPS1")
    assert (gpu.get("vram_used_bytes"), gpu.get("vram_bytes")) == (283 << 20, 196592 << 20)
    assert (other.index, other.get("power.now_w"), other.get("partition.compute"), other.get("hip_index")) == (
        1,
        None,
        None,
        None,
    )
    (process,) = smi.processes
    assert (process.gpu, process.vram_bytes) == (0, 1610612736)


def test_no_driver() -> None:
    smi = parse_amd_smi(
        "ERROR:root:Unable to get devices, driver not initialized (amdgpu not found in modules)\n"
        "ERROR:root:Unable to detect any GPU devices, check amdgpu version and module status (sudo modprobe amdgpu)\n"
    )
    assert smi.gpus == ()


def test_nothing_said_is_nothing_known() -> None:
    smi = parse_amd_smi("")
    assert (smi.gpus, smi.no_processes) == ((), False)


def test_halves_never_raise_and_keep_what_was_there() -> None:
    text = json.dumps(STATIC_JSON, indent=2)
    half = parse_amd_smi(text[: text.index('"slot_type"')])
    assert (
        half.complete is False and half.gpus[0].get("bdf") == "0000:0c:00.0" and half.gpus[0].get("vram_bytes") is None
    )
    for whole in (STATIC_TEXT, text, json.dumps([METRIC]), TOPOLOGY_TEXT, OVERVIEW):
        for end in range(0, len(whole), 11):
            parse_amd_smi(whole[:end])
            parse_amd_smi(whole[end:])


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("N/A")
WORDS = (
    "gpu asic bus bdf limit clock clk ecc ecc_blocks UMC throttle links retired ras ecc_block_state fw_list "
    "process_list process_info pid memory_usage vram size value page_address"
)
KEYS = st.sampled_from(WORDS.split())
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(TREES, st.integers(0, 9))
def test_any_json_never_raises(tree: object, index: int) -> None:
    parse_amd_smi(json.dumps(tree))
    merged = (
        {**tree, "gpu": index}
        if isinstance(tree, dict)
        else {"gpu": index, "asic": tree, "retired": tree, "links": tree}
    )
    parse_amd_smi(json.dumps([merged]))
