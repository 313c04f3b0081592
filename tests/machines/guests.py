"""Machines with GPUs of other vendors, or with none."""

from __future__ import annotations

from collections.abc import Callable

from tests.machines import amd, nvidia, pcie
from tests.machines.files import Files, Node
from tests.machines.nvidia import Gpu
from tests.machines.pcie import Bridge, Slot
from tests.machines.python import CPU_TORCH, CUDA_TORCH, Torch, python
from tests.machines.system import (
    DEBIAN_13,
    FEDORA_42,
    UBUNTU_2204,
    UBUNTU_2404,
    UBUNTU_2404_HWE,
    Cpu,
    cpus,
    firmware,
    linux,
    modules,
    user,
)

_GROUPS = {27: "sudo", amd.VIDEO_GID: "video", amd.RENDER_GID: "render"}


def h100_8() -> Files:
    files = Files("h100-8gpu", "server with 8 H100 SXM joined by NVSwitch, 4 InfiniBand cards")
    cpu = Cpu("Intel(R) Xeon(R) Platinum 8468", 2, 48, vendor="GenuineIntel", family=6, avx512=True)
    cpus(files, cpu, 2, 2048, (10, 21))
    linux(files, UBUNTU_2204, "iommu=pt intel_iommu=on", 2_404_871.5)
    firmware(files, "Dell Inc.", "PowerEdge XE9680", 23, "Dell Inc.")
    user(files, _GROUPS)
    pcie.management_display(files, "0000:04:00.0")
    link = ("32.0", 16)
    buses = (0x1B, 0x3C, 0x4D, 0x5E, 0x9B, 0xBC, 0xCD, 0xDE)
    gpus = []
    for number, bus in enumerate(buses):
        root = Bridge(f"0000:{bus - 6:02x}:01.0", "8086:352A", link, link)
        switch = (
            Bridge(f"0000:{bus - 2:02x}:00.0", "1000:C030", link, link),
            Bridge(f"0000:{bus - 1:02x}:01.0", "1000:C030", link, link),
        )
        slot = Slot(f"0000:{bus:02x}:00.0", (root, *switch), number // 4)
        gpus.append(Gpu(nvidia.H100, slot, 5))
        if number % 2 == 0:
            side = Bridge(f"0000:{bus - 1:02x}:02.0", "1000:C030", link, link)
            place = Slot(f"0000:{bus + 1:02x}:00.0", (root, switch[0], side), number // 4)
            pcie.nic(files, number // 2, place, infiniband=True)
    nvidia.put_gpus(files, gpus, "570.172.08", "12.8", 1)
    python(files, CUDA_TORCH, nvidia.devices(gpus), "3.11.13")
    return files


def rtx4090_2() -> Files:
    files = Files("rtx4090-2gpu", "desktop with 2 RTX 4090, idle: links fallen back to 2.5 GT/s")
    cpu = Cpu("AMD Ryzen Threadripper PRO 7965WX 24-Cores", 1, 24, avx512=True, governor="powersave")
    cpus(files, cpu, 1, 256)
    linux(files, UBUNTU_2404_HWE)
    firmware(files, "ASUSTeK COMPUTER INC.", "Pro WS WRX90E-SAGE SE", 3)
    user(files, _GROUPS, memlock="8388608")
    pcie.ethernet(files)
    gpus = [
        Gpu(
            nvidia.RTX_4090,
            Slot("0000:01:00.0", (Bridge("0000:00:01.1", "1022:14AB", ("2.5", 16), ("32.0", 16)),)),
            1,
            persistence=False,
            display=True,
        ),
        Gpu(
            nvidia.RTX_4090,
            Slot("0000:41:00.0", (Bridge("0000:40:01.1", "1022:14AB", ("2.5", 16), ("32.0", 16)),)),
            1,
            persistence=False,
        ),
    ]
    nvidia.put_gpus(files, gpus, "580.82.07", "13.0")
    python(files, CUDA_TORCH, nvidia.devices(gpus))
    return files


def gtx_laptop() -> Files:
    files = Files("gtx1660ti-laptop", "laptop with a GTX 1660 Ti beside the processor's own GPU")
    cpu = Cpu("Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz", 1, 6, vendor="GenuineIntel", family=6, governor="powersave")
    cpus(files, cpu, 1, 16)
    linux(files, DEBIAN_13)
    firmware(files, "ASUSTeK COMPUTER INC.", "ROG Strix G531GU_G531GU", 10)
    user(files, _GROUPS, memlock="8388608")
    _intel(files, Slot("0000:00:02.0"), "3E9B", "i915", boot=True)
    slot = Slot("0000:01:00.0", (Bridge("0000:00:01.0", "8086:1901", ("2.5", 16), ("8.0", 16)),))
    gpus = [Gpu(nvidia.GTX_1660_TI_LAPTOP, slot, 1, persistence=False)]
    nvidia.put_gpus(files, gpus, "550.163.01", "12.4", 1)
    python(files, CUDA_TORCH_OLD, nvidia.devices(gpus), "3.13.5")
    return files


CUDA_TORCH_OLD = Torch(
    "2.6.0+cu124",
    None,
    "12.4",
    ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"),
    (("torchvision", "0.21.0+cu124"), ("triton", "3.2.0"), ("nvidia-nccl-cu12", "2.21.5")),
)


def a10g_8() -> Files:
    files = Files("a10g-8gpu-cloud", "cloud guest with 8 A10G, without PCIe bridges of its own")
    cpu = Cpu("AMD EPYC 7R32", 2, 48, family=23, hypervisor=True)
    cpus(files, cpu, 2, 768, (10, 32))
    linux(files, UBUNTU_2204, "console=tty1 console=ttyS0 nvme_core.io_timeout=4294967295", 60_401.9)
    firmware(files, "Amazon EC2", "g5.48xlarge", 1, "Amazon EC2")
    user(files, _GROUPS)
    gpus = [
        Gpu(nvidia.A10G, Slot(f"0000:00:{0x16 + number:02x}.0", numa=-1, root="pci0000:00"), 1, virtual=True)
        for number in range(8)
    ]
    nvidia.put_gpus(files, gpus, "570.172.08", "12.8")
    python(files, CUDA_TORCH, nvidia.devices(gpus), "3.10.12")
    folder = pcie.device(files, Slot("0000:00:05.0", root="pci0000:00"), "20000", "1D0F:EC20", "1D0F:EC20", "ena")
    pcie.interface(files, "ens5", folder, -1, 9001)
    return files


def _intel(files: Files, slot: Slot, device: str, driver: str, boot: bool = False) -> None:
    folder = pcie.device(files, slot, "30000", f"8086:{device}", "8086:1100", driver)
    files.put(f"{folder}/boot_vga", str(int(boot)))
    pcie.resource(files, folder, (16 << 20, 16 << 30 if slot.bridges else 256 << 20))
    for entry, minor in (("card0", 0), ("renderD128", 128)):
        files.put(f"{folder}/drm/{entry}/dev", f"226:{minor}")
        files.link(f"{folder}/drm/{entry}/device", folder)
        files.link(f"/sys/class/drm/{entry}", f"{folder}/drm/{entry}")
    files.node("/dev/dri/renderD128", Node("0660", amd.RENDER_GID, "226:128"))
    modules(files, driver)


def arc_b580() -> Files:
    files = Files("arc-b580", "desktop with an Intel Arc B580")
    cpu = Cpu("Intel(R) Core(TM) Ultra 7 265K", 1, 20, 1, "GenuineIntel", 6, governor="powersave")
    cpus(files, cpu, 1, 32)
    linux(files, FEDORA_42)
    firmware(files, "ASRock", "Z890 Pro RS", 3)
    user(files, _GROUPS, memlock="8388608")
    pcie.ethernet(files)
    link = ("16.0", 8)
    ports = (
        Bridge("0000:00:06.0", "8086:AE4D", link, ("32.0", 16)),
        Bridge("0000:03:00.0", "8086:E2FF", link, link),
        Bridge("0000:04:01.0", "8086:E2F0", ("2.5", 1), ("2.5", 1)),
    )
    slot = Slot("0000:05:00.0", ports)
    _intel(files, slot, "E20B", "xe", boot=True)
    pcie.links(files, slot.path, ("2.5", 1), ("2.5", 1))
    python(files, CPU_TORCH, version="3.13.7")
    return files


def epyc_cpu_only() -> Files:
    files = Files("epyc-cpu-only", "server without a GPU, NPS4, torch for processors")
    cpu = Cpu("AMD EPYC 9654 96-Core Processor", 2, 96, avx512=True)
    cpus(files, cpu, 8, 1536, (10, 12, 32))
    linux(files, UBUNTU_2404, "iommu=pt", 8_120_004.0)
    firmware(files, "Dell Inc.", "PowerEdge R7625", 23, "Dell Inc.")
    user(files, {27: "sudo"})
    pcie.management_display(files)
    place = Slot("0000:a1:00.0", (Bridge("0000:a0:01.1", "1022:14AB", ("32.0", 16), ("32.0", 16)),), 4)
    pcie.nic(files, 0, place, 200)
    python(files, CPU_TORCH)
    return files


def cpu_laptop() -> Files:
    files = Files("cpu-only-laptop", "laptop that shows only Intel's integrated graphics; no torch")
    cpu = Cpu("Intel(R) Core(TM) i5-1135G7 @ 2.40GHz", 1, 4, vendor="GenuineIntel", family=6, governor="powersave")
    cpus(files, cpu, 1, 16)
    linux(files, UBUNTU_2404)
    firmware(files, "Dell Inc.", "Latitude 5420", 10, "Dell Inc.")
    user(files, {27: "sudo"}, memlock="8388608")
    _intel(files, Slot("0000:00:02.0"), "9A49", "i915", boot=True)
    python(files, None, prefix="/usr")
    return files


def arm_server() -> Files:
    files = Files("arm-server", "aarch64 server (Neoverse V2) without a GPU")
    cpu = Cpu("", 2, 72, 1, arm_part="0xd4f", governor="performance")
    cpus(files, cpu, 2, 960, (10, 40))
    linux(files, UBUNTU_2404, "iommu.passthrough=1", 310_777.2)
    firmware(files, "Supermicro", "ARS-221GL-NR-01", 23)
    user(files, {27: "sudo"})
    pcie.management_display(files, "0008:03:00.0")
    python(files, CPU_TORCH, version="3.12.3")
    return files


MACHINES: tuple[Callable[[], Files], ...] = (
    h100_8,
    rtx4090_2,
    gtx_laptop,
    a10g_8,
    arc_b580,
    epyc_cpu_only,
    cpu_laptop,
    arm_server,
)
