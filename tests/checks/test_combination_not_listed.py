from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.model.evidence import Unknown
from rocdoctor.model.facts import Machine, RocmInstall, TorchBuild
from rocdoctor.model.facts.system import Container, Cpus, Kernel, OperatingSystem
from tests.kit import amd_gpu, judge, k, machine, severities, states, u

NAME = "combination-not-listed"
XTX = {"name": "AMD Radeon RX 7900 XTX", "pci_id": "1002:744c", "revision": "c8", "gfx": "gfx1100"}
HALO = {"name": "Radeon 8060S", "pci_id": "1002:1586", "gfx": "gfx1151", "integrated": True}
MI300X = {"name": "AMD Instinct MI300X", "pci_id": "1002:74a1", "gfx": "gfx942", "compute_units": 304}

OWN = {"amdgpu": {"version": Unknown("the module has no version", "absent")}}


def _on(system: str, kernel: str, card: dict[str, Any], rocm: str = "10.1.0", **changes: Any) -> Machine:
    name, _, version = system.partition(" ")
    packaged = changes.pop("packaged", "7.1.9.31600000")
    facts: dict[str, Any] = {
        "os": OperatingSystem(id=k(name), version_id=k(version)),
        "kernel": Kernel(release=k(kernel)),
        "drivers": {"amdgpu": {"version": k(packaged) if packaged else u()}},
        "rocm": (RocmInstall(k(rocm), f"/opt/rocm/core-{rocm[:4]}", "core"),) if rocm else (),
        "container": Container(kind=k("none"), virtual_machine=k(None)),
        "cpus": Cpus(model=k("AMD RYZEN AI MAX+ 395 w/ Radeon 8060S")),
    }
    return machine(amd_gpu(**card), **(facts | changes))


def _message(of: Machine) -> str:
    (verdict,) = judge(NAME, of)
    assert verdict.finding is not None
    return verdict.finding.message


def test_what_amd_lists_passes() -> None:
    for of in (
        _on("ubuntu 24.04", "7.0.0-29-generic", XTX),
        _on("ubuntu 24.04", "6.17.0-20-generic", XTX, "10.0.0"),
        _on("ubuntu 22.04", "5.15.0-119-generic", XTX, "7.14.1"),
        _on("ubuntu 24.04", "6.8.0-71-generic", MI300X),
        _on("ubuntu 24.04", "7.0.0-29-generic", HALO, drivers=OWN),
    ):
        assert states(judge(NAME, of)) == ["pass"]


def test_another_kernel_or_system_is_only_worth_knowing() -> None:
    old = _on("ubuntu 22.04", "5.15.0-119-generic", XTX)
    assert severities(judge(NAME, old)) == ["info"]
    assert "with the HWE kernel 6.8, not with 5.15.0-119-generic" in _message(old)
    (verdict,) = judge(NAME, old)
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert "Ubuntu 22.04.5 with the HWE kernel 6.8" in verdict.finding.fix.text
    assert "on RHEL 10.2 or 9.8, but not on 10.0" in _message(_on("rhel 10.0", "6.12.0-55.el10.x86_64", XTX))
    debian = _on("debian 13", "6.12.43-amd64", {"gfx": "gfx90a"})
    assert severities(judge(NAME, debian)) == ["info"] and "not on Debian" in _message(debian)


def test_the_kernels_own_driver_is_told_of_instinct_alone() -> None:
    def own(card: dict[str, Any], kernel: str) -> Machine:
        return _on("ubuntu 24.04", kernel, card, drivers=OWN)

    assert "amdgpu-dkms" in _message(own(MI300X, "6.8.0-71-generic"))
    assert states(judge(NAME, own(XTX, "7.0.0-29-generic"))) == ["pass"]


def test_a_kernel_that_amd_does_not_support_is_a_warning_where_torch_finds_nothing() -> None:
    def with_torch(count: int) -> Machine:
        torch = TorchBuild(version=k("2.14.0+rocm7.2"), hip=k("7.2.53211"), cuda=k(None), device_count=k(count))
        return _on("ubuntu 24.04", "6.14.0-29-generic", HALO, packaged="", torch=torch)

    assert severities(judge(NAME, with_torch(1))) == ["info"]
    assert severities(judge(NAME, with_torch(0))) == ["warning"]
    assert "requires the HWE kernel 6.17.0-19 or later" in _message(with_torch(0))
    # what a target needs does not depend on the release of ROCm
    assert "6.18.4" in _message(_on("fedora 42", "6.15.9-201.fc42.x86_64", HALO, "7.2.0", packaged=""))
    assert "6.18.4" in _message(_on("fedora 42", "6.15.9-201.fc42.x86_64", HALO, "", packaged=""))


@pytest.mark.parametrize("rocm", ["7.2.4", "6.2.0", ""])
def test_releases_whose_lists_were_not_read_do_not_count(rocm: str) -> None:
    assert states(judge(NAME, _on("debian 12", "6.1.0-40-amd64", XTX, rocm))) == ["not-applicable"]


def test_unknown_and_not_applicable() -> None:
    inside = Container(kind=k("docker"), virtual_machine=k(None))
    guest = Container(kind=k("none"), virtual_machine=k("kvm"))
    system = ("ubuntu 22.04", "5.15.0-119-generic", XTX)
    assert states(judge(NAME, _on(*system, container=inside))) == ["not-applicable"]
    assert states(judge(NAME, _on(*system, container=guest))) == ["not-applicable"]
    assert states(judge(NAME, _on(*system, container=Container()))) == ["unknown"]
    assert states(judge(NAME, _on(system[0], system[1], XTX | {"kfd_node": u()}))) == ["not-applicable"]
    assert states(judge(NAME, _on(*system, os=OperatingSystem()))) == ["unknown"]
    assert states(judge(NAME, _on(system[0], "", XTX))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]
    # a card without any code is told by others
    assert states(judge(NAME, _on("ubuntu 24.04", "7.0.0-29", {"gfx": "gfx803"}))) == ["not-applicable"]


def test_a_torch_alone_tells_its_release() -> None:
    torch = TorchBuild(version=k("2.14.0+rocm10.1.0"), hip=k("7.15.26333"), cuda=k(None))
    of = _on("ubuntu 22.04", "5.15.0-119-generic", XTX, "", torch=torch)
    assert severities(judge(NAME, of)) == ["info"]
