"""Servers with Instinct GPUs."""

from __future__ import annotations

from collections.abc import Callable

from tests.machines import amd, cards, kfd, pcie, tools
from tests.machines.amd import Gpu
from tests.machines.files import Files
from tests.machines.pcie import Bridge, Slot
from tests.machines.python import ROCM7_TORCH, ROCM_TORCH, amd_devices, python
from tests.machines.system import ROCKY_9, UBUNTU_2204, UBUNTU_2404, Cpu, Distribution, cpus, firmware, linux, user

GENOA = Cpu("AMD EPYC 9354 32-Core Processor", 2, 32, avx512=True)
MILAN = Cpu("AMD EPYC 7543 32-Core Processor", 2, 32)
_WIDE = ("32.0", 16)
_IOMMU = "iommu=pt pci=realloc=off"
# Root ports of the eight slots of a server with two processors: four below each.
_ROOTS = (
    "0000:00:01.1",
    "0000:20:01.1",
    "0000:40:01.1",
    "0000:60:01.1",
    "0000:80:01.1",
    "0000:a0:01.1",
    "0000:c0:01.1",
    "0000:e0:01.1",
)


def _server(files: Files, cpu: Cpu = GENOA, gib: int = 1536, os: Distribution = UBUNTU_2404, log: str = "") -> None:
    numa = cpu.packages
    cpus(files, cpu, numa, gib)
    linux(files, os if os is ROCKY_9 or os is UBUNTU_2204 else UBUNTU_2404, _IOMMU, 1_209_604.31, log)
    firmware(files, "Supermicro", "AS -8125GS-TNMR2", 23)
    user(files, {4: "adm", 27: "sudo", amd.VIDEO_GID: "video", amd.RENDER_GID: "render"})
    pcie.management_display(files, "0000:65:00.0")


def _below_switch(number: int, bus: int, speed: str = "32.0") -> Slot:
    """The slot of a GPU below a PCIe switch that it shares with a network card."""
    root = _ROOTS[number]
    base = bus - 3
    link = (speed, 16)
    bridges = (
        Bridge(root, "1022:14AB", link, link),
        Bridge(f"0000:{base:02x}:00.0", "1000:C030", link, link),
        Bridge(f"0000:{base + 1:02x}:00.0", "1000:C030", link, link),
    )
    return Slot(f"0000:{bus:02x}:00.0", bridges, number // 4)


def mi300x_gpus(compute: str = "SPX", memory: str = "NPS1", partitions: int = 1) -> list[Gpu]:
    """Eight MI300X, each below a switch of its own."""
    buses = (0x0A, 0x2A, 0x4A, 0x6A, 0x8A, 0xAA, 0xCA, 0xEA)
    return [
        Gpu(
            cards.MI300X,
            _below_switch(number, bus),
            hive=0x6E31F0A4C7D25B18,
            partitions=partitions,
            compute_mode=compute,
            memory_mode=memory,
        )
        for number, bus in enumerate(buses)
    ]


def _network(files: Files, gpus: list[Gpu]) -> None:
    for number, gpu in enumerate(gpus):
        base = int(gpu.bdf[5:7], 16) - 3
        above = gpu.slot.bridges
        port = Bridge(f"0000:{base + 1:02x}:01.0", "1000:C030", ("32.0", 16), ("32.0", 16))
        slot = Slot(f"0000:{base + 5:02x}:00.0", (above[0], above[1], port), gpu.slot.numa)
        pcie.nic(files, number, slot)


def _mi300x(files: Files, gpus: list[Gpu]) -> None:
    _server(files)
    _network(files, gpus)
    amd.put_gpus(files, gpus, 1, release="6.14.14")
    kfd.put_topology(files, gpus, 2, 64)
    tools.rocm(files, "7.2.0", "-56")
    tools.rocminfo(files, GENOA.model, 2, gpus, 1536, "6.14.14")
    tools.amd_smi(files, gpus, "6.14.14")
    python(files, ROCM7_TORCH, amd_devices(gpus))


def mi300x_8() -> Files:
    files = Files("mi300x-8gpu", "server with 8 MI300X (SPX, NPS1), full XGMI mesh, 8 network cards, 2 NUMA nodes")
    _mi300x(files, mi300x_gpus())
    return files


def mi300x_8_cpx() -> Files:
    files = Files("mi300x-8gpu-cpx", "server with 8 MI300X in CPX and NPS4: 64 compute nodes")
    _mi300x(files, mi300x_gpus("CPX", "NPS4", 8))
    return files


def mi350x_8() -> Files:
    files = Files("mi350x-8gpu", "server with 8 MI350X, full XGMI mesh")
    cpu = Cpu("AMD EPYC 9575F 64-Core Processor", 2, 64, avx512=True, family=26)
    _server(files, cpu, 2304)
    buses = (0x05, 0x25, 0x45, 0x66, 0x85, 0xA5, 0xC6, 0xE5)
    gpus = [
        Gpu(cards.MI350X, _below_switch(number, bus), hive=0x2C77D1B05E9A4F61, compute_mode="SPX", memory_mode="NPS1")
        for number, bus in enumerate(buses)
    ]
    amd.put_gpus(files, gpus, 1, release="6.16.6")
    kfd.put_topology(files, gpus, 2, 128)
    tools.rocm(files, "7.2.0", "-56")
    tools.rocminfo(files, cpu.model, 2, gpus, 2304, "6.16.6")
    tools.amd_smi(files, gpus, "6.16.6")
    python(files, ROCM7_TORCH, amd_devices(gpus))
    return files


def mi300a_4() -> Files:
    files = Files("mi300a-4apu", "node with 4 MI300A: processor, GPU and memory in one package")
    cpu = Cpu("AMD Instinct MI300A Accelerator", 4, 24, avx512=True)
    cpus(files, cpu, 4, 512)
    linux(files, ROCKY_9, _IOMMU, 604_811.09)
    firmware(files, "HPE", "HPE Cray Supercomputing EX255a", 23)
    user(files, {amd.VIDEO_GID: "video", amd.RENDER_GID: "render"})
    gpus = [
        Gpu(
            cards.MI300A,
            Slot(f"000{number}:01:00.0", (Bridge(f"000{number}:00:01.1", "1022:14AB", _WIDE, _WIDE),), number),
            hive=0x51C09A7E33D41F02,
            compute_mode="SPX",
            memory_mode="NPS1",
            used_mib=4,
        )
        for number in range(4)
    ]
    amd.put_gpus(files, gpus, release="6.12.12")
    kfd.put_topology(files, gpus, 4, 96, lambda a, b: 2 * int(a != b))
    tools.rocm(files, "6.4.2", "-120")
    tools.rocminfo(files, cpu.model, 4, gpus, 512, "6.12.12")
    python(files, ROCM_TORCH, amd_devices(gpus), "3.11.11")
    return files


def mi210_gpus() -> list[Gpu]:
    """Eight MI210 on root ports of their own."""
    buses = (0x23, 0x26, 0x43, 0x46, 0x83, 0x86, 0xC3, 0xC6)
    roots = (
        "0000:20:01.1",
        "0000:20:03.1",
        "0000:40:01.1",
        "0000:40:03.1",
        "0000:80:01.1",
        "0000:80:03.1",
        "0000:c0:01.1",
        "0000:c0:03.1",
    )
    hives = (0x7A3F51E20D94C6B1, 0x15D8E6034B72AF9C)
    return [
        Gpu(
            cards.MI210,
            Slot(f"0000:{bus:02x}:00.0", (Bridge(roots[number], "1022:1483"),), number // 4),
            hive=hives[number // 4],
        )
        for number, bus in enumerate(buses)
    ]


def mi210_8() -> Files:
    files = Files("mi210-8gpu", "server with 8 MI210 in two hives of four, one on each processor")
    _server(files, MILAN, 1024, UBUNTU_2204)
    gpus = mi210_gpus()
    amd.put_gpus(files, gpus, 1, release="6.12.12")
    kfd.put_topology(files, gpus, 2, 64)
    tools.rocm(files, "6.4.2", "-120")
    tools.rocminfo(files, MILAN.model, 2, gpus, 1024, "6.12.12")
    tools.rocm_smi_topology(files, gpus)
    python(files, ROCM_TORCH, amd_devices(gpus), "3.10.12")
    return files


def mi250_4() -> Files:
    files = Files("mi250-4module", "server with 4 MI250 modules: 8 dies, each with a PCI address of its own")
    _server(files, MILAN, 1024)
    buses = (0x2F, 0x32, 0x35, 0x38, 0xAF, 0xB2, 0xB5, 0xB8)
    gpus = []
    for number, bus in enumerate(buses):
        link = ("16.0", 16)
        near = bus - 3 - 3 * (number % 4)
        bridges = (
            Bridge("0000:20:01.1" if number < 4 else "0000:a0:01.1", "1022:1483", link, link),
            Bridge(f"0000:{near:02x}:00.0", "1000:C010", link, link),
            Bridge(f"0000:{near + 1:02x}:{4 * (number % 4):02x}.0", "1000:C010", link, link),
        )
        gpus.append(Gpu(cards.MI250, Slot(f"0000:{bus:02x}:00.0", bridges, number // 4), hive=0x39B4A07F62E81D5C))

    def width(a: int, b: int) -> int:
        """Four links between the dies of a module, one or two to neighbouring modules."""
        return 4 if a // 2 == b // 2 else 1 if (a + b) % 2 else 2

    amd.put_gpus(files, gpus, 1, release="6.12.12")
    kfd.put_topology(files, gpus, 2, 64, width)
    tools.rocm(files, "6.4.2", "-120")
    tools.rocminfo(files, MILAN.model, 2, gpus, 1024, "6.12.12")
    python(files, ROCM_TORCH, amd_devices(gpus))
    return files


def mi300x_vf() -> Files:
    files = Files("mi300x-cloud-vf", "cloud guest with one passed-through MI300X virtual function")
    cpu = Cpu("INTEL(R) XEON(R) PLATINUM 8568Y+", 1, 20, 1, "GenuineIntel", 6, hypervisor=True)
    cpus(files, cpu, 1, 240)
    linux(files, UBUNTU_2404, "console=ttyS0 iommu=pt", 7204.6)
    firmware(files, "QEMU", "Standard PC (Q35 + ICH9, 2009)", 1, "SeaBIOS")
    user(files, {amd.VIDEO_GID: "video", amd.RENDER_GID: "render"}, uid=0)
    gpus = [
        Gpu(
            cards.MI300X_VF,
            Slot("0000:83:00.0", numa=-1, root="pci0000:80"),
            compute_mode="SPX",
            memory_mode="NPS1",
            used_mib=291,
        )
    ]
    amd.put_gpus(files, gpus, release="6.14.14")
    kfd.put_topology(files, gpus, 1, 20)
    tools.rocm(files, "7.2.0", "-56")
    tools.rocminfo(files, cpu.model, 1, gpus, 240, "6.14.14")
    python(files, ROCM7_TORCH, amd_devices(gpus), prefix="/opt/venv")
    slot = Slot("0000:01:00.0", numa=-1, root="pci0000:00")
    folder = pcie.device(files, slot, "20000", "1AF4:1041", "1AF4:1100", "virtio-pci", "01")
    pcie.interface(files, "enp1s0", folder, -1)
    return files


MACHINES: tuple[Callable[[], Files], ...] = (
    mi300x_8,
    mi300x_8_cpx,
    mi350x_8,
    mi300a_4,
    mi210_8,
    mi250_4,
    mi300x_vf,
)
