"""rocm-smi of several releases: texts constructed after its print code and after outputs seen, values by eye."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.amd.rocm_smi import parse_rocm_smi

TABLE_5 = """\
======================= ROCm System Management Interface =======================
================================= Concise Info =================================
GPU  Temp   AvgPwr  SCLK    MCLK     Fan     Perf  PwrCap       VRAM%  GPU%
0    37.0c  38.0W   300Mhz  1200Mhz  14.9%   auto  290.0W         0%   0%
1    N/A    N/A     None    None     0%      auto  Unsupported   12%   99%
================================================================================
============================= End of ROCm SMI Log ==============================
"""
TABLE_57 = """\
GPU  Temp (DieEdge)  AvgPwr  SCLK  MCLK   Fan  Perf  PwrCap  VRAM%  GPU%
0    31.0c           7.0W    0Mhz  96Mhz  0%   auto  303.0W   3%   0%
"""
TABLE_60 = """\
====================================== Concise Info ======================================
Device  [Model : Revision]    Temp        Power     Partitions      SCLK    MCLK    Fan  Perf  PwrCap  VRAM%  GPU%
        Name (20 chars)       (Junction)  (Socket)  (Mem, Compute)
===========================================================================================
0       [0x74a1 : 0x00]       35.0°C      133.0W    NPS1, SPX       131Mhz  900Mhz  0%   auto  750.0W    0%   0%
        AMD Instinct MI300X
1       [0x74a1 : 0x00]       37.0°C      131.0W    NPS4, CPX       132Mhz  900Mhz  0%   auto  750.0W    5%   0%
        AMD Instinct MI300X
===========================================================================================
"""
TABLE_6 = """\
WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status

====================================== Concise Info ======================================
Device  Node  IDs              Temp    Power  Partitions          SCLK  MCLK   Fan  Perf  PwrCap  VRAM%  GPU%
              (DID,     GUID)  (Edge)  (Avg)  (Mem, Compute, ID)
==========================================================================================
0       1     0x744c,   24697  35.0°C  16.0W  N/A, N/A, 0         0Mhz  96Mhz  0%   auto  339.0W  9%     2%
1       3     0x164e,   705    N/A     N/A    N/A, N/A, 0         N/A   N/A    0%   auto  N/A     4%     0%
==========================================================================================
================================== End of ROCm SMI Log ===================================
"""
SECTIONS = """\
============================ ROCm System Management Interface ============================
============================== Version of System Component ===============================
Driver version: 6.7.0
=========================================== ID ===========================================
GPU[0]\t\t: Device ID: 0x740f
GPU[0]\t\t: Device Rev: 0x2
======================================= Unique ID ========================================
GPU[0]\t\t: Unique ID: 0x71fb8ea0b5d23c6
GPU[1]\t\t: Unique ID: N/A
====================================== Temperature =======================================
GPU[0]\t\t: Temperature (Sensor edge) (C): 41.0
GPU[0]\t\t: Temperature (Sensor HBM 0) (C): 45.0
=============================== Current clock frequencies ================================
GPU[0]\t\t: sclk clock level: S: (137Mhz)
GPU[0]\t\t: mclk clock level: 3: (1600Mhz)
GPU[0]\t\t: pcie clock level: 0 (8.0GT/s x4)
================================= Show Performance Level =================================
GPU[0]\t\t: Performance Level: AUTO
==================================== OverDrive Level =====================================
GPU[0]\t\t: get_overdrive_level_sclk, Not supported on the given system
======================================= Power Cap ========================================
GPU[0]\t\t: Max Graphics Package Power (W): 300.0
================================== Power Consumption =====================================
GPU[0]\t\t: Current Socket Graphics Package Power (W): 39.0
============================== Supported clock frequencies ===============================
GPU[0]\t\t: Supported PCIe frequencies on GPU0
GPU[0]\t\t: 0: 2.5GT/s x16
GPU[0]\t\t: 1: 16.0GT/s x16 *
======================================= RAS Info =========================================

GPU[0]: \tRAS INFO
         Block       Status    uncorrectable err  correctable err
           UMC      ENABLED                  3                1
          SDMA     DISABLED
__________________________________________________________________________________________
=================================== Memory Usage (Bytes) =================================
GPU[0]\t\t: VRAM Total Memory (B): 68702699520
GPU[0]\t\t: VRAM Total Used Memory (B): 10850304
===================================== PCI Bus ID =========================================
GPU[0]\t\t: PCI Bus: 0000:C5:00.0
====================================== Product Info ======================================
GPU[0]\t\t: Card series: \t\tAMD Instinct MI210
GPU[0]\t\t: Card SKU: \t\tD67301
==================================== KFD Processes =======================================
KFD process information:
PID    \tPROCESS NAME\tGPU(s)\tVRAM USED  \tSDMA USED\tCU OCCUPANCY
4711   \tpython3     \t1     \t10737418240\t0        \t0
4712   \tUNKNOWN     \t0     \tUNKNOWN    \tUNKNOWN  \tUNKNOWN
==========================================================================================
================================== Firmware Information ==================================
GPU[0]\t\t: MEC firmware version: \t78
ERROR: GPU[1] : sclk clock is unsupported
=============================== Current Compute Partition ================================
GPU[0]\t\t: Compute Partition: SPX
================================== End of ROCm SMI Log ===================================
"""
TOPOLOGY = """\
================================ Weight between two GPUs =================================
       GPU0         GPU1         GPU2
GPU0   0            15           72
GPU1   15           0            72
GPU2   72           72           0

================================= Hops between two GPUs ==================================
       GPU0         GPU1         GPU2
GPU0   0            1            3
GPU1   1            0            3
GPU2   3            3            0

=============================== Link Type between two GPUs ===============================
       GPU0         GPU1         GPU2
GPU0   0            XGMI         PCIE
GPU1   XGMI         0            XXXX
GPU2   PCIE         XXXX         0

======================================= Numa Nodes =======================================
GPU[0]\t\t: (Topology) Numa Node: 0
GPU[0]\t\t: (Topology) Numa Affinity: 0
GPU[1]\t\t: (Topology) Numa Affinity: 4294967295
======================================= Bandwidth ========================================
       GPU0         GPU1         GPU2
GPU0   N/A          50000-100000 0-0
GPU1   50000-100000 N/A          0-0
GPU2   0-0          0-0          N/A
Format: min-max; Units: mps
================================== End of ROCm SMI Log ===================================
"""


def test_concise_table_of_release_5() -> None:
    smi = parse_rocm_smi(TABLE_5)
    assert (smi.form, smi.complete) == ("table", True)
    first, second = smi.gpus
    assert (first.index, first.line) == (0, 4)
    assert first.get("temps_c") == {"edge": 37.0}
    assert (first.get("power.now_w"), first.get("power.cap_w")) == (38.0, 290.0)
    assert (first.get("clocks_mhz.sclk"), first.get("clocks_mhz.mclk")) == (300.0, 1200.0)
    assert (first.get("performance_level"), first.get("vram_used_percent")) == ("auto", 0.0)
    assert (
        second.get("temps_c"),
        second.get("power.now_w"),
        second.get("power.cap_w"),
        second.get("clocks_mhz.sclk"),
    ) == (None, None, None, None)
    assert (second.get("vram_used_percent"), second.get("busy_percent")) == (12.0, 99.0)


def test_concise_table_of_release_5_7_pasted_without_its_frame() -> None:
    (gpu,) = parse_rocm_smi(TABLE_57).gpus
    assert (gpu.get("temps_c"), gpu.get("power.now_w"), gpu.get("power.cap_w")) == ({"edge": 31.0}, 7.0, 303.0)
    assert not parse_rocm_smi(TABLE_57).complete


def test_concise_table_of_release_6_0() -> None:
    first, second = parse_rocm_smi(TABLE_60).gpus
    assert (first.get("pci_id"), first.get("name")) == ("1002:74a1", "AMD Instinct MI300X")
    assert first.get("temps_c") == {"junction": 35.0}
    assert first.get("power.now_w") == 133.0
    assert (second.get("partition.memory"), second.get("partition.compute"), second.get("vram_used_percent")) == (
        "NPS4",
        "CPX",
        5.0,
    )
    assert second.lines["name"] == 8


def test_concise_table_of_release_6_1_and_later() -> None:
    smi = parse_rocm_smi(TABLE_6)
    assert smi.complete
    first, second = smi.gpus
    assert (first.get("kfd_node"), first.get("pci_id"), first.get("gpu_id")) == (1, "1002:744c", 24697)
    assert (first.get("temps_c"), first.get("power.cap_w")) == ({"edge": 35.0}, 339.0)
    assert (first.get("partition.memory"), first.get("partition.compute")) == (None, None)
    assert (
        second.get("kfd_node"),
        second.get("pci_id"),
        second.get("power.now_w"),
        second.get("vram_used_percent"),
    ) == (3, "1002:164e", None, 4.0)


def test_very_old_table_with_a_pcie_column() -> None:
    smi = parse_rocm_smi(
        "  GPU   Temp   AvgPwr   SCLK     MCLK    PCLK           Fan     Perf    PwrCap   SCLK OD   MCLK OD  GPU%\n"
        "  0     44.0c  37.0W    852Mhz   167Mhz  8.0GT/s, x16   20.78%  auto    220.0W   0%        0%       0%\n"
    )
    assert (
        smi.gpus[0].get("pcie.device.speed_gt_s"),
        smi.gpus[0].get("pcie.device.width"),
        smi.gpus[0].get("power.cap_w"),
    ) == (8.0, 16, 220.0)


def test_row_of_another_shape_gives_the_number_only() -> None:
    smi = parse_rocm_smi("GPU  Temp  AvgPwr  SCLK  MCLK\n0    37.0c  38.0W  300Mhz  1200Mhz  extra cells\n")
    assert [gpu.index for gpu in smi.gpus] == [0]
    assert smi.gpus[0].get("power.now_w") is None


def test_sections() -> None:
    smi = parse_rocm_smi(SECTIONS)
    assert (smi.form, smi.complete, smi.driver_version) == ("sections", True, "6.7.0")
    gpu, other = smi.gpus
    assert (gpu.get("pci_id"), gpu.get("unique_id")) == ("1002:740f", "071fb8ea0b5d23c6")
    assert gpu.get("temps_c") == {"edge": 41.0, "hbm 0": 45.0}
    assert (gpu.get("clocks_mhz.sclk"), gpu.get("clocks_mhz.mclk")) == (137.0, 1600.0)
    assert (gpu.get("pcie.device.speed_gt_s"), gpu.get("pcie.device.width")) == (8.0, 4)
    assert gpu.get("performance_level") == "auto"
    assert (gpu.get("power.now_w"), gpu.get("power.cap_w")) == (39.0, 300.0)
    assert (gpu.get("vram_bytes"), gpu.get("vram_used_bytes")) == (68702699520, 10850304)
    assert (gpu.get("bdf"), gpu.get("name")) == ("0000:c5:00.0", "AMD Instinct MI210")
    assert gpu.get("partition.compute") == "SPX"
    assert other.get("unique_id") is None
    assert SECTIONS.splitlines()[gpu.lines["bdf"] - 1].endswith("0000:C5:00.0")


def test_ras_counts_are_correctable_first_whatever_the_header_says() -> None:
    ras = parse_rocm_smi(SECTIONS).gpus[0].get("blocks")
    assert (ras["UMC"].correctable, ras["UMC"].uncorrectable) == (3, 1)
    assert ras["SDMA"].correctable is None


def test_topology_tables() -> None:
    smi = parse_rocm_smi(TOPOLOGY)
    assert [(link.a, link.b, link.type, link.weight, link.hops) for link in smi.links] == [
        (0, 1, "xgmi", 15, 1),
        (0, 2, "pcie", 72, 3),
        (1, 2, None, 72, 3),
    ]
    assert (smi.gpus[0].get("numa"), smi.gpus[0].get("numa_affinity")) == (0, 0)
    assert (smi.gpus[1].get("numa"), smi.gpus[1].get("numa_affinity")) == (None, -1)


CARD = {
    "Device Name": "Navi 22 [Radeon RX 6700 XT]",
    "Device ID": "0x73df",
    "Unique ID": "N/A",
    "Temperature (Sensor junction) (C)": "47.0",
    "sclk clock speed:": "(0Mhz)",
    "pcie clock level": "1 (16.0GT/s x16)",
    "Max Graphics Package Power (W)": "211.0",
    "Average Graphics Package Power (W)": "6.0",
    "0": "2.5GT/s x1",
    "1": "16.0GT/s x16 *",
    "GPU Memory Allocated (VRAM%)": "12",
    "PCI Bus": "0000:07:00.0",
    "VRAM Total Memory (B)": "12868124672",
    "VIS_VRAM Total Memory (B)": "268435456",
    "Card Model": "0x73df",
    "Node ID": "1",
    "GFX Version": "gfx1031",
    "(Topology) Numa Affinity": "-1",
}
SYSTEM = {
    "Driver version": "6.3.6",
    "(Topology) Weight between DRM devices 0 and 1": "40",
    "(Topology) Hops between DRM devices 0 and 1": "2",
    "(Topology) Link type between DRM devices 0 and 1": "PCIE",
    "PID4711": "python3, 1, 1048576, 0, 0",
}


def test_json() -> None:
    smi = parse_rocm_smi(json.dumps({"card0": CARD, "system": SYSTEM}, indent=1))
    (gpu,) = smi.gpus
    assert (smi.form, smi.complete, smi.driver_version) == ("json", True, "6.3.6")
    assert (gpu.get("name"), gpu.get("pci_id"), gpu.get("gfx"), gpu.get("kfd_node")) == (
        "Navi 22 [Radeon RX 6700 XT]",
        "1002:73df",
        "gfx1031",
        1,
    )
    assert (gpu.get("unique_id"), gpu.get("numa_affinity")) == (None, -1)
    assert (gpu.get("pcie.device.speed_gt_s"), gpu.get("pcie.device.width")) == (16.0, 16)
    assert (gpu.get("power.now_w"), gpu.get("power.cap_w"), gpu.get("temps_c"), gpu.get("clocks_mhz.sclk")) == (
        6.0,
        211.0,
        {"junction": 47.0},
        0.0,
    )
    assert (gpu.get("vram_bytes"), gpu.get("visible_vram_bytes"), gpu.get("vram_used_percent")) == (
        12868124672,
        268435456,
        12.0,
    )
    assert gpu.lines["pci_id"] == 4
    link = smi.links[0]
    assert (link.a, link.b, link.weight, link.hops, link.type) == (0, 1, 40, 2, "pcie")


@pytest.mark.parametrize(
    ("key", "value", "name", "expected"),
    [
        ("GPU ID", "0x66a1", "pci_id", "1002:66a1"),
        ("Card series", "AMD Instinct MI210", "name", "AMD Instinct MI210"),
        ("Card Series", "AMD Instinct MI210", "name", "AMD Instinct MI210"),
        ("Current Socket Graphics Package Power (W)", "140.0", "power.now_w", 140.0),
        ("Average Graphics Package Power (W)", "N/A (Secondary die)", "power.now_w", None),
        ("(Topology) Numa Affinity", "4294967295", "numa_affinity", -1),
        ("Unique ID", "0x0", "unique_id", None),
        ("VBIOS version", "unknown", "vbios", None),
    ],
)
def test_key_spellings(key: str, value: str, name: str, expected: object) -> None:
    (gpu,) = parse_rocm_smi(json.dumps({"card3": {key: value}})).gpus
    assert gpu.index == 3
    assert gpu.get(name) == expected


def test_json_after_warnings_and_broken_off() -> None:
    text = "WARNING: AMD GPU device(s) is/are in a low-power state.\n\n" + json.dumps({"card0": CARD})
    whole = parse_rocm_smi(text)
    assert whole.gpus[0].get("bdf") == "0000:07:00.0"
    half = parse_rocm_smi(text[: text.index('"PCI Bus"') + 15])
    assert not half.complete and half.gpus[0].get("pci_id") == "1002:73df" and half.gpus[0].get("bdf") is None


def test_driver_missing() -> None:
    smi = parse_rocm_smi(
        "cat: /sys/module/amdgpu/initstate: No such file or directory\n"
        "ERROR:root:Driver not initialized (amdgpu not found in modules)\n"
    )
    assert smi.form == "none" and smi.gpus == ()


def test_nothing_said_is_nothing_known() -> None:
    smi = parse_rocm_smi("")
    assert smi.gpus == () and smi.links == ()


def test_halves_never_raise() -> None:
    for text in (TABLE_5, TABLE_6, SECTIONS, TOPOLOGY, json.dumps({"card0": CARD, "system": SYSTEM})):
        for end in range(0, len(text), 11):
            parse_rocm_smi(text[:end])
            parse_rocm_smi(text[end:])


@given(
    st.dictionaries(
        st.sampled_from(["card0", "card1", "system", "x"]),
        st.dictionaries(st.sampled_from([*CARD, *SYSTEM]), st.text() | st.integers() | st.floats() | st.none())
        | st.none()
        | st.integers(),
    )
)
def test_any_json_never_raises(anything: dict[str, object]) -> None:
    parse_rocm_smi(json.dumps(anything))
