"""CPU sets, lscpu, cpuinfo, NUMA: samples constructed after util-linux 2.36 to 2.40, numactl 2.0.16, Linux 5.15."""

from __future__ import annotations

import pytest

from rocdoctor.parsers.formats import cpuset
from rocdoctor.parsers.system import cpu, numa


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3,8\n", {0, 1, 2, 3, 8}),
        ("0", {0}),
        ("", set()),
        ("0-7:2/4", {0, 1, 4, 5}),
        ("3-1", None),
        ("0-99999999", None),
        ("0-9000", None),
        ("a-b", None),
        ("0-7:0/4", None),
    ],
)
def test_cpulist(text: str, cpus: set[int] | None) -> None:
    assert cpuset.list_to_set(text) == (None if cpus is None else frozenset(cpus))


def test_canonical_list() -> None:
    assert cpuset.canonical_list("3,0-1,2,9") == "0-3,9"
    assert cpuset.canonical_list("") is None


LSCPU = """\
Architecture:                    x86_64
CPU(s):                          256
On-line CPU(s) list:             0-127,129-255
Off-line CPU(s) list:            128
Thread(s) per core:              2
Core(s) per socket:              64
Socket(s):                       2
NUMA node(s):                    2
Vendor ID:                       AuthenticAMD
Model name:                      AMD EPYC 7763 64-Core Processor
CPU max MHz:                     3529.0520
NUMA node0 CPU(s):               0-63,128-191
NUMA node1 CPU(s):               64-127,192-255
Flags:                           fpu vme avx2 lm
"""

LSCPU_JSON = """{
   "lscpu": [
      {"field": "Architecture:", "data": "aarch64",
         "children": [{"field": "CPU op-mode(s):", "data": "64-bit"}]},
      {"field": "CPU(s):", "data": "128"},
      {"field": "Vendor ID:", "data": "ARM",
         "children": [
            {"field": "Model name:", "data": "Neoverse-N1",
               "children": [{"field": "Socket(s):", "data": "-"}]}]},
      {"field": "NUMA:", "data": null,
         "children": [{"field": "NUMA node0 CPU(s):", "data": "0-127"}]}
   ]
}
"""


def test_lscpu() -> None:
    info = cpu.parse_lscpu(LSCPU)
    assert (info.architecture, info.cpus, info.online_cpulist) == ("x86_64", 256, "0-127,129-255")
    assert (info.cores_per_socket, info.sockets) == (64, 2)
    assert info.model_name == "AMD EPYC 7763 64-Core Processor"
    assert info.numa_cpulists == {0: "0-63,128-191", 1: "64-127,192-255"}
    assert (info.hypervisor, info.offline_cpulist) == (None, "128")
    assert (info.lines["sockets"], info.lines["model_name"]) == (7, 10)


def test_lscpu_json_nested() -> None:
    info = cpu.parse_lscpu(LSCPU_JSON)
    assert (info.architecture, info.cpus, info.model_name) == ("aarch64", 128, "Neoverse-N1")
    assert info.sockets is None
    assert info.numa_cpulists == {0: "0-127"}
    assert info.lines["model_name"] == 8


X86 = """\
processor\t: 0
vendor_id\t: AuthenticAMD
model name\t: AMD EPYC 9354 32-Core Processor
physical id\t: 0
core id\t\t: 0
flags\t\t: fpu lm hypervisor avx512f

processor\t: 1
vendor_id\t: AuthenticAMD
physical id\t: 1
core id\t\t: 0
flags\t\t: fpu lm hypervisor avx512f
"""


def test_cpuinfo_by_architecture() -> None:
    x86 = cpu.parse_cpuinfo(X86)
    assert (x86.architecture, x86.threads, x86.packages, x86.cores) == ("x86_64", 2, 2, 2)
    assert x86.hypervisor is True and x86.lines["packages"] == 4
    arm = cpu.parse_cpuinfo(
        "processor\t: 0\nBogoMIPS\t: 200.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x48\n"
        "CPU architecture: 8\nCPU part\t: 0xd01\n"
    )
    assert (arm.architecture, arm.model_name, arm.threads) == ("aarch64", "TaiShan-v110", 1)
    assert (arm.packages, arm.cores, arm.hypervisor) == (None, None, None)
    power = cpu.parse_cpuinfo(
        "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3800.000000MHz\n\nplatform\t: PowerNV\n"
    )
    assert (power.architecture, power.threads) == ("ppc64le", 1)
    assert power.model_name == "POWER9, altivec supported"
    assert cpu.parse_cpuinfo("").threads == 0


NODE = """\
Node 1 MemTotal:       131732940 kB
Node 1 MemFree:        130167340 kB
Node 1 Active(anon):       1452 kB
Node 1 HugePages_Total:     512
"""

NUMACTL = """\
available: 2 nodes (0-1)
node 0 cpus: 0 1 2 3 8
node 0 size: 14938 MB
node 0 free: 4747 MB
node 1 cpus:
node 1 size: 1024 MB
node 1 free: 1000 MB
node distances:
node   0   1
  0:  10  21
  1:  21  10
"""


def test_node_files() -> None:
    info = numa.parse_node_meminfo(NODE)
    assert info.memory_bytes == 131732940 * 1024
    assert info.sizes_bytes["Active(anon)"] == 1452 * 1024
    assert info.lines["MemFree"] == 2
    assert numa.parse_distances("10 16 32 33\n") == (10, 16, 32, 33)
    assert numa.parse_distances("10 x") is None and numa.parse_distances("") is None


def test_numactl() -> None:
    first, second = numa.parse_numactl_hardware(NUMACTL)
    assert (first.cpulist, first.memory_bytes, first.distances) == ("0-3,8", 14938 << 20, (10, 21))
    assert (second.cpulist, second.distances, second.line) == ("", (21, 10), 5)
    assert numa.parse_numactl_hardware("No NUMA available on this system\n") == ()
    assert numa.parse_numactl_hardware("") == ()
