"""Desktops and laptops with Radeon cards and APUs."""

from __future__ import annotations

from collections.abc import Callable

from tests.machines import amd, cards, kfd, pcie, tools
from tests.machines.amd import Gpu, behind_switch
from tests.machines.cards import Card
from tests.machines.files import Files, Node
from tests.machines.pcie import Bridge, Slot
from tests.machines.python import CPU_TORCH, ROCM7_TORCH, ROCM57_TORCH, ROCM_TORCH, Torch, amd_devices, python
from tests.machines.system import (
    DEBIAN_13,
    FEDORA_42,
    UBUNTU_2204,
    UBUNTU_2404_HWE,
    Cpu,
    Distribution,
    cpus,
    firmware,
    linux,
    modules,
    user,
)

RYZEN_9 = Cpu("AMD Ryzen 9 7950X 16-Core Processor", 1, 16, avx512=True, governor="powersave")
RYZEN_7 = Cpu("AMD Ryzen 7 5800X 8-Core Processor", 1, 8, governor="schedutil")
_GEN4 = ("16.0", 16)
_GROUPS = {27: "sudo", amd.VIDEO_GID: "video", amd.RENDER_GID: "render"}


def _desktop(
    files: Files,
    cpu: Cpu,
    gib: int,
    os: Distribution,
    board: tuple[str, str] = ("ASUS", "ROG STRIX X670E-E"),
    chassis: int = 3,
    cmdline: str = "",
) -> None:
    cpus(files, cpu, 1, gib)
    linux(files, os, cmdline)
    firmware(files, *board, chassis)
    user(files, _GROUPS, memlock="8388608")
    pcie.ethernet(files)


def _stack(
    files: Files,
    cpu: Cpu,
    gib: int,
    gpus: list[Gpu],
    rocm: str,
    torch: Torch | None,
    seen: list[Gpu] | None = None,
    first: int = 0,
    python_version: str = "3.12.3",
) -> None:
    """GPUs with their topology, a ROCm installation (none with an empty version) and torch, which sees ``seen``.

    ``first`` is the number of the first DRM card.
    """
    amd.put_gpus(files, gpus, first, first_minor=128 + first)
    kfd.put_topology(files, gpus, 1, cpu.cores * cpu.threads, first_minor=128 + first)
    if rocm:
        tools.rocm(files, rocm)
        tools.rocminfo(files, cpu.model, 1, gpus, gib, "")
    python(files, torch, amd_devices(gpus if seen is None else seen), python_version)


def rx7900xtx_2() -> Files:
    files = Files("rx7900xtx-2gpu", "desktop with 2 RX 7900 XTX, 8 lanes to each")
    _desktop(files, RYZEN_9, 128, UBUNTU_2404_HWE)
    card = cards.RX_7900_XTX
    half = ("16.0", 8)
    gpus = [
        Gpu(card, behind_switch(0x01, "00:01.1", card, half, ("32.0", 8)), boot_vga=True, used_mib=1187),
        Gpu(card, behind_switch(0x04, "00:01.2", card, half, ("32.0", 8))),
    ]
    _stack(files, RYZEN_9, 128, gpus, "7.2.0", ROCM7_TORCH)
    return files


def rx9070xt() -> Files:
    files = Files("rx9070xt", "desktop with one RX 9070 XT")
    _desktop(files, RYZEN_9, 64, FEDORA_42)
    gpu = Gpu(cards.RX_9070_XT, behind_switch(0x01, "00:01.1", cards.RX_9070_XT), boot_vga=True, used_mib=902)
    _stack(files, RYZEN_9, 64, [gpu], "7.2.0", ROCM7_TORCH, python_version="3.13.7")
    return files


def rx7900xtx_raphael() -> Files:
    files = Files(
        "rx7900xtx-raphael", "desktop with RX 7900 XTX beside the processor's own GPU, which is hidden from HIP"
    )
    _desktop(files, RYZEN_9, 64, UBUNTU_2404_HWE)
    card = cards.RX_7900_XTX
    big = Gpu(card, behind_switch(0x01, "00:01.1", card), boot_vga=True, used_mib=1404)
    small = Gpu(cards.RAPHAEL, Slot("0000:6c:00.0", (Bridge("0000:00:08.1", "1022:14DD"),)), used_mib=17)
    files.env["HIP_VISIBLE_DEVICES"] = "0"
    _stack(files, RYZEN_9, 64, [big, small], "7.2.0", ROCM7_TORCH, [big])
    return files


def rx6700xt() -> Files:
    files = Files("rx6700xt-override", "desktop with RX 6700 XT, run as gfx1030 by HSA_OVERRIDE_GFX_VERSION")
    _desktop(files, RYZEN_7, 32, UBUNTU_2204, ("Gigabyte Technology Co., Ltd.", "B550 AORUS ELITE V2"))
    gpu = Gpu(
        cards.RX_6700_XT,
        behind_switch(0x0A, "00:03.1", cards.RX_6700_XT, None, ("16.0", 16)),
        boot_vga=True,
        used_mib=611,
    )
    files.env["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0"
    _stack(files, RYZEN_7, 32, [gpu], "6.4.2", ROCM_TORCH, python_version="3.10.12")
    return files


def rx6600() -> Files:
    files = Files("rx6600", "desktop with RX 6600: the link files of the card itself show 16 lanes, its switch has 8")
    _desktop(files, RYZEN_7, 32, DEBIAN_13, ("Micro-Star International Co., Ltd.", "MS-7C91"))
    gpu = Gpu(cards.RX_6600, behind_switch(0x2B, "00:03.1", cards.RX_6600, port=_GEN4), boot_vga=True, used_mib=455)
    files.env["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0"
    _stack(files, RYZEN_7, 32, [gpu], "6.4.2", ROCM_TORCH, python_version="3.13.5")
    return files


def rx7600s_laptop() -> Files:
    files = Files("rx7600s-laptop", "laptop with RX 7600S, asleep, beside the processor's own GPU")
    cpu = Cpu("AMD Ryzen 7 7735HS with Radeon Graphics", 1, 8, governor="powersave")
    _desktop(files, cpu, 32, FEDORA_42, ("ASUSTeK COMPUTER INC.", "ASUS TUF Gaming A16 FA617NS"), 10)
    big = Gpu(cards.RX_7600S, behind_switch(0x01, "00:01.1", cards.RX_7600S, port=("16.0", 8)), suspended=True)
    small = Gpu(REMBRANDT, Slot("0000:36:00.0", (Bridge("0000:00:08.1", "1022:14B9"),)), boot_vga=True, used_mib=389)
    _stack(files, cpu, 32, [big, small], "", ROCM7_TORCH, python_version="3.13.7")
    return files


REMBRANDT = Card(
    "AMD Radeon 680M",
    "1681",
    "C8",
    "1043:1C72",
    100305,
    12,
    2,
    0.5,
    ("16.0", 16),
    (("edge", 44, 0, 0),),
    (8, 0),
    "113-REMBRANDT-X37",
    sclk_mhz=(200, 400, 2200),
    mclk_mhz=(400, 2400),
    apu=True,
    gtt_gib=15.1,
    unique=False,
)


def phoenix_laptop() -> Files:
    files = Files("phoenix-laptop", "laptop with a Phoenix APU (Radeon 780M) and no ROCm")
    cpu = Cpu("AMD Ryzen 7 7840U w/ Radeon  780M Graphics", 1, 8, avx512=True, governor="powersave")
    _desktop(files, cpu, 32, UBUNTU_2404_HWE, ("LENOVO", "21K5CTO1WW"), 10)
    gpu = Gpu(cards.PHOENIX, Slot("0000:c4:00.0", (Bridge("0000:00:08.1", "1022:14EB"),)), boot_vga=True, used_mib=871)
    _stack(files, cpu, 32, [gpu], "", CPU_TORCH, [])
    return files


def strix_halo() -> Files:
    files = Files("strix-halo", "small desktop with a Strix Halo APU (Radeon 8060S), 128 GiB of shared memory")
    cpu = Cpu("AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", 1, 16, avx512=True, family=26, governor="powersave")
    _desktop(files, cpu, 128, FEDORA_42, ("Framework", "Desktop (AMD Ryzen AI Max 300 Series)"))
    slot = Slot("0000:c1:00.0", (Bridge("0000:00:08.1", "1022:1508"),))
    gpu = Gpu(cards.STRIX_HALO, slot, boot_vga=True, used_mib=302)
    _stack(files, cpu, 128, [gpu], "7.2.0", ROCM7_TORCH, python_version="3.13.7")
    return files


def radeon_vii() -> Files:
    files = Files("radeon-vii-old-board", "Radeon VII on an old board (PCIe 3, small memory window) with ROCm 5.7")
    cpu = Cpu("Intel(R) Core(TM) i7-6700K CPU @ 4.00GHz", 1, 4, vendor="GenuineIntel", family=6, governor="powersave")
    _desktop(files, cpu, 32, UBUNTU_2204, ("MSI", "Z170A GAMING M5 (MS-7977)"))
    link = ("8.0", 16)
    ports = (
        Bridge("0000:00:01.0", "8086:1901", link, link),
        Bridge("0000:01:00.0", "1002:14A0", link, link),
        Bridge("0000:02:00.0", "1002:14A1", link, link),
    )
    gpu = Gpu(cards.RADEON_VII, Slot("0000:03:00.0", ports), boot_vga=True, used_mib=318)
    _stack(files, cpu, 32, [gpu], "5.7.1", ROCM57_TORCH, python_version="3.10.12")
    return files


def rx580() -> Files:
    files = Files("rx580", "desktop with RX 580, which ROCm left behind; torch is a CPU build")
    cpu = Cpu("AMD Ryzen 5 3600 6-Core Processor", 1, 6, family=23, governor="schedutil")
    _desktop(files, cpu, 16, DEBIAN_13, ("ASRock", "B450M Pro4"))
    slot = Slot("0000:0a:00.0", (Bridge("0000:00:03.1", "1022:1483", ("8.0", 16), ("8.0", 16)),))
    gpu = Gpu(cards.RX_580, slot, boot_vga=True, used_mib=341)
    _stack(files, cpu, 16, [gpu], "", CPU_TORCH, [], python_version="3.13.5")
    return files


def r7_240() -> Files:
    files = Files("r7-240-display", "office desktop whose R7 240 (radeon driver) only shows pictures; no torch")
    cpu = Cpu("Intel(R) Core(TM) i5-4590 CPU @ 3.30GHz", 1, 4, 1, "GenuineIntel", 6, governor="powersave")
    _desktop(files, cpu, 16, DEBIAN_13, ("Dell Inc.", "OptiPlex 9020"))
    slot = Slot("0000:01:00.0", (Bridge("0000:00:01.0", "8086:0C01", ("8.0", 8), ("8.0", 16)),))
    amd.put_gpus(files, [Gpu(cards.R7_240, slot, boot_vga=True)])
    modules(files, "radeon", "drm_ttm_helper", "ttm")
    files.put_all("/sys/module/radeon/parameters", {"si_support": 1, "dpm": -1, "runpm": -1})
    python(files, None, version="3.13.5", prefix="/usr")
    return files


def thunderbolt() -> Files:
    files = Files("egpu-thunderbolt", "laptop with an RX 7900 XTX in a Thunderbolt enclosure")
    cpu = Cpu("13th Gen Intel(R) Core(TM) i7-1360P", 1, 12, vendor="GenuineIntel", family=6, governor="powersave")
    _desktop(files, cpu, 32, UBUNTU_2404_HWE, ("Framework", "Laptop (13th Gen Intel Core)"), 10)
    igpu = Slot("0000:00:02.0")
    folder = pcie.device(files, igpu, "30000", "8086:A7A0", "F111:0002", "i915", "04")
    files.put(f"{folder}/boot_vga", "1")
    for entry, minor in (("card0", 0), ("renderD128", 128)):
        files.put(f"{folder}/drm/{entry}/dev", f"226:{minor}")
        files.link(f"{folder}/drm/{entry}/device", folder)
        files.link(f"/sys/class/drm/{entry}", f"{folder}/drm/{entry}")
    files.node("/dev/dri/renderD128", Node("0660", amd.RENDER_GID, "226:128"))
    modules(files, "i915", "thunderbolt")
    # Thunderbolt bridges state 2.5 GT/s x4 whatever they carry; the tunnel passes about 22 to 32 Gbit/s.
    tunnel = ("2.5", 4)
    card = cards.RX_7900_XTX
    ports = (
        Bridge("0000:00:07.0", "8086:A76E", tunnel, tunnel),
        Bridge("0000:03:00.0", "8086:15EF", tunnel, tunnel),
        Bridge("0000:04:01.0", "8086:15EF", tunnel, tunnel),
        Bridge("0000:05:00.0", "1002:1478", tunnel, ("16.0", 16)),
        Bridge("0000:06:00.0", "1002:1479", ("16.0", 16), ("16.0", 16)),
    )
    gpu = Gpu(card, Slot("0000:07:00.0", ports), removable="removable", used_mib=41)
    _stack(files, cpu, 32, [gpu], "7.2.0", ROCM7_TORCH, first=1)
    return files


MACHINES: tuple[Callable[[], Files], ...] = (
    rx7900xtx_2,
    rx9070xt,
    rx7900xtx_raphael,
    rx6700xt,
    rx6600,
    rx7600s_laptop,
    phoenix_laptop,
    strix_halo,
    radeon_vii,
    rx580,
    r7_240,
    thunderbolt,
)
