"""Machines for the set-up tables: distributions, kernels, GPUs, and every route that there is."""

from __future__ import annotations

from collections.abc import Iterator

from rocdoctor.knowledge import install, lookup
from rocdoctor.model.evidence import Known, Source, Unknown
from rocdoctor.model.facts.gpu import Gpu
from rocdoctor.model.facts.system import OperatingSystem

# Those for which driver, ROCm and torch must be complete.
WHOLE = ("ubuntu 22.04", "ubuntu 24.04", "rhel 9", "rhel 10", "debian 12", "debian 13")
TARGETS = sorted({one.gfx for one in lookup.all_profiles() if one.gfx} | {"gfx803"})
KERNELS = {
    "ubuntu 22.04": "5.15.0-119-generic",
    "ubuntu 24.04": "6.8.0-45-generic",
    "ubuntu 26.04": "7.0.0-10-generic",
    "debian 12": "6.1.0-40-amd64",
    "debian 13": "6.12.43-amd64",
    "rhel 9": "5.14.0-570.el9.x86_64",
    "rhel 10": "6.12.0-124.el10.x86_64",
}


def system(name: str, version: str) -> OperatingSystem:
    here = Source("read /etc/os-release")
    return OperatingSystem(id=Known(name, here), version_id=Known(version, here))


def found(key: str, minor: str = "") -> install.Distribution:
    name, _, release = key.partition(" ")
    one = install.distribution(system(name, minor or release))
    assert one is not None and one.key == key
    return one


def whole(key: str) -> install.Distribution:
    return found(key, {"rhel 9": "9.6", "rhel 10": "10.0"}.get(key, ""))


def gpu(index: int, vendor: str, gfx: str = "", integrated: bool = False, capability: str = "") -> Gpu:
    here = Source("a test")
    return Gpu(
        index,
        vendor,
        gfx=Known(gfx, here) if gfx else Unknown("no topology"),
        integrated=Known(integrated, here),
        compute_capability=Known(capability, here) if capability else Unknown("no tool"),
    )


def every_route() -> Iterator[tuple[install.Distribution, tuple[install.InstallStep, ...]]]:
    for one in install.distributions():
        here = whole(one.key) if one.key in WHOLE else one
        kernel = KERNELS.get(one.key, "6.12.1")
        for gfx in TARGETS:
            for route in install.rocm_routes(here, gfx):
                yield here, (*route.steps, *route.undo)
            driver = install.driver_route(here, gfx, kernel=kernel)
            if isinstance(driver, install.DriverRoute):
                yield here, (*driver.steps, *driver.undo, *driver.secure_boot)
        for capability in ("7.0", "8.6", "12.0"):
            driver = install.nvidia_driver(here, capability, kernel=kernel)
            if isinstance(driver, install.DriverRoute):
                yield here, (*driver.steps, *driver.undo, *driver.secure_boot)
        for vendor in ("amd", "nvidia"):
            steps = install.toolkit_steps(here, vendor)
            if not isinstance(steps, Unknown):
                yield here, steps
        yield here, install.environment_steps(here, ".venv")
