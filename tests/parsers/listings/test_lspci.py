"""lspci: samples are constructed after pciutils 3.6 to 3.9 output of real machines, shortened."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.parsers.listings.lspci import LspciDevice, UpstreamPaths, parse_lspci
from rocdoctor.parsers.listings.lspci_tree import parse_lspci_tree

VERBOSE = """\
0000:c0:01.1 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD] Starship/Matisse GPP Bridge \
[1022:1483] (prog-if 00 [Normal decode])
\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR+ FastB2B- DisINTx+
\tNUMA node: 1
\tIOMMU group: 14
\tBus: primary=c0, secondary=c1, subordinate=c3, sec-latency=0
\tCapabilities: [58] Express (v2) Root Port (Slot+), MSI 00
\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0
\t\t\tExtTag+ RBE+
\t\tDevCtl:\tCorrErr- NonFatalErr- FatalErr- UnsupReq-
\t\t\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+
\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tDevSta:\tCorrErr- NonFatalErr- FatalErr- UnsupReq- AuxPwr- TransPend-
\t\tLnkCap:\tPort #3, Speed 16GT/s, Width x16, ASPM L1, Exit Latency L1 <32us
\t\t\tClockPM- Surprise- LLActRep+ BwNot+ ASPMOptComp+
\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, Disabled- CommClk+
\t\tLnkSta:\tSpeed 8GT/s, Width x4
\t\t\tTrErr- Train- SlotClk+ DLActive+ BWMgmt- ABWMgmt-
\t\tDevCap2: Completion Timeout: Range ABCD, TimeoutDis+ NROPrPrP- LTR+
\t\t\t AtomicOpsCap: Routing+ 32bit+ 64bit+ 128bitCAS-
\t\tDevCtl2: Completion Timeout: 50us to 50ms, TimeoutDis- LTR- OBFF Disabled, ARIFwd+
\t\t\t AtomicOpsCtl: ReqEn+ EgressBlck-
\tCapabilities: [2a0 v1] Access Control Services
\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
\tKernel driver in use: pcieport

0000:c1:00.0 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD/ATI] Device [1002:14a0]
\tBus: primary=c1, secondary=c2, subordinate=c3, sec-latency=0
\tCapabilities: [40] Express (v2) Upstream Port, MSI 00
\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x4 (downgraded)

0000:c2:00.0 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD/ATI] Device [1002:14a1]
\tBus: primary=c2, secondary=c3, subordinate=c3, sec-latency=0

0000:c3:00.0 Display controller [0380]: Advanced Micro Devices, Inc. [AMD/ATI] Aldebaran/MI200 [Instinct MI210] \
[1002:740f] (rev 02)
\tSubsystem: Advanced Micro Devices, Inc. [AMD/ATI] Aldebaran/MI200 [Instinct MI210] [1002:0c34]
\tPhysical Slot: 7-1
\tControl: I/O+ Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+
\tNUMA node: 1
\tRegion 0: Memory at 26000000000 (64-bit, prefetchable) [size=64G]
\tRegion 2: Memory at <unassigned> (64-bit, prefetchable) [disabled]
\tRegion 4: I/O ports at f000 [size=256]
\tRegion 5: Memory at b7a00000 (32-bit, non-prefetchable) [virtual] [size=512K]
\tExpansion ROM at b7a80000 [disabled] [size=128K]
\tCapabilities: [64] Express (v2) Endpoint, MSI 00
\t\tDevSta:\tCorrErr+ NonFatalErr- FatalErr- UnsupReq+ AuxPwr- TransPend-
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L0s L1, Exit Latency L0s <64ns, L1 <1us
\t\tLnkCtl:\tASPM L0s L1 Enabled; RCB 64 bytes, Disabled- CommClk+
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x16 (ok)
\t\tLnkCap2: Supported Link Speeds: 2.5-16GT/s, Crosslink- Retimer+ 2Retimers+ DRS-
\tCapabilities: [150 v2] Advanced Error Reporting
\t\tUESta:\tDLP- SDES- TLP- FCP- CmpltTO- CmpltAbrt- UnxCmplt- RxOF- MalfTLP-
\t\t\tECRC- UnsupReq+ ACSViol- UncorrIntErr- BlockedTLP- AtomicOpBlocked+ TLPBlockedErr-
\t\tUEMsk:\tDLP+ SDES+
\t\tCESta:\tRxErr+ BadTLP- BadDLLP+ Rollover- Timeout- AdvNonFatalErr+
\tCapabilities: [200 v1] Physical Resizable BAR
\t\tBAR 0: current size: 64GB, supported: 256MB 512MB 64GB
\tCapabilities: [330 v1] Single Root I/O Virtualization (SR-IOV)
\t\tInitial VFs: 16, Total VFs: 16, Number of VFs: 0, Function Dependency Link: 00
\t\tRegion 0: Memory at 0000000000000000 (64-bit, prefetchable)
\tCapabilities: [400 v1] Virtual Resizable BAR
\t\tBAR 2: current size: 2MB, supported: 2MB
\tKernel driver in use: amdgpu
\tKernel modules: amdgpu, radeon
"""


def device(text: str, bdf: str) -> LspciDevice:
    return next(entry for entry in parse_lspci(text) if entry.bdf == bdf)


def test_identity_of_a_gpu() -> None:
    gpu = device(VERBOSE, "0000:c3:00.0")
    assert (gpu.class_name, gpu.class_code) == ("Display controller", "0380")
    assert (gpu.vendor_id, gpu.device_id, gpu.revision) == ("1002", "740f", "02")
    assert (gpu.subsystem_vendor_id, gpu.subsystem_device_id) == ("1002", "0c34")
    assert gpu.device_name == "Aldebaran/MI200 [Instinct MI210]"
    assert (gpu.driver, gpu.modules) == ("amdgpu", ("amdgpu", "radeon"))
    assert gpu.numa_node == 1
    assert VERBOSE.split("\n")[gpu.lines["driver"] - 1].strip() == "Kernel driver in use: amdgpu"
    assert VERBOSE.split("\n")[gpu.line - 1].startswith("0000:c3:00.0")


def test_link() -> None:
    gpu, port = device(VERBOSE, "0000:c3:00.0"), device(VERBOSE, "0000:c0:01.1")
    switch = device(VERBOSE, "0000:c1:00.0")
    assert gpu.link_cap is not None and gpu.link_status is not None
    assert (gpu.link_cap.speed_gt_s, gpu.link_cap.width) == (16.0, 16)
    assert gpu.link_status.speed_gt_s == 16.0
    assert port.link_status is not None and switch.link_status is not None
    assert (port.link_status.speed_gt_s, port.link_status.width) == (8.0, 4)


def test_atomics_acs_and_errors() -> None:
    gpu, port = device(VERBOSE, "0000:c3:00.0"), device(VERBOSE, "0000:c0:01.1")
    assert port.acs_enabled == ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd")
    assert gpu.acs_enabled is None


def test_regions_and_resizable_bars() -> None:
    gpu = device(VERBOSE, "0000:c3:00.0")
    first, second, third, _ = gpu.regions
    assert first.size_bytes == 64 << 30
    assert second.size_bytes is None
    assert third.size_bytes == 256


def test_upstream_path() -> None:
    devices = parse_lspci(VERBOSE)
    path = UpstreamPaths(devices).of("c3:00.0")
    assert path is not None
    assert [bridge.bdf for bridge in path] == ["0000:c0:01.1", "0000:c1:00.0", "0000:c2:00.0"]
    assert UpstreamPaths(devices).of("0000:c0:01.1") == ()
    assert UpstreamPaths(devices).of("0000:03:00.0") is None


def test_bridges_that_point_at_each_other_end() -> None:
    text = (
        "01:00.0 PCI bridge: x y\n\tBus: primary=00, secondary=02, subordinate=ff, sec-latency=0\n"
        "02:00.0 PCI bridge: x y\n\tBus: primary=02, secondary=01, subordinate=ff, sec-latency=0\n"
    )
    path = UpstreamPaths(parse_lspci(text)).of("02:00.0")
    assert path is not None and [bridge.bdf for bridge in path] == ["0000:01:00.0"]


def test_bridges_are_looked_at_once_for_a_whole_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    from rocdoctor.collect.gpus.tools import lspci
    from rocdoctor.host.base import Answer

    bridge = "{0:02x}:00.0 PCI bridge: x y\n\tBus: primary={0:02x}, secondary={1:02x}, subordinate=50, sec-latency=0\n"
    gpu = "{:02x}:{:02x}.{} 3D controller: NVIDIA Corporation Device 2330\n"
    text = "".join(bridge.format(bus, bus + 1) for bus in range(8))
    text += "".join(gpu.format(bus, one // 8, one % 8) for bus in (8, 9) for one in range(200))
    devices = parse_lspci(text)
    looks: list[str] = []
    plain: Any = LspciDevice.bus.fget  # type: ignore[attr-defined]

    def counted(one: LspciDevice) -> Any:
        looks.append(one.bdf)
        return plain(one)

    monkeypatch.setattr(LspciDevice, "bus", property(counted))
    records: Any = lspci.TOOL.records(devices, Answer("run lspci", "ok", text.encode()))
    assert len(records) == 400
    hops: list[Any] = [one.facts["pcie.hops"] for one in records]
    assert {len(one.value) for one in hops} == {8}
    assert len(looks) < 12 * len(records)


def test_plain_text_gives_ids_only_where_they_show() -> None:
    text = (
        "1a:00.0 PCI bridge: Advanced Micro Devices, Inc. [AMD/ATI] Device 1501\n"
        "        Subsystem: Advanced Micro Devices, Inc. [AMD/ATI] Device 1501\n"
        "1b:00.0 Processing accelerators: Advanced Micro Devices, Inc. [AMD/ATI] Aqua Vanjaram [Instinct MI300X]\n"
        "        Kernel modules: amdgpu\n"
        "02:00.0 PCI bridge: PLDA PCI Express Bridge (rev 02) (prog-if 00 [Normal decode])\n"
    )
    bridge, gpu, other = parse_lspci(text)
    assert (bridge.vendor_id, bridge.device_id, bridge.device_name) == ("1002", "1501", None)
    assert (gpu.bdf, gpu.class_code, gpu.vendor_id, gpu.device_id) == ("0000:1b:00.0", "1200", "1002", None)
    assert (gpu.driver, gpu.modules) == (None, ("amdgpu",))
    assert (other.vendor_id, other.name) == (None, "PLDA PCI Express Bridge")


def test_numeric_and_machine_forms() -> None:
    numeric = parse_lspci("03:00.0 0300: 1002:744c (rev c8)\n04:00.0 Class 0403: 1002:ab30\n")
    assert [(d.class_code, d.vendor_id, d.device_id, d.revision) for d in numeric] == [
        ("0300", "1002", "744c", "c8"),
        ("0403", "1002", "ab30", None),
    ]
    (quoted,) = parse_lspci(
        '09:00.0 "VGA compatible controller [0300]" "Advanced Micro Devices, Inc. [AMD/ATI] [1002]"'
        ' "Fiji [Radeon R9 FURY / NANO Series] [7300]" -rca -p00 "Sapphire [174b]" "Say \\"Nitro\\" [e331]"\n'
    )
    assert (quoted.class_code, quoted.vendor_id, quoted.device_id, quoted.revision) == ("0300", "1002", "7300", "ca")
    assert (quoted.subsystem_vendor_id, quoted.subsystem_device_id) == ("174b", "e331")
    assert quoted.device_name == "Fiji [Radeon R9 FURY / NANO Series]"
    (record,) = parse_lspci(
        "Slot:\t0001:03:00.0\nClass:\tDisplay controller\nVendor:\tIntel Corporation\nDevice:\tDevice 56c0\n"
        "Rev:\t08\nDriver:\ti915\nModule:\ti915\nModule:\txe\nNUMANode:\t1\nIOMMUGroup:\t7\n"
    )
    assert (record.bdf, record.class_code, record.vendor_id, record.device_id) == (
        "0001:03:00.0",
        "0380",
        "8086",
        "56c0",
    )
    assert (record.driver, record.modules, record.numa_node) == ("i915", ("i915", "xe"), 1)


def test_access_denied_sleeping_and_old_words() -> None:
    text = (
        "03:00.0 VGA compatible controller: NVIDIA Corporation GP104 [GeForce GTX 1070] (rev a1)\n"
        "\tFlags: bus master, fast devsel, latency 0, IRQ 55, NUMA node 1, IOMMU group 12\n"
        "\tMemory at f6000000 (32-bit, non-prefetchable) [size=16M]\n"
        "\tCapabilities: <access denied>\n"
        "\tKernel driver in use: nvidia\n\n"
        "04:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 33 (rev ff) (prog-if ff)\n"
        "\t!!! Unknown header type 7f\n\n"
        "05:00.0 3D controller: NVIDIA Corporation GK210GL [Tesla K80] (rev a1)\n"
        "\tCapabilities: [78] Express (v2) Endpoint, MSI 00\n"
        "\t\tDevSta:\tCorrErr- UncorrErr+ FatalErr- UnsuppReq+ AuxPwr- TransPend-\n"
        "\t\tLnkCap:\tPort #8, Speed 8GT/s, Width x16, ASPM not supported, Latency L0s <512ns\n"
        "\t\tLnkSta:\tSpeed unknown, Width x0, TrErr- Train+ SlotClk+ DLActive- BWMgmt- ABWMgmt-\n"
    )
    denied, asleep, old = parse_lspci(text)
    assert denied.link_status is None
    assert (denied.numa_node, denied.driver) == (1, "nvidia")
    assert denied.regions[0].size_bytes == 16 << 20
    assert asleep.revision is None
    assert old.link_cap is not None
    assert old.link_status is not None
    assert (old.link_status.speed_gt_s, old.link_status.width) == (None, None)


def test_two_outputs_of_one_machine_are_joined() -> None:
    text = "03:00.0 VGA compatible controller [0300]: Foo Bar [1002:744c]\n\n" + (
        "03:00.0 VGA compatible controller: Foo Bar\n\tKernel driver in use: amdgpu\n"
    )
    (gpu,) = parse_lspci(text)
    assert (gpu.device_id, gpu.driver, gpu.line, gpu.lines["driver"]) == ("744c", "amdgpu", 1, 4)


TREE = r"""
-+-[0000:00]-+-00.0  Intel Corporation 82G33/G31/P35/P31 Express DRAM Controller
 |           +-02.0-[01]----00.0  Intel Corporation 82574L Gigabit Network Connection [8086:10d3]
 |           \-1f.0  Intel Corporation 82801IB (ICH9) LPC Interface Controller
 +-[0001:20]---01.1-[21]--
 \-[0000:80]---00.0-[81-84]----00.0-[82-84]--+-00.0-[83]--+-00.0  NVIDIA Corporation Device 2330
                                             |            \-00.1  NVIDIA Corporation Device 10f9
                                             \-01.0-[84]----00.0  Advanced Micro Devices, Inc. [AMD/ATI] Rage 4
"""


def test_tree() -> None:
    devices = parse_lspci_tree(TREE)
    assert [entry.bdf for entry in devices] == [
        "0000:00:00.0",
        "0000:00:02.0",
        "0000:01:00.0",
        "0000:00:1f.0",
        "0001:20:01.1",
        "0000:80:00.0",
        "0000:81:00.0",
        "0000:82:00.0",
        "0000:83:00.0",
        "0000:83:00.1",
        "0000:82:01.0",
        "0000:84:00.0",
    ]
    path = UpstreamPaths(devices).of("0000:83:00.1")
    assert path is not None and [bridge.bdf for bridge in path] == ["0000:80:00.0", "0000:81:00.0", "0000:82:00.0"]
    by_bdf = {entry.bdf: entry for entry in devices}
    assert (by_bdf["0000:81:00.0"].secondary_bus, by_bdf["0000:81:00.0"].subordinate_bus) == (0x82, 0x84)
    assert by_bdf["0000:83:00.0"].device_id == "2330"
    assert (by_bdf["0000:01:00.0"].vendor_id, by_bdf["0000:01:00.0"].line) == ("8086", 3)


def test_tree_with_lost_columns_says_nothing_wrong() -> None:
    squeezed = "\n".join(line.lstrip(" |") for line in TREE.split("\n"))
    assert {entry.bdf for entry in parse_lspci_tree(squeezed)} <= {entry.bdf for entry in parse_lspci_tree(TREE)}


@pytest.mark.parametrize("line", ["12:30:01.5 amdgpu: ring timeout", "00:01 hello", "| 00000000:18:00.0 Off |", "x"])
def test_other_text_is_no_device(line: str) -> None:
    assert parse_lspci(line) == ()


def test_upper_case_ids_and_healthy_defaults() -> None:
    (gpu,) = parse_lspci(
        "0A:00.0 3D controller [0302]: NVIDIA Corporation Foo [10DE:22FF]\n\tSubsystem: Bar [10DE:16C1]\n"
    )
    assert (gpu.bdf, gpu.vendor_id, gpu.device_id) == ("0000:0a:00.0", "10de", "22ff")
    assert gpu.subsystem_device_id == "16c1"
    assert parse_lspci_tree("-[0000:00]---01.0  Foo [10de:22ff]\n")[0].name == "Foo"


CUT_DOWN = """\
41:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 21 [Radeon PRO W6800]
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1, Exit Latency L1 <1us

\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x4 (downgraded)
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x8 (ok)

Something else
\t\tDevSta:\tCorrErr+ NonFatalErr-
"""


def test_lines_of_a_link_count_without_the_heading_of_their_capability() -> None:
    (device,) = parse_lspci(CUT_DOWN)
    assert device.link_cap is not None
    assert (device.link_cap.speed_gt_s, device.link_cap.width) == (16.0, 16)
    assert device.link_status is not None
    assert (device.link_status.speed_gt_s, device.link_status.width) == (8.0, 4)  # the first one is that of the device
