"""Machines for routes beside the usual ones: derived distributions, integrated GPUs, servers, directory accounts."""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.repair.setup.plan import Goal
from tests.machines import cards, nvidia, radeon
from tests.machines.amd import Gpu, behind_switch
from tests.machines.pcie import Bridge, Slot
from tests.machines.system import UBUNTU_2204, UBUNTU_2404, UBUNTU_2404_HWE, Cpu, Distribution
from tests.repair.setup.world.box import Box, State
from tests.repair.setup.world.catalogue import DEBIAN_12, RHEL_9, XTX, Case

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
)
