"""rocminfo: texts constructed after its print format (ROCm 5.2 to 7), values looked at by eye."""

from __future__ import annotations

import pytest

from rocdoctor.parsers.amd.rocminfo import parse_rocminfo

FULL = """\x1b[37mROCk module version 6.10.5 is loaded\x1b[0m
=====================
HSA System Attributes
=====================
Runtime Version:         1.14
Runtime Ext Version:     1.6
System Timestamp Freq.:  1000.000000MHz
Machine Model:           LARGE
XNACK enabled:           NO
DMAbuf Support:          YES
VMM Support:             YES

==========
HSA Agents
==========
*******
Agent 1
*******
  Name:                    AMD EPYC 7763 64-Core Processor
  Uuid:                    CPU-XX
  Marketing Name:          AMD EPYC 7763 64-Core Processor
  Vendor Name:             CPU
  Node:                    0
  Device Type:             CPU
  Cache Info:
    L1:                      32768(0x8000) KB
  Chip ID:                 0(0x0)
  BDFID:                   0
  Compute Unit:            128
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: KERNARG, FINE GRAINED
      Size:                    1048576(0x100000) KB
      Allocatable:             TRUE
      Alloc Granule:           4KB
      Accessible by all:       TRUE
  ISA Info:
*******
Agent 2
*******
  Name:                    gfx90a
  Uuid:                    GPU-71fb8ea0b5d23c66
  Marketing Name:          AMD Instinct MI210
  Vendor Name:             AMD
  Feature:                 KERNEL_DISPATCH
  Profile:                 BASE_PROFILE
  Node:                    1
  Device Type:             GPU
  Cache Info:
    L1:                      16(0x10) KB
    L2:                      8192(0x2000) KB
  Chip ID:                 29711(0x740f)
  ASIC Revision:           1(0x1)
  Max Clock Freq. (MHz):   1700
  BDFID:                   50432
  Internal Node ID:        1
  Compute Unit:            104
  SIMDs per CU:            4
  Shader Engines:          8
  Coherent Host Access:    FALSE
  Memory Properties:
  Fast F16 Operation:      TRUE
  Wavefront Size:          64(0x40)
  Packet Processor uCode:: 83
  SDMA engine uCode::      8
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
      Size:                    67092480(0x3ffc000) KB
      Allocatable:             TRUE
      Alloc Granule:           4KB
      Accessible by all:       FALSE
    Pool 2
      Segment:                 GROUP
      Size:                    64(0x40) KB
      Allocatable:             FALSE
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-
      Machine Models:          HSA_MACHINE_MODEL_LARGE
*******
Agent 3
*******
  Name:                    gfx1103
  Uuid:                    GPU-XX
  Marketing Name:
  Device Type:             GPU
  Memory Properties:       APU
  BDFID:                   268436224
  Domain:                  1
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx1103
    ISA 2
      Name:                    amdgcn-amd-amdhsa--gfx11-generic
*** Done ***
"""


def test_whole_output() -> None:
    info = parse_rocminfo(FULL)
    assert info.module_version == "6.10.5"
    assert "ROCk module version" in FULL.splitlines()[info.lines["module_version"] - 1]
    assert info.errors == ()


def test_cpu_agent() -> None:
    cpu = parse_rocminfo(FULL).agents[0]
    assert cpu.device_type == "CPU" and not cpu.is_gpu
    assert (cpu.unique_id, cpu.gfx, cpu.pci_address) == (None, None, None)
    assert cpu.memory_bytes == 1 << 30


def test_gpu_agent() -> None:
    gpu = parse_rocminfo(FULL).agents[1]
    assert (gpu.gfx, gpu.marketing_name, gpu.node) == ("gfx90a", "AMD Instinct MI210", 1)
    assert gpu.unique_id == "71fb8ea0b5d23c66"
    assert gpu.chip_id == 0x740F
    assert gpu.pci_address == "0000:c5:00.0" and gpu.domain is None
    assert gpu.compute_units == 104
    assert gpu.memory_bytes == 67092480 * 1024
    assert [pool.segment for pool in gpu.pools] == ["GLOBAL", "GROUP"]
    assert gpu.apu is False
    assert FULL.splitlines()[gpu.lines["compute_units"] - 1].split() == ["Compute", "Unit:", "104"]


def test_agent_with_domain_partition_and_generic_isa() -> None:
    gpu = parse_rocminfo(FULL).agents[2]
    assert gpu.marketing_name is None and gpu.unique_id is None and gpu.apu is True
    assert (gpu.domain, gpu.pci_address) == (1, "0001:03:00.0")


@pytest.mark.parametrize("reason", ["Permission denied", "Cannot allocate memory", "No such file or directory"])
def test_kfd_cannot_be_opened(reason: str) -> None:
    info = parse_rocminfo(
        f"ROCk module is loaded\n\x1b[31mUnable to open /dev/kfd read-write: {reason}\x1b[0m\n"
        'anna is not member of "render" group, the default DRM access group. Users must be ...\n'
    )
    assert info.kfd_error == reason
    assert info.missing_group == "render"
    assert info.agents == ()
    assert info.lines["kfd_error"] == 2
    assert len(info.errors) == 2


def test_failed_call() -> None:
    info = parse_rocminfo(
        "ROCk module is loaded\nUnable to open /dev/kfd read-write: Cannot allocate memory\n"
        "anna is member of render group\nhsa api call failure at: /src/rocminfo/rocminfo.cc:1142\n"
        "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources.\n"
    )
    assert info.hsa_status == "HSA_STATUS_ERROR_OUT_OF_RESOURCES"
    assert info.missing_group is None


def test_failed_call_of_old_releases() -> None:
    info = parse_rocminfo("hsa api call failure at line 900, file: /a/rocminfo.cc. Call returned 4104\n")
    assert info.hsa_status == "4104"


def test_failure_in_the_middle_of_an_agent() -> None:
    info = parse_rocminfo(FULL[: FULL.index("  Chip ID:                 29711")] + "hsa api call failure at: r.cc:9\n")
    assert info.agents[1].marketing_name == "AMD Instinct MI210"


def test_module_not_loaded() -> None:
    info = parse_rocminfo("ROCk module is NOT loaded, possibly no GPU devices\n")
    assert info.gpus == ()


def test_nothing_said_is_nothing_known() -> None:
    info = parse_rocminfo("")
    assert info.kfd_error is None and info.agents == ()


def test_half_of_it_never_raises_and_keeps_what_was_there() -> None:
    half = parse_rocminfo(FULL[: FULL.index("  Internal Node ID")])
    assert half.agents[1].gfx == "gfx90a" and half.agents[1].compute_units is None
    for end in range(0, len(FULL), 7):
        parse_rocminfo(FULL[:end])
