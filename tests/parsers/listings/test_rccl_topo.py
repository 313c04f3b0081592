"""NCCL and RCCL topology files; samples are constructed in the form of the libraries' dumps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.listings.rccl_topo import parse_rccl_topo

# RCCL 2.2x: vendor and device ids, "PCIe" behind the speed, a switch above GPU and NIC.
AMD = """\
<!--
 - See LICENSE.txt for license information
 -->
<system version="2">
  <cpu numaid="1" affinity="ffff0000,ffff0000" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">
    <pci busid="0000:41:00.0" class="0x060400" vendor="0x1000" device="0xc010" subsystem_vendor="0x1000" \
subsystem_device="0xa096" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:4c:00.0" class="0x060400" vendor="0x1022" device="0x14c7" subsystem_vendor="0x0000" \
subsystem_device="0x0000" link_speed="16.0 GT/s PCIe" link_width="8">
        <pci busid="0000:4E:00.0" class="0x038000" vendor="0x1002" device="0x740c" subsystem_vendor="0x1002" \
subsystem_device="0x0b0c" link_speed="32.0 GT/s PCIe" link_width="16">
          <gpu dev="3" sm="104" gcn="910" arch="38911" rank="5" gdr="1">
            <xgmi target="0000:51:00.0" count="4" tclass="0x038000"/>
            <xgmi target="0000:56:00.0" count="1" tclass="0x038000"/>
          </gpu>
        </pci>
      </pci>
      <pci busid="0000:4b:00.0" class="0x020700" vendor="0x15b3" device="0x101b" subsystem_vendor="0x15b3" \
subsystem_device="0x0007" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="200000" port="1" guid="0xd041bb0003f6ceb8" maxconn="262144" gdr="0"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="-1" affinity="" arch="x86_64">
    <nic><net name="eth0" dev="1" speed="10000" port="0" gdr="0"/></nic>
  </cpu>
</system>
"""

NVIDIA = """\
<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:18:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="90" rank="0" gdr="1">
        <nvlink target="0000:05:00.0" count="6" tclass="0x068000"/>
      </gpu>
    </pci>
    <pci busid="0000:19:00.0" class="0x030200" link_speed="Unknown" link_width="255">
      <gpu dev="1" sm="120" rank="1" gdr="0"/>
    </pci>
  </cpu>
</system>
"""


def test_amd() -> None:
    topo = parse_rccl_topo(AMD)
    cpu, other = topo.cpus
    assert (cpu.numa_node, cpu.cpulist, cpu.arch, cpu.vendor) == (1, "16-31,48-63", "x86_64", "AuthenticAMD")
    assert cpu.line == 5
    assert (other.numa_node, other.cpulist) == (None, None)
    (gpu,) = topo.gpus
    assert (gpu.bdf, gpu.numa_node, gpu.line) == ("0000:4e:00.0", 1, 9)
    assert (gpu.gfx, gpu.compute_units, gpu.compute_capability) == ("gfx90a", 104, None)
    assert gpu.pci is not None
    assert (gpu.pci.pci_id, gpu.pci.subsystem_id, gpu.pci.pci_class) == ("1002:740c", "1002:0b0c", "0x038000")
    assert (gpu.pci.max_speed_gt_s, gpu.pci.max_width, gpu.pci.line) == (32.0, 16, 8)
    assert [(one.bdf, one.max_speed_gt_s, one.max_width, one.subsystem_id) for one in gpu.upstream] == [
        ("0000:4c:00.0", 16.0, 8, None),
        ("0000:41:00.0", 16.0, 16, "1000:a096"),
    ]
    assert [(one.kind, one.target, one.count, one.line) for one in gpu.links] == [
        ("xgmi", "0000:51:00.0", 4, 10),
        ("xgmi", "0000:56:00.0", 1, 11),
    ]
    nic, plain = topo.nics
    assert (nic.name, nic.bdf, nic.speed_mbit_s, nic.numa_node) == ("mlx5_0", "0000:4b:00.0", 200000, 1)
    assert (plain.name, plain.bdf, plain.numa_node) == ("eth0", None, None)


def test_nvidia() -> None:
    first, second = parse_rccl_topo(NVIDIA).gpus
    assert (first.gfx, first.compute_units, first.compute_capability) == (None, None, "9.0")
    assert [(one.kind, one.target, one.count) for one in first.links] == [("nvlink", "0000:05:00.0", 6)]
    assert first.pci is not None and first.pci.pci_id is None
    assert second.compute_capability == "12.0"
    assert second.pci is not None
    assert (second.pci.max_speed_gt_s, second.pci.max_width) == (None, None)


@pytest.mark.parametrize(
    ("gcn", "gfx"),
    [
        ("906", "gfx906"),
        ("908", "gfx908"),
        ("910", "gfx90a"),
        ("gfx942", "gfx942"),
        ("1030", "gfx1030"),
        ("gfx90a:sramecc+:xnack-", "gfx90a"),
        ("gfx1201", "gfx1201"),
        ("", None),
        ("GPU", None),
    ],
)
def test_gfx_spellings(gcn: str, gfx: str | None) -> None:
    assert parse_rccl_topo(f'<system><gpu gcn="{gcn}"/></system>').gpus[0].gfx == gfx


def test_old_speed_spelling() -> None:
    text = '<system><pci busid="0000:20:00.0" link_speed="8 GT/s" link_width="16"><gpu/></pci></system>'
    pci = parse_rccl_topo(text).gpus[0].pci
    assert pci is not None and (pci.max_speed_gt_s, pci.max_width) == (8.0, 16)


def test_cut_file_says_so() -> None:
    topo = parse_rccl_topo(AMD[: AMD.index('<xgmi target="0000:56')])
    assert [one.target for one in topo.gpus[0].links] == ["0000:51:00.0"]
    assert topo.nics == ()


def test_other_xml_is_nothing() -> None:
    topo = parse_rccl_topo("<topology><gpu/></topology>")
    assert topo.gpus == ()


@given(st.text(alphabet="0123456789abcdefx:.,-/ GTs", max_size=30))
def test_any_value_never_raises(value: str) -> None:
    keys = ("numaid", "affinity", "busid", "vendor", "device", "link_speed", "link_width", "dev", "sm", "gcn", "target")
    attributes = " ".join(f'{key}="{value}"' for key in keys)
    parse_rccl_topo(
        f"<system><cpu {attributes}><pci {attributes}><gpu {attributes}><xgmi {attributes}/></gpu>"
        f"<nic><net {attributes}/></nic></pci></cpu></system>"
    )
