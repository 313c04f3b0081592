"""The machines for which plans are kept: GPU, distribution and what was done so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rocdoctor.repair.setup.plan import Goal
from tests.machines import cards, enclosed, enclosed_without, guests, instinct, nvidia, radeon
from tests.machines.amd import Gpu, behind_switch
from tests.machines.files import Files
from tests.machines.pcie import Bridge, Slot
from tests.machines.python import CPU_TORCH, CUDA_TORCH, ROCM7_TORCH, ROCM_TORCH
from tests.machines.system import DEBIAN_13, FEDORA_42, UBUNTU_2204, UBUNTU_2404, UBUNTU_2404_HWE, Cpu, Distribution
from tests.repair.setup.world.box import Box, State

RHEL_9 = Distribution(
    "rhel",
    "9.6",
    "Red Hat Enterprise Linux 9.6 (Plow)",
    "fedora",
    "5.14.0-570.32.1.el9_6.x86_64",
    "#1 SMP PREEMPT_DYNAMIC Wed Aug 6 11:30:41 EDT 2025",
    dmesg_closed=False,
)
RHEL_10 = Distribution(
    "rhel",
    "10.0",
    "Red Hat Enterprise Linux 10.0 (Coughlan)",
    "centos fedora",
    "6.12.0-55.24.1.el10_0.x86_64",
    "#1 SMP PREEMPT_DYNAMIC Thu Jul 24 06:13:47 EDT 2025",
    dmesg_closed=False,
)
DEBIAN_12 = Distribution(
    "debian",
    "12",
    "Debian GNU/Linux 12 (bookworm)",
    "",
    "6.1.0-38-amd64",
    "#1 SMP PREEMPT_DYNAMIC Debian 6.1.147-1 (2025-08-02)",
)
ARCH = Distribution("arch", "", "Arch Linux", "", "6.16.4-arch1-1", "#1 SMP PREEMPT_DYNAMIC Thu, 28 Aug 2025")
SLES_15 = Distribution(
    "sles",
    "15.7",
    "SUSE Linux Enterprise Server 15 SP7",
    "suse",
    "6.4.0-150700.53.11-default",
    "#1 SMP PREEMPT_DYNAMIC Wed Aug 13 11:29:37 UTC 2025",
    dmesg_closed=False,
)

_PYTHON = {
    "22.04": "3.10.12",
    "24.04": "3.12.3",
    "12": "3.11.2",
    "13": "3.13.5",
    "9.6": "3.9.21",
    "10.0": "3.12.9",
    "42": "3.13.7",
    "15.7": "3.6.15",
}
_ALL = frozenset({"sudo", "video", "render"})
_ROOT = ("16.0", 16)


@dataclass(frozen=True, slots=True)
class Case:
    """A machine, its state and what its owner wants. ``whole``: evidence that is no state of a box."""

    name: str
    goal: Goal = "pytorch"
    box: Box | None = None
    state: State | None = None
    whole: Callable[[], Files] | None = None


def _radeon(card: cards.Card, bus: int = 0x01, display: bool = True) -> Gpu:
    return Gpu(card, behind_switch(bus, "00:01.1", card), boot_vga=display, used_mib=611)


def _desktop(name: str, os: Distribution, *gpus: Gpu, cpu: Cpu = radeon.RYZEN_9, gib: int = 64) -> Box:
    return Box(name, os, cpu, gib, gpus, python=_PYTHON.get(os.version, "3.13.7"))


def _case(name: str, os: Distribution, *gpus: Gpu, goal: Goal = "pytorch", **state: object) -> Case:
    box = _desktop(name, os, *gpus)
    return Case(name, goal, box, replace(State(os.kernel), **state))  # type: ignore[arg-type]


def _server(name: str, os: Distribution, gpus: list[Gpu], goal: Goal = "pytorch", **state: object) -> Case:
    product = ("Supermicro", "AS -8125GS-TNMR2")
    box = Box(name, os, instinct.GENOA, 1536, tuple(gpus), (), 23, product, _PYTHON.get(os.version, "3.12.3"))
    begin = State(os.kernel, memlock="unlimited")
    return Case(name, goal, box, replace(begin, **state))  # type: ignore[arg-type]


def _nvidia(
    name: str, os: Distribution, cpu: Cpu, *gpus: nvidia.Gpu, chassis: int = 3, goal: Goal = "pytorch", **state: object
) -> Case:
    box = Box(name, os, cpu, 64, (), gpus, chassis, python=_PYTHON.get(os.version, "3.12.3"))
    return Case(name, goal, box, replace(State(os.kernel), **state))  # type: ignore[arg-type]


XTX = _radeon(cards.RX_7900_XTX)
_RAPHAEL = Gpu(cards.RAPHAEL, Slot("0000:6c:00.0", (Bridge("0000:00:08.1", "1022:14DD"),)), used_mib=17)
_HALO = Gpu(cards.STRIX_HALO, Slot("0000:c1:00.0", (Bridge("0000:00:08.1", "1022:1508"),)), boot_vga=True)
_PHOENIX = Gpu(cards.PHOENIX, Slot("0000:c4:00.0", (Bridge("0000:00:08.1", "1022:14EB"),)), boot_vga=True)
_REMBRANDT = Gpu(radeon.REMBRANDT, Slot("0000:36:00.0", (Bridge("0000:00:08.1", "1022:14B9"),)), boot_vga=True)
_R580 = Gpu(cards.RX_580, Slot("0000:0a:00.0", (Bridge("0000:00:03.1", "1022:1483", ("8.0", 16), ("8.0", 16)),)))
_VII = Gpu(cards.RADEON_VII, behind_switch(0x01, "00:01.1", cards.RADEON_VII), boot_vga=True)
_MI300X = instinct.mi300x_gpus()
_MI210 = instinct.mi210_gpus()
_ADA = nvidia.Gpu(nvidia.RTX_4090, Slot("0000:01:00.0", (Bridge("0000:00:01.1", "1022:14AB", _ROOT, _ROOT),)), 1)
_TURING = nvidia.Gpu(
    nvidia.GTX_1660_TI_LAPTOP, Slot("0000:01:00.0", (Bridge("0000:00:01.0", "8086:1901", ("8.0", 16), ("8.0", 16)),)), 1
)
_INTEL = Cpu("Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz", 1, 6, vendor="GenuineIntel", family=6, governor="powersave")
_VENV = "/home/user/train/.venv"

CASES: tuple[Case, ...] = (
    _case("xtx-ubuntu2404-fresh", UBUNTU_2404_HWE, XTX),
    _case("xtx-ubuntu2404-groups-not-in-session", UBUNTU_2404_HWE, XTX, rocm="7.2.0", member=_ALL),
    _case(
        "xtx-ubuntu2404-done",
        UBUNTU_2404_HWE,
        XTX,
        rocm="7.2.0",
        member=_ALL,
        session=_ALL,
        venv=_VENV,
        torch=ROCM7_TORCH,
    ),
    _case(
        "xtx-ubuntu2404-cuda-torch",
        UBUNTU_2404_HWE,
        XTX,
        rocm="7.2.0",
        member=_ALL,
        session=_ALL,
        venv=_VENV,
        torch=CUDA_TORCH,
    ),
    _case(
        "xtx-ubuntu2404-cpu-torch-in-system",
        UBUNTU_2404_HWE,
        XTX,
        rocm="7.2.0",
        member=_ALL,
        session=_ALL,
        torch=CPU_TORCH,
    ),
    _case(
        "xtx-ubuntu2404-blacklisted",
        UBUNTU_2404_HWE,
        XTX,
        driver=False,
        texts={"/etc/modprobe.d/blacklist-amdgpu.conf": "blacklist amdgpu\n"},
    ),
    _case(
        "xtx-ubuntu2404-nomodeset",
        UBUNTU_2404_HWE,
        XTX,
        cmdline="quiet splash nomodeset",
        texts={"/etc/default/grub": 'GRUB_CMDLINE_LINUX_DEFAULT="quiet splash nomodeset"\n'},
    ),
    _case(
        "xtx-ubuntu2404-old-guide",
        UBUNTU_2404_HWE,
        XTX,
        rocm="7.2.0",
        member=_ALL,
        session=_ALL,
        venv=_VENV,
        torch=ROCM7_TORCH,
        env={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"},
        texts={"/home/user/.bashrc": "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n", "/proc/sys/kernel/tainted": "4"},
        cmdline="quiet splash amdgpu.ppfeaturemask=0xffffffff",
    ),
    _case("xtx-ubuntu2404-container-goal", UBUNTU_2404_HWE, XTX, goal="container"),
    _case("xtx-ubuntu2404-rocm-goal", UBUNTU_2404_HWE, XTX, goal="rocm", member=_ALL, session=_ALL),
    _case("xtx-ubuntu2204-fresh", UBUNTU_2204, XTX, driver=False),
    _case("xtx-ubuntu2204-secure-boot", UBUNTU_2204, XTX, driver=False, secure_boot=True),
    _case("xtx-debian12-fresh", DEBIAN_12, XTX, driver=False),
    _case("xtx-debian13-fresh", DEBIAN_13, XTX),
    _case("xtx-rhel9-fresh", RHEL_9, XTX, driver=False),
    _case("xtx-rhel10-fresh", RHEL_10, XTX),
    _case("xtx-arch-fresh", ARCH, XTX),
    _case("xtx-2-ubuntu2404", UBUNTU_2404_HWE, XTX, _radeon(cards.RX_7900_XTX, 0x41, False)),
    _case("xtx-raphael-ubuntu2404", UBUNTU_2404_HWE, XTX, _RAPHAEL),
    _case("rx9070xt-ubuntu2404-old-kernel", UBUNTU_2404, _radeon(cards.RX_9070_XT), driver=False),
    _case("rx9070xt-fedora42", FEDORA_42, _radeon(cards.RX_9070_XT)),
    _case("rx9070xt-rhel10", RHEL_10, _radeon(cards.RX_9070_XT), driver=False),
    _case("rx6600-ubuntu2404", UBUNTU_2404_HWE, _radeon(cards.RX_6600)),
    _case("rx6700xt-debian13", DEBIAN_13, _radeon(cards.RX_6700_XT)),
    _case(
        "rx6700xt-ubuntu2204-override",
        UBUNTU_2204,
        _radeon(cards.RX_6700_XT),
        rocm="6.4.2",
        member=_ALL,
        session=_ALL,
        venv=_VENV,
        torch=ROCM_TORCH,
        env={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"},
        texts={"/home/user/.profile": "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n"},
    ),
    _case("radeon-vii-ubuntu2404", UBUNTU_2404_HWE, _VII),
    _case("rx580-debian12", DEBIAN_12, _R580),
    _case("strix-halo-ubuntu2404", UBUNTU_2404_HWE, _HALO),
    _case("strix-halo-fedora42", FEDORA_42, _HALO),
    _case("phoenix-laptop-ubuntu2404", UBUNTU_2404_HWE, _PHOENIX),
    _case("rx7600s-rembrandt-laptop-fedora42", FEDORA_42, _radeon(cards.RX_7600S, 0x01, False), _REMBRANDT),
    _server("mi300x-8-ubuntu2204-fresh", UBUNTU_2204, _MI300X, driver=False),
    _server("mi300x-8-ubuntu2404-secure-boot", UBUNTU_2404, _MI300X, driver=False, secure_boot=True),
    _server("mi300x-8-rhel9-cluster-node", RHEL_9, _MI300X, "cluster-node", driver=False, memlock="8388608"),
    _server(
        "mi300x-8-ubuntu2404-done",
        UBUNTU_2404,
        _MI300X,
        driver_release="6.16.13",
        rocm="7.2.0",
        member=_ALL,
        session=_ALL,
        venv=_VENV,
        torch=ROCM7_TORCH,
    ),
    _server("mi210-8-debian13", DEBIAN_13, _MI210),
    _server("mi210-8-sles15", SLES_15, _MI210, driver=False),
    _nvidia("rtx4090-ubuntu2404-no-driver", UBUNTU_2404_HWE, radeon.RYZEN_9, _ADA, driver=False),
    _nvidia("rtx4090-rhel9-no-torch", RHEL_9, radeon.RYZEN_9, _ADA, driver_release="580.82.07"),
    _nvidia("gtx1660ti-debian13-secure-boot", DEBIAN_13, _INTEL, _TURING, chassis=10, driver=False, secure_boot=True),
    _nvidia("rtx4090-fedora42", FEDORA_42, radeon.RYZEN_9, _ADA, driver=False),
    _nvidia("rtx4090-fedora42-secure-boot", FEDORA_42, radeon.RYZEN_9, _ADA, driver=False, secure_boot=True),
    Case("cpu-laptop", "pytorch", None, None, guests.cpu_laptop),
    Case("cpu-server-done", "pytorch", None, None, guests.epyc_cpu_only),
    Case("arm-server", "pytorch", None, None, guests.arm_server),
    Case("h100-8-done", "pytorch", None, None, guests.h100_8),
    Case("arc-b580", "pytorch", None, None, guests.arc_b580),
    Case("wsl2-xtx", "pytorch", None, None, enclosed.wsl2),
    Case("podman-rootless", "pytorch", None, None, enclosed.podman_rootless),
    Case("docker-8-mi300x", "pytorch", None, None, enclosed.docker_8),
    Case("slurm-2-of-8-mi210", "cluster-node", None, None, enclosed.slurm_2_of_8),
    _case(
        "xtx-behind-raphael-ubuntu2404",
        UBUNTU_2404_HWE,
        _RAPHAEL,
        XTX,
        rocm="7.2.0",
        member=_ALL,
        session=_ALL,
        venv=_VENV,
        torch=ROCM7_TORCH,
    ),
    _case(
        "rx9070xt-fedora42-old-rocm",
        FEDORA_42,
        _radeon(cards.RX_9070_XT),
        goal="rocm",
        rocm="6.3.1",
        member=_ALL,
        session=_ALL,
    ),
    _nvidia("rtx4090-debian12-nouveau", DEBIAN_12, radeon.RYZEN_9, _ADA, driver=False, display_driver="nouveau"),
    _nvidia(
        "rtx4090-ubuntu2404-container-goal",
        UBUNTU_2404_HWE,
        radeon.RYZEN_9,
        _ADA,
        goal="container",
        driver_release="580.82.07",
    ),
    Case("rx7600s-laptop-asleep", "pytorch", None, None, radeon.rx7600s_laptop),
    Case("wsl2-xtx-without-torch", "pytorch", None, None, enclosed_without.wsl2_without_torch),
    Case("docker-8-mi300x-without-devices", "pytorch", None, None, enclosed_without.docker_8_without_devices),
    Case("podman-rootless-without-groups", "pytorch", None, None, enclosed_without.podman_without_groups),
    Case("lxc-xtx-without-groups", "pytorch", None, None, enclosed_without.lxc_without_groups),
    Case("slurm-2-of-8-mi210-without-torch", "pytorch", None, None, enclosed_without.slurm_without_torch),
    Case("slurm-2-of-8-mi210-container-goal", "container", None, None, enclosed.slurm_2_of_8),
    Case("r7-240-display", "pytorch", None, None, radeon.r7_240),
)

# The distributions for which driver, ROCm and torch must be known, with cards of each kind and nothing installed.
WHOLE = (UBUNTU_2204, UBUNTU_2404, DEBIAN_12, DEBIAN_13, RHEL_9, RHEL_10)
FRESH: tuple[Case, ...] = tuple(
    case
    for os in WHOLE
    for case in (
        _case(f"xtx-{os.id}{os.version}-nothing", os, XTX, driver=False),
        _case(f"rx9070xt-{os.id}{os.version}-nothing", os, _radeon(cards.RX_9070_XT), driver=False),
        _server(f"mi300x-8-{os.id}{os.version}-nothing", os, _MI300X, driver=False),
        _nvidia(f"rtx4090-{os.id}{os.version}-nothing", os, radeon.RYZEN_9, _ADA, driver=False),
    )
)
