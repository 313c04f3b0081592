"""hwloc XML of versions 1, 2 and 3; samples are constructed in their form, with values of real machines."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from rocdoctor.parsers.listings.lstopo import parse_lstopo

# hwloc 2: memory beside the cores, GPU memory as a node without CPUs, matrices behind the objects.
V2 = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000c" complete_cpuset="0x0000000f" allowed_cpuset="0x00000004" \
nodeset="0x00000003" complete_nodeset="0x00000103" allowed_nodeset="0x00000103" gp_index="1">
    <info name="DMIProductName" value="HPE_CRAY_EX235A"/>
    <info name="DMIBoardAssetTag" value="tag-0815"/>
    <info name="OSName" value="Linux"/>
    <info name="OSRelease" value="4.18.0-425"/>
    <info name="HostName" value="secret-host"/>
    <info name="Architecture" value="x86_64"/>
    <info name="hwlocVersion" value="2.8.0"/>
    <object type="Package" os_index="0" cpuset="0x00000003" nodeset="0x00000101" gp_index="3">
      <info name="CPUModel" value="AMD EPYC 7A53 64-Core Processor                "/>
      <object type="NUMANode" os_index="0" cpuset="0x00000003" nodeset="0x00000001" gp_index="11" \
local_memory="1073741824">
        <page_type size="4096" count="262144"/>
      </object>
      <object type="NUMANode" os_index="8" subtype="GPUMemory" cpuset="0x0" nodeset="0x00000100" gp_index="12" \
local_memory="68702699520">
        <info name="PCIBusID" value="0000:D1:00.0"/>
      </object>
      <object type="Core" os_index="0" cpuset="0x00000003" nodeset="0x00000101" gp_index="20">
        <object type="PU" os_index="0" cpuset="0x00000001" gp_index="21"/>
        <object type="PU" os_index="1" cpuset="0x00000002" gp_index="22"/>
      </object>
      <object type="Bridge" gp_index="30" bridge_type="0-1" depth="0" bridge_pci="0000:[d0-d1]">
        <object type="Bridge" gp_index="31" bridge_type="1-1" depth="1" bridge_pci="0000:[d1-d1]" \
pci_busid="0000:d0:07.1" pci_type="0604 [1022:14bf] [1022:14bf] 00" pci_link_speed="31.507692">
          <object type="PCIDev" gp_index="32" pci_busid="0000:d1:00.0" pci_type="0380 [1002:7408] [1002:0b0c] 01" \
pci_link_speed="31.507692">
            <info name="PCIVendor" value="AMD"/>
            <info name="PCIDevice" value="Aldebaran"/>
            <object type="OSDev" gp_index="41" name="rsmi0" subtype="RSMI" osdev_type="1">
              <info name="Backend" value="RSMI"/>
              <info name="GPUVendor" value="AMD"/>
              <info name="GPUModel" value="AMD INSTINCT MI200"/>
              <info name="AMDSerial" value="692137000000"/>
              <info name="AMDUUID" value="e850aef0615db971"/>
              <info name="XGMIHiveID" value="dc4193b3799d5078"/>
              <info name="RSMIVRAMSize" value="67092480"/>
              <info name="XGMIPeers" value="rsmi1 "/>
            </object>
            <object type="OSDev" gp_index="42" name="rsmi1" subtype="RSMI" osdev_type="1">
              <info name="Backend" value="RSMI"/>
              <info name="GPUModel" value=""/>
              <info name="AMDUUID" value="0000000000000000"/>
              <info name="XGMIHiveID" value="0"/>
            </object>
          </object>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000c" nodeset="0x00000002" gp_index="4">
      <info name="CPUModel" value="AMD EPYC 7A53 64-Core Processor"/>
      <object type="NUMANode" os_index="1" cpuset="0x0000000c" nodeset="0x00000002" gp_index="13" \
local_memory="2147483648"/>
      <object type="Core" os_index="0" cpuset="0x0000000c" gp_index="23">
        <object type="PU" os_index="2" cpuset="0x00000004" gp_index="24"/>
        <object type="PU" os_index="3" cpuset="0x00000008" gp_index="25"/>
      </object>
    </object>
    <object type="Bridge" gp_index="50" bridge_type="0-1" depth="0" bridge_pci="0000:[00-01]">
      <object type="PCIDev" gp_index="51" pci_busid="0000:01:00.0" pci_type="0207 [15b3:101b] [15b3:0007] 00" \
pci_link_speed="0.000000">
        <info name="PCISlot" value="2"/>
        <object type="OSDev" gp_index="52" name="mlx5_0" osdev_type="3">
          <info name="NodeGUID" value="506b:4b03:003c:eee8"/>
          <info name="Port1State" value="4"/>
          <info name="Port1GID0" value="fe80::1"/>
        </object>
        <object type="OSDev" gp_index="53" name="ib0" osdev_type="2">
          <info name="Address" value="20:00:10:87"/>
        </object>
      </object>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
    <indexes length="4">1 0 </indexes>
    <u64values length="6">10 32 </u64values>
    <u64values length="6">31 10 </u64values>
  </distances2>
  <distances2 type="OSDev" nbobjs="2" kind="9" name="XGMIBandwidth" indexing="gp">
    <indexes length="6">41 999 </indexes>
    <u64values length="9">1000000 100000 100000 1000000 </u64values>
  </distances2>
  <distances2 type="OSDev" nbobjs="3" kind="9" name="Incomplete" indexing="gp">
    <indexes length="6">41 42 </indexes>
    <u64values length="9">1 2 3</u64values>
  </distances2>
  <support name="discovery.pu"/>
</topology>
"""

# hwloc 1: packages and devices inside NUMA nodes, relative latencies, CUDA with its memory in KiB, sockets.
V1 = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc.dtd">
<topology>
  <object type="Machine" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" online_cpuset="0x00000003" \
allowed_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000003" allowed_nodeset="0x00000001">
    <info name="hwlocVersion" value="1.11.12"/>
    <object type="Socket" os_index="0" cpuset="0x00000003">
      <info name="CPUModel" value="AMD Ryzen Threadripper 2990WX 32-Core Processor"/>
      <distances nbobjs="2" relative_depth="1" latency_base="10.000000">
        <latency value="1.000000"/>
        <latency value="1.600000"/>
        <latency value="1.700000"/>
        <latency value="1.000000"/>
      </distances>
      <object type="NUMANode" os_index="2" cpuset="0x00000001" nodeset="0x00000004" local_memory="67591958528">
        <object type="Core" os_index="0"><object type="PU" os_index="0" cpuset="0x00000001"/></object>
        <object type="Bridge" os_index="0" bridge_type="0-1" depth="0" bridge_pci="0000:[40-44]">
          <object type="Bridge" os_index="1" bridge_type="1-1" pci_busid="0000:40:03.1" \
pci_type="0604 [1022:1453] [1022:1453] 00" pci_link_speed="4.000000">
            <object type="PCIDev" os_index="2" name="GP104 [GeForce GTX 1070]" pci_busid="0000:44:00.0" \
pci_type="0300 [10de:1b81] [19da:1435] a1" pci_link_speed="15.753846">
              <object type="OSDev" name="card0" osdev_type="1"/>
              <object type="OSDev" name="cuda0" osdev_type="5">
                <info name="CoProcType" value="CUDA"/>
                <info name="GPUModel" value="GeForce GTX 1070"/>
                <info name="CUDAGlobalMemorySize" value="8314432"/>
                <info name="CUDAMultiProcessors" value="15"/>
              </object>
              <object type="OSDev" name="nvml0" osdev_type="1">
                <info name="Backend" value="NVML"/>
                <info name="NVIDIASerial" value="0324217000000"/>
                <info name="NVIDIAUUID" value="GPU-4568d7d2-0000-0000-0000-000000000001"/>
              </object>
            </object>
          </object>
        </object>
      </object>
      <object type="NUMANode" os_index="1" cpuset="0x00000002" nodeset="0x0" complete_nodeset="0x00000002">
        <object type="Core" os_index="1"><object type="PU" os_index="1" cpuset="0x00000002"/></object>
      </object>
    </object>
  </object>
</topology>
"""


def test_v2_machine() -> None:
    topo = parse_lstopo(V2)
    assert topo.truncated is False
    assert (topo.packages, topo.cores, topo.pus) == (2, 2, 4)
    assert topo.cpu_models == ("AMD EPYC 7A53 64-Core Processor",)
    assert topo.allowed_cpulist == "2"
    assert topo.infos == {
        "DMIProductName": "HPE_CRAY_EX235A",
        "OSName": "Linux",
        "OSRelease": "4.18.0-425",
        "Architecture": "x86_64",
        "hwlocVersion": "2.8.0",
    }


def test_v2_memory_and_matrices() -> None:
    topo = parse_lstopo(V2)
    latency, bandwidth = topo.distances
    assert (latency.name, latency.labels, latency.values) == ("NUMALatency", ("1", "0"), ((10, 32), (31, 10)))
    assert (bandwidth.name, bandwidth.labels) == ("XGMIBandwidth", ("rsmi0", None))
    assert bandwidth.values == ((1000000, 100000), (100000, 1000000))


def test_v2_devices() -> None:
    gpu, nic = parse_lstopo(V2).pci_devices
    assert (gpu.bdf, gpu.pci_class, gpu.pci_id, gpu.subsystem_id) == ("0000:d1:00.0", "0380", "1002:7408", "1002:0b0c")
    assert (gpu.revision, gpu.name) == ("01", "Aldebaran")
    # Node 8 of the same package is GPU memory, without CPUs.
    assert (gpu.numa_node, gpu.is_display_or_accelerator) == (0, True)
    first, second = gpu.os_devices
    assert (first.name, first.kind, first.backend, first.model) == ("rsmi0", "gpu", "RSMI", "AMD INSTINCT MI200")
    assert first.vram_bytes == 68702699520
    assert (first.xgmi_hive_id, first.xgmi_peers) == ("dc4193b3799d5078", ("rsmi1",))
    assert (second.model, second.xgmi_hive_id, second.vram_bytes) == (None, None, None)
    assert (nic.bdf, nic.numa_node) == ("0000:01:00.0", None)
    assert [(one.name, one.kind, dict(one.infos)) for one in nic.os_devices] == [
        ("mlx5_0", "openfabrics", {"Port1State": "4"}),
        ("ib0", "network", {}),
    ]
    assert nic.is_display_or_accelerator is False


def test_lines() -> None:
    topo = parse_lstopo(V2)
    lines = V2.split("\n")
    assert 'os_index="8"' in lines[topo.numa_nodes[1].line - 1]
    assert "0000:d1:00.0" in lines[topo.pci_devices[0].line - 1]
    assert 'name="rsmi1"' in lines[topo.pci_devices[0].os_devices[1].line - 1]
    assert lines[topo.lines["allowed_cpulist"] - 1].startswith('  <object type="Machine"')


def test_identity_is_not_kept() -> None:
    kept = repr(parse_lstopo(V2)) + repr(parse_lstopo(V1))
    for word in ("secret-host", "tag-0815", "692137000000", "0324217000000", "506b:4b03", "20:00:10:87", "fe80"):
        assert word not in kept


def test_v1() -> None:
    topo = parse_lstopo(V1)
    assert (topo.packages, topo.cores, topo.pus) == (1, 2, 2)
    assert [(one.os_index, one.cpulist, one.memory_bytes) for one in topo.numa_nodes] == [
        (2, "0", 67591958528),
        (1, "1", 0),
    ]
    (latency,) = topo.distances
    assert (latency.labels, latency.values) == (("2", "1"), ((10, 16), (17, 10)))
    (gpu,) = topo.pci_devices
    assert (gpu.bdf, gpu.name, gpu.numa_node) == ("0000:44:00.0", "GP104 [GeForce GTX 1070]", 2)
    card, cuda, nvml = gpu.os_devices
    assert (card.name, card.backend, card.vram_bytes) == ("card0", None, None)
    assert (cuda.kind, cuda.backend, cuda.vram_bytes) == ("coproc", "CUDA", 8314432 * 1024)
    assert nvml.backend == "NVML"


def test_v3_infos_of_the_topology() -> None:
    text = '<topology version="3.0"><object type="Machine"/><info name="hwlocVersion" value="3.0.0"/></topology>'
    topo = parse_lstopo(text)
    assert topo.cores is None


def test_cut_file_says_so() -> None:
    topo = parse_lstopo(V2[: V2.index('<object type="OSDev" gp_index="42"')])
    assert topo.truncated
    assert topo.packages == 1 and topo.distances == ()
    assert topo.pci_devices[0].os_devices[0].vram_bytes == 68702699520


def test_impossible_distances_are_left_out() -> None:
    text = V1.replace('latency value="1.600000"', 'latency value="1e308"').replace("10.000000", "1e308")
    topo = parse_lstopo(text)
    assert topo.distances == ()


def test_other_text_is_nothing() -> None:
    assert parse_lstopo("<topology/>").pci_devices == ()


@given(st.sampled_from([V1, V2]), st.integers(0, 7000), st.text(max_size=20))
def test_cut_and_damaged_file_never_raises(text: str, at: int, junk: str) -> None:
    parse_lstopo(text[:at])
    parse_lstopo(text[:at] + junk + text[at + len(junk) :])


@example("1e308 PB")
@given(st.text(alphabet="0123456789abcdefx:.,-[] ", max_size=30))
def test_any_value_never_raises(value: str) -> None:
    for old in ('"0x00000003"', '"31.507692"', '"67092480"', '"1"', '"2"', "1 0 ", "10 32 "):
        parse_lstopo(V2.replace(old, f'"{value}"' if old[0] == '"' else value))
