"""Machines made by hand for tests of steps: whole as far as a plan looks, every fact a plain value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rocdoctor.judging.diagnose import diagnose
from rocdoctor.model.evidence import Known, Unknown
from rocdoctor.model.facts import Cpus, Gpu, Kernel, Machine, OperatingSystem, TorchBuild, User
from rocdoctor.repair.setup.plan import Goal, SetupPlan
from rocdoctor.repair.setup.planner import plan
from tests.golden.replay import our_checks
from tests.kit import amd_gpu, environment, k, machine, nvidia_gpu

ROCM72 = (
    "gfx900",
    "gfx906",
    "gfx908",
    "gfx90a",
    "gfx942",
    "gfx1030",
    "gfx1100",
    "gfx1101",
    "gfx1102",
    "gfx1200",
    "gfx1201",
    "gfx950",
    "gfx1150",
    "gfx1151",
)
VENV = "/home/user/train/.venv/bin/python"
_KERNELS = {
    "ubuntu 24.04": "6.14.0-29-generic",
    "ubuntu 22.04": "6.8.0-71-generic",
    "debian 12": "6.1.0-38-amd64",
    "debian 13": "6.12.41+deb13-amd64",
    "rhel 9.6": "5.14.0-570.32.1.el9_6.x86_64",
    "rhel 10.0": "6.12.0-55.24.1.el10_0.x86_64",
    "fedora 42": "6.15.9-201.fc42.x86_64",
}


def facts(values: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values as known facts; what is a fact already stays."""
    return {name: value if isinstance(value, Known | Unknown) else k(value) for name, value in values.items()}


def torch(version: str | None = None, path: str = VENV, python: str = "3.12.3", **more: Any) -> TorchBuild:
    """An interpreter with this torch (None: without one), in a virtual environment unless ``environment`` is given."""
    plain = {name: more.pop(name) for name in ("torch_requires", "requires_torch", "shadowed") if name in more}
    label = (version or "").partition("+")[2]
    told: dict[str, Any] = {
        "interpreter": path,
        "python": python,
        "version": version,
        "environment": "venv",
        "externally_managed": False,
        "packages": {"pip": "25.2"} | ({"torch": version} if version else {}),
    }
    if version is not None:
        told |= {
            "hip": f"{label.removeprefix('rocm')}.53211" if label.startswith("rocm") else None,
            "cuda": f"{label[2:4]}.{label[4:]}" if label.startswith("cu") else None,
            "import_error": None,
        }
        if label.startswith("rocm"):
            told |= {"arch_list": ROCM72, "device_count": 1, "bundled_rocm": True}
    built = TorchBuild(**facts(told | more), **plain)
    return replace(built, arch_list_complete=isinstance(built.arch_list, Known))


def gpu(kind: str, index: int = 0, **changes: Any) -> Gpu:
    """A card by its usual name: xtx, navi48, raphael (an integrated one), ada."""
    known: dict[str, tuple[Callable[..., Gpu], dict[str, Any]]] = {
        "xtx": (amd_gpu, {"name": "AMD Radeon RX 7900 XTX", "pci_id": "1002:744c", "gfx": "gfx1100"}),
        "navi48": (amd_gpu, {"name": "AMD Radeon RX 9070 XT", "pci_id": "1002:7550", "gfx": "gfx1201"}),
        "navi24": (amd_gpu, {"name": "AMD Radeon RX 6500 XT", "pci_id": "1002:743f", "gfx": "gfx1034"}),
        "navi22": (amd_gpu, {"name": "AMD Radeon RX 6700 XT", "pci_id": "1002:73df", "gfx": "gfx1031"}),
        "raphael": (amd_gpu, {"name": "Raphael", "pci_id": "1002:164e", "gfx": "gfx1036", "integrated": True}),
        "ada": (nvidia_gpu, {"name": "NVIDIA GeForce RTX 4090", "pci_id": "10de:2684", "compute_capability": "8.9"}),
    }
    maker, told = known[kind]
    return maker(index, **(told | changes))


def desk(
    *gpus: Gpu, os: str | OperatingSystem = "ubuntu 24.04", build: TorchBuild | None = None, **changes: Any
) -> Machine:
    """A machine on this distribution with these GPUs and this interpreter, outside of any container."""
    named = os if isinstance(os, str) else ""
    name, _, release = named.partition(" ")
    system = os if isinstance(os, OperatingSystem) else None
    system = system or OperatingSystem(**facts({"id": name, "version_id": release, "pretty_name": named}))
    kernel = changes.pop("kernel", {})
    told = {"release": _KERNELS.get(named, "6.12.1"), "secure_boot": False, "modules": frozenset[str](), "dkms": ()}
    container = changes.pop("container", {"kind": "none", "rootless": False})
    values: dict[str, Any] = {
        "os": system,
        "kernel": replace(Kernel(**facts(told | kernel)), modules_complete=True),
        "torch": build if build is not None else torch(),
        "user": User(**facts({"uid": 1000, "groups": ("user", "render", "video")})),
        "environment": environment({"USER": "user", **changes.pop("variables", {})}),
        "cpus": Cpus(**facts({"arch": changes.pop("arch", "x86_64")})),
    }
    values["container"] = replace(Machine().container, **facts(container))
    return machine(*gpus, **(values | changes))


def planned(of: Machine, goal: Goal = "pytorch") -> SetupPlan:
    """The plan of a machine."""
    return plan(diagnose(of, our_checks()), goal)
