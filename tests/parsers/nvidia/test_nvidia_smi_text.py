"""nvidia-smi -q and the failure messages. Samples are constructed in the form of drivers 535 to 565."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocdoctor.parsers.nvidia.nvidia_smi import parse_nvidia_smi, parse_query_text

MIB = 1024 * 1024

TEXT = """
==============NVSMI LOG==============

Timestamp                                 : Thu Nov 14 07:00:14 2024
Driver Version                            : 565.57.01
CUDA Version                              : 12.7

Attached GPUs                             : 2
GPU 00000000:18:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : Enabled
        Pending                           : Enabled
    MIG Device
        Index                             : 1
        GPU Instance ID                   : 2
        Compute Instance ID               : 0
        Device Attributes
            Shared
                Multiprocessor count      : 60
        FB Memory Usage
            Total                         : 40448 MiB
            Used                          : 44 MiB
    Serial Number                         : 1654423000000
    GPU UUID                              : GPU-b42dd28e-0000-0000-0000-000000000001
    Minor Number                          : 0
    Platform Info
        Module Id                         : 2
    PCI
        Bus                               : 0x18
        Device Id                         : 0x233010DE
        Bus Id                            : 00000000:18:00.0
        Sub System Id                     : 0x16C110DE
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 4
                Device Max                : 5
                Host Max                  : 5
            Link Width
                Max                       : 16x
                Current                   : 8x
        Replays Since Reset               : 7
        Tx Throughput                     : 567 KB/s
        Rx Throughput                     : 3874 KB/s
        Replay Number Rollovers           : 0
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Active
            HW Power Brake Slowdown       : Not Active
        Display Clock Setting             : Active
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 1 MiB
    ECC Mode
        Current                           : Enabled
        Pending                           : Enabled
    ECC Errors
        Volatile
            SRAM Correctable              : 1
            SRAM Uncorrectable Parity     : 2
            SRAM Uncorrectable SEC-DED    : 3
            DRAM Correctable              : 0
            DRAM Uncorrectable            : 0
        Aggregate
            SRAM Correctable              : 5
            DRAM Uncorrectable            : 6
            SRAM Threshold Exceeded       : No
    Retired Pages
        Single Bit ECC                    : N/A
        Double Bit ECC                    : 2
        Pending Page Blacklist            : No
    Remapped Rows
        Correctable Error                 : 1
        Uncorrectable Error               : 0
        Pending                           : No
        Remapping Failure Occurred        : Yes
        Bank Remap Availability Histogram
            Max                           : 2560 bank(s)
    Temperature
        GPU Current Temp                  : 30 C
        GPU T.Limit Temp                  : 57 C
        GPU Shutdown T.Limit Temp         : -8 C
        GPU Slowdown T.Limit Temp         : -2 C
        GPU Max Operating T.Limit Temp    : 0 C
        Memory Current Temp               : 36 C
    GPU Power Readings
        Power Draw                        : 100.89 W
        Current Power Limit               : 700.00 W
    GPU Memory Power Readings 
        Power Draw                        : 69.61 W
    Clocks
        Graphics                          : 345 MHz
        Memory                            : 2619 MHz
    Max Clocks
        SM                                : 1980 MHz
    Fabric
        State                             : In Progress
        Status                            : N/A
    Processes
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 4321
            Type                          : C
            Name                          : /usr/bin/python3
            Used GPU Memory               : 512 MiB

GPU 00000000:2A:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Persistence Mode                      : Disabled
    Processes                             : None
"""  # noqa: W291  (the tool writes a blank behind one of its headings)


def line_of(text: str, needle: str) -> int:
    return next(at for at, line in enumerate(text.split("\n"), 1) if needle in line)


def test_query_text() -> None:
    smi = parse_nvidia_smi(TEXT)
    assert (smi.driver_version, smi.cuda_version, smi.attached_gpus, smi.truncated) == ("565.57.01", "12.7", 2, False)
    gpu, other = smi.gpus
    assert (gpu.index, gpu.get("bdf"), gpu.get("name")) == (0, "0000:18:00.0", "NVIDIA H100 80GB HBM3")
    assert (gpu.get("pci_id"), gpu.get("subsystem_id")) == ("10de:2330", "10de:16c1")
    assert gpu.get("unique_id") == "GPU-b42dd28e-0000-0000-0000-000000000001"
    assert (gpu.get("mig"), gpu.get("mig_instances")) == (True, 1)
    assert gpu.get("vram_bytes") == 81559 * MIB  # not that of the MIG device, which stands first
    assert (
        gpu.get("pcie.device.speed_gt_s"),
        gpu.get("pcie.device.max_speed_gt_s"),
        gpu.get("pcie.device.width"),
        gpu.get("pcie.device.max_width"),
    ) == (16.0, 32.0, 8, 16)
    assert gpu.get("pcie.replay_count") == 7
    assert (gpu.get("traffic.pcie_sent_kb_s"), gpu.get("traffic.pcie_received_kb_s")) == (567, 3874)
    assert gpu.get("throttle") == ("gpu_idle", "hw_thermal_slowdown", "display_clocks_setting")
    assert (gpu.get("ecc_volatile_corrected"), gpu.get("ecc_volatile_uncorrected")) == (1, 5)
    assert (gpu.get("ecc_aggregate_corrected"), gpu.get("ecc_aggregate_uncorrected")) == (5, 6)
    assert (
        gpu.get("retired_pages_single_bit"),
        gpu.get("retired_pages_double_bit"),
        gpu.get("retired_pages_pending"),
    ) == (None, 2, False)
    assert (gpu.get("remapped_rows_pending"), gpu.get("remap_failure")) == (False, True)
    assert (gpu.get("temp_c"), gpu.get("temp_memory_c")) == (30, 36)
    assert (gpu.get("power.now_w"), gpu.get("power.cap_w")) == (100.89, 700.0)
    assert gpu.get("clocks_mhz.graphics") == 345
    assert (gpu.get("fabric_state"), gpu.get("fabric_status")) == ("In Progress", None)
    assert gpu.get("process_list") is not None
    assert [one.used_bytes for one in gpu.get("process_list")] == [512 * MIB]
    assert (gpu.lines["bdf"], gpu.lines["name"]) == (9, 10)
    assert gpu.lines["temp_c"] == line_of(TEXT, "GPU Current Temp")
    assert (other.get("bdf"), other.get("persistence"), other.get("process_list")) == ("0000:2a:00.0", False, ())
    assert "1654423000000" not in repr(smi)


def test_text_in_a_quoted_block_keeps_its_structure() -> None:
    indented = "\n".join("    " + line for line in TEXT.splitlines())
    gpu = parse_query_text(indented).gpus[0]
    assert (gpu.get("pcie.device.width"), gpu.get("temp_c"), gpu.get("vram_bytes")) == (8, 30, 81559 * MIB)


def test_section_output_is_not_called_cut() -> None:
    text = "Attached GPUs : 1\nGPU 00000000:18:00.0\n    Temperature\n        GPU Current Temp : 30 C\n"
    smi = parse_nvidia_smi(text)
    assert smi.gpus[0].get("temp_c") == 30 and not smi.truncated


def test_cut_text_says_so() -> None:
    smi = parse_query_text(TEXT[: TEXT.index("    Remapped Rows")])
    assert smi.truncated and smi.gpus[0].get("pcie.device.width") == 8 and smi.gpus[0].index is None
    assert smi.gpus[0].get("remapped_rows_pending") is None


@pytest.mark.parametrize(
    ("text", "kind", "bdf"),
    [
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
            "NVIDIA driver is installed and running.\n",
            "driver-not-running",
            None,
        ),
        (
            "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.104\n",
            "version-mismatch",
            None,
        ),
        ("Failed to initialize NVML: Driver Not Loaded\n", "driver-not-running", None),
        ("Failed to initialize NVML: GPU access blocked by the operating system\n", "blocked", None),
        ("Failed to initialize NVML: Unknown Error\n", "nvml-failed", None),
        ("No devices were found\n", "no-devices", None),
        (
            "Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.  Reboot the system\n",
            "gpu-lost",
            "0000:3b:00.0",
        ),
        (
            "Unable to determine the device handle for GPU0000:81:00.0: Unknown Error\n",
            "gpu-unreachable",
            "0000:81:00.0",
        ),
        ("WARNING: infoROM is corrupted at gpu 0000:3B:00.0\n", "inforom-corrupted", "0000:3b:00.0"),
        ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n", "library-missing", None),
    ],
)
def test_failures(text: str, kind: str, bdf: str | None) -> None:
    smi = parse_nvidia_smi("\n" + text)
    assert [(one.kind, one.bdf, one.line) for one in smi.failures] == [(kind, bdf, 2)]
    assert smi.gpus == ()


def test_failure_between_good_gpus() -> None:
    smi = parse_nvidia_smi("Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error\n" + TEXT)
    assert [one.kind for one in smi.failures] == ["gpu-unreachable"]
    assert len(smi.gpus) == 2


def test_output_of_other_programs_is_nothing() -> None:
    smi = parse_nvidia_smi("device: gpu found\nGPU memory : fine\n[    1.0] no devices found by the scanner\n")
    assert smi.gpus == () and smi.failures == () and smi.driver_version is None


@example("1e308 PB")
@given(st.text(alphabet="0123456789N/AERR!-+.eExX MiBCW%", max_size=30))
def test_any_value_never_raises(value: str) -> None:
    lines = [line.partition(" : ")[0] + " : " + value if " : " in line else line for line in TEXT.splitlines()]
    parse_query_text("\n".join(lines))
