"""Machines for routes beside the usual ones: derived distributions, old and new cards, servers, directory accounts."""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.repair.setup.plan import Goal
from tests.machines import cards, nvidia, radeon
from tests.machines.amd import Gpu, behind_switch
from tests.machines.pcie import Bridge, Slot
from tests.machines.system import DEBIAN_13, UBUNTU_2204, UBUNTU_2404, UBUNTU_2404_HWE, Cpu, Distribution
from tests.repair.setup.world.box import Box, State
from tests.repair.setup.world.catalogue import ARCH, DEBIAN_12, RHEL_9, SLES_15, XTX, Case

MINT_22 = Distribution(
    "linuxmint",
    "22.1",
    "Linux Mint 22.1",
    "ubuntu debian",
    "6.14.0-29-generic",
    "#29~24.04.1-Ubuntu SMP PREEMPT_DYNAMIC Thu Aug 14 16:52:50 UTC 2",
    codename="noble",
)
UBUNTU_2510 = Distribution(
    "ubuntu",
    "25.10",
    "Ubuntu 25.10",
    "debian",
    "6.17.0-5-generic",
    "#5-Ubuntu SMP PREEMPT_DYNAMIC Mon Sep 22 10:00:33 UTC 2025",
    codename="questing",
)
CENTOS_9 = Distribution(
    "centos",
    "9",
    "CentOS Stream 9",
    "rhel fedora",
    "5.14.0-613.el9.x86_64",
    "#1 SMP PREEMPT_DYNAMIC Wed Sep 3 11:30:41 UTC 2025",
    dmesg_closed=False,
    platform="platform:el9",
)
LEAP_156 = Distribution(
    "opensuse-leap",
    "15.6",
    "openSUSE Leap 15.6",
    "suse opensuse",
    "6.4.0-150600.23.65-default",
    "#1 SMP PREEMPT_DYNAMIC Tue Aug 12 15:37:28 UTC 2025",
    dmesg_closed=False,
)
LEAP_16 = Distribution(
    "opensuse-leap",
    "16.0",
    "openSUSE Leap 16.0",
    "suse opensuse",
    "6.12.0-160000.5-default",
    "#1 SMP PREEMPT_DYNAMIC Thu Oct 2 14:11:02 UTC 2025",
    dmesg_closed=False,
)
TUMBLEWEED = Distribution(
    "opensuse-tumbleweed",
    "20261110",
    "openSUSE Tumbleweed",
    "opensuse suse",
    "7.1.2-1-default",
    "#1 SMP PREEMPT_DYNAMIC Mon Nov 9 08:20:11 UTC 2026",
    dmesg_closed=False,
)
FEDORA_43 = Distribution(
    "fedora",
    "43",
    "Fedora Linux 43 (Workstation Edition)",
    "",
    "6.17.1-300.fc43.x86_64",
    "#1 SMP PREEMPT_DYNAMIC Mon Oct 6 15:37:21 UTC 2025",
    dmesg_closed=False,
)
JETPACK = Distribution(
    "ubuntu",
    "22.04",
    "Ubuntu 22.04.5 LTS",
    "debian",
    "5.15.148-tegra",
    "#1 SMP PREEMPT Tue Jan 7 17:14:38 PST 2025",
)


def _desktop(name: str, os: Distribution, *gpus: Gpu, python: str, gib: int = 64) -> Box:
    return Box(name, os, radeon.RYZEN_9, gib, gpus, python=python)


def _case(name: str, os: Distribution, *gpus: Gpu, python: str, goal: Goal = "pytorch", **state: object) -> Case:
    return Case(name, goal, _desktop(name, os, *gpus, python=python), replace(State(os.kernel), **state))  # type: ignore[arg-type]


_9070 = Gpu(cards.RX_9070_XT, behind_switch(0x01, "00:01.1", cards.RX_9070_XT), boot_vga=True, used_mib=611)

_ROOT = ("32.0", 16)


def _hopper(bus: int) -> nvidia.Gpu:
    bridge = Bridge(f"0000:{bus - 6:02x}:01.0", "8086:352A", _ROOT, _ROOT)
    return nvidia.Gpu(nvidia.H100, Slot(f"0000:{bus:02x}:00.0", (bridge,)), 5)


_HGX = tuple(_hopper(bus) for bus in (0x1B, 0x3C, 0x4D, 0x5E, 0x9B, 0xBC, 0xCD, 0xDE))
_XEON = Cpu("Intel(R) Xeon(R) Platinum 8468", 2, 48, vendor="GenuineIntel", family=6, avx512=True)


def _hgx(name: str, os: Distribution, python: str, gpus: tuple[nvidia.Gpu, ...] = _HGX, **state: object) -> Case:
    box = Box(name, os, _XEON, 2048, (), gpus, 23, ("Dell Inc.", "PowerEdge XE9680"), python)
    begin = State(os.kernel, driver=False, memlock="unlimited")
    return Case(name, "pytorch", box, replace(begin, **state))  # type: ignore[arg-type]


def _nvidia(name: str, os: Distribution, card: nvidia.Card, python: str, chassis: int = 3) -> Case:
    """A desktop (or a rack server, chassis 23) with one card and no driver for it."""
    slot = Slot("0000:01:00.0", (Bridge("0000:00:01.1", "1022:14AB", _ROOT, _ROOT),))
    box = Box(name, os, radeon.RYZEN_9, 64, (), (nvidia.Gpu(card, slot, 1),), chassis, python=python)
    return Case(name, "pytorch", box, State(os.kernel, driver=False))


# Of these nothing but the PCI id is seen before a driver runs.
_5090 = replace(nvidia.RTX_4090, name="NVIDIA GeForce RTX 5090", device="2B85", capability=(12, 0))
_1070 = replace(nvidia.GTX_1660_TI_LAPTOP, name="NVIDIA GeForce GTX 1070", device="1B81", capability=(6, 1))
_A100 = replace(nvidia.H100, name="NVIDIA A100-SXM4-80GB", device="20B2", capability=(8, 0))
_V100 = replace(nvidia.H100, name="Tesla V100-SXM2-16GB", device="1DB1", capability=(7, 0))
_5700 = replace(cards.RX_6600, name="AMD Radeon RX 5700 XT", device="731F", revision="C1", gfx_version=100100)
_ORIN = Cpu("Cortex-A78AE", 1, 12, 1, vendor="ARM", arm_part="0xd42")

ROUTES: tuple[Case, ...] = (
    _case("xtx-mint22", MINT_22, XTX, python="3.12.3"),
    _case("xtx-mint22-nothing", MINT_22, XTX, python="3.12.3", driver=False),
    _case("xtx-ubuntu2510", UBUNTU_2510, XTX, python="3.13.7"),
    _case("xtx-centos9-nothing", CENTOS_9, XTX, python="3.9.21", driver=False),
    _case(
        "xtx-ubuntu2404-directory",
        UBUNTU_2404_HWE,
        XTX,
        python="3.12.3",
        directory=True,
        member=frozenset(),
        session=frozenset(),
    ),
    _case(
        "xtx-ubuntu2204-directory-nothing",
        UBUNTU_2204,
        XTX,
        python="3.10.12",
        directory=True,
        driver=False,
        member=frozenset(),
        session=frozenset(),
    ),
    _hgx("h100-8-ubuntu2404-nothing", UBUNTU_2404, "3.12.3"),
    _hgx("h100-8-rhel9-nothing", RHEL_9, "3.9.21"),
    _hgx("h100-8-debian12-nothing", DEBIAN_12, "3.11.2"),
    _case("rx9070xt-leap156", LEAP_156, _9070, python="3.6.15", goal="rocm"),
    _nvidia("rtx5090-arch-nothing", ARCH, _5090, "3.14.0"),
    _nvidia("rtx5090-leap16-nothing", LEAP_16, _5090, "3.13.5"),
    _nvidia("rtx5090-tumbleweed-nothing", TUMBLEWEED, _5090, "3.13.9"),
    _nvidia("a100-sles15-nothing", SLES_15, _A100, "3.6.15", 23),
    _nvidia("v100-rhel9-nothing", RHEL_9, _V100, "3.9.21", 23),
    _nvidia("gtx1070-debian13-nothing", DEBIAN_13, _1070, "3.13.5"),
    _nvidia("gtx1070-fedora43-nothing", FEDORA_43, _1070, "3.14.0"),
    _nvidia("gtx1070-leap16-nothing", LEAP_16, _1070, "3.13.5"),
    _case(
        "rx5700xt-ubuntu2404",
        UBUNTU_2404_HWE,
        Gpu(_5700, behind_switch(0x01, "00:01.1", _5700), boot_vga=True, used_mib=611),
        python="3.12.3",
    ),
    Case("orin-jetpack6", "pytorch", Box("orin-jetpack6", JETPACK, _ORIN, 64, python="3.10.12"), State(JETPACK.kernel)),
)
