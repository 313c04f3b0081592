"""rocminfo: texts constructed after its print format (ROCm 5.2 to 7), values looked at by eye."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    assert info.complete
    assert (info.module_loaded, info.module_version) == (True, "6.10.5")
    assert (info.runtime_version, info.runtime_ext_version) == ("1.14", "1.6")
    assert (info.xnack_enabled, info.dmabuf_support, info.vmm_support) == (False, True, True)
    assert info.lines["runtime_version"] == 5
    assert [agent.number for agent in info.agents] == [1, 2, 3]
    assert [agent.number for agent in info.gpus] == [2, 3]
    assert info.errors == ()


def test_cpu_agent() -> None:
    cpu = parse_rocminfo(FULL).agents[0]
    assert cpu.device_type == "CPU" and not cpu.is_gpu
    assert cpu.name == "AMD EPYC 7763 64-Core Processor"
    assert (cpu.unique_id, cpu.gfx, cpu.pci_address) == (None, None, None)
    assert cpu.memory_bytes == 1 << 30
    assert cpu.pools[0].flags == ("KERNARG", "FINE GRAINED")
    assert cpu.cache_bytes == {"L1": 32 << 20}


def test_gpu_agent() -> None:
    gpu = parse_rocminfo(FULL).agents[1]
    assert (gpu.gfx, gpu.marketing_name, gpu.node) == ("gfx90a", "AMD Instinct MI210", 1)
    assert gpu.unique_id == "71fb8ea0b5d23c66"
    assert gpu.chip_id == 0x740F
    assert gpu.bdfid == 50432 and gpu.pci_address == "0000:c5:00.0" and gpu.domain is None
    assert (gpu.compute_units, gpu.simds_per_cu, gpu.shader_engines, gpu.wavefront_size) == (104, 4, 8, 64)
    assert (gpu.max_clock_mhz, gpu.ucode_version, gpu.sdma_ucode_version) == (1700, 83, 8)
    assert gpu.memory_bytes == 67092480 * 1024
    assert [pool.segment for pool in gpu.pools] == ["GLOBAL", "GROUP"]
    assert (gpu.pools[0].allocatable, gpu.pools[1].allocatable) == (True, False)
    assert gpu.pools[0].granule_bytes == 4096
    assert (gpu.isas[0].gfx, gpu.isas[0].sramecc, gpu.isas[0].xnack) == ("gfx90a", True, False)
    assert gpu.apu is False and gpu.coherent_host_access is False
    assert FULL.splitlines()[gpu.lines["compute_units"] - 1].split() == ["Compute", "Unit:", "104"]
    assert FULL.splitlines()[gpu.isas[0].line - 1].endswith("gfx90a:sramecc+:xnack-")


def test_agent_with_domain_partition_and_generic_isa() -> None:
    gpu = parse_rocminfo(FULL).agents[2]
    assert gpu.marketing_name is None and gpu.unique_id is None and gpu.apu is True
    assert (gpu.domain, gpu.pci_address, gpu.partition) == (1, "0001:03:00.0", 1)
    assert [(isa.gfx, isa.generic) for isa in gpu.isas] == [("gfx1103", False), ("gfx11-generic", True)]
    assert (gpu.isas[0].sramecc, gpu.isas[0].xnack) == (None, None)


@pytest.mark.parametrize("reason", ["Permission denied", "Cannot allocate memory", "No such file or directory"])
def test_kfd_cannot_be_opened(reason: str) -> None:
    info = parse_rocminfo(
        f"ROCk module is loaded\n\x1b[31mUnable to open /dev/kfd read-write: {reason}\x1b[0m\n"
        'anna is not member of "render" group, the default DRM access group. Users must be ...\n'
    )
    assert info.kfd_error == reason
    assert (info.user, info.missing_group, info.member_of_group) == ("anna", "render", None)
    assert info.module_loaded is True and info.agents == () and not info.complete
    assert info.lines["kfd_error"] == 2
    assert len(info.errors) == 2


def test_failed_call() -> None:
    info = parse_rocminfo(
        "ROCk module is loaded\nUnable to open /dev/kfd read-write: Cannot allocate memory\n"
        "anna is member of render group\nhsa api call failure at: /src/rocminfo/rocminfo.cc:1142\n"
        "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources.\n"
    )
    assert info.hsa_call_site == "/src/rocminfo/rocminfo.cc:1142"
    assert info.hsa_status == "HSA_STATUS_ERROR_OUT_OF_RESOURCES"
    assert info.hsa_message == "The runtime failed to allocate the necessary resources."
    assert info.member_of_group == "render" and info.missing_group is None


def test_failed_call_of_old_releases() -> None:
    info = parse_rocminfo("hsa api call failure at line 900, file: /a/rocminfo.cc. Call returned 4104\n")
    assert info.hsa_status == "4104"
    assert info.hsa_call_site == "line 900, file: /a/rocminfo.cc"


def test_failure_in_the_middle_of_an_agent() -> None:
    info = parse_rocminfo(FULL[: FULL.index("  Chip ID:                 29711")] + "hsa api call failure at: r.cc:9\n")
    assert info.hsa_call_site == "r.cc:9" and not info.complete
    assert info.agents[1].marketing_name == "AMD Instinct MI210"


def test_module_not_loaded() -> None:
    info = parse_rocminfo("ROCk module is NOT loaded, possibly no GPU devices\n")
    assert info.module_loaded is False and info.gpus == ()


def test_nothing_said_is_nothing_known() -> None:
    info = parse_rocminfo("")
    assert info.module_loaded is None and info.kfd_error is None and info.agents == ()


def test_half_of_it_never_raises_and_keeps_what_was_there() -> None:
    half = parse_rocminfo(FULL[: FULL.index("  Internal Node ID")])
    assert half.agents[1].gfx == "gfx90a" and half.agents[1].compute_units is None and not half.complete
    for end in range(0, len(FULL), 7):
        parse_rocminfo(FULL[:end])


@given(st.text() | st.lists(st.sampled_from(FULL.splitlines())).map("\n".join))
def test_any_text_never_raises(anything: str) -> None:
    parse_rocminfo(anything)
