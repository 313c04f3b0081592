from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.model.facts import Container
from tests.kit import judge, k, machine, nvidia_gpu, severities, states, u

NAME = "vgpu-unlicensed"


def _vgpu(state: str) -> list[str]:
    return severities(judge(NAME, machine(nvidia_gpu(vgpu=True, vgpu_license=state))))


@pytest.mark.parametrize(
    ("state", "severity"),
    [
        ("Licensed (Expiry: 2027-1-1 0:0:0 GMT)", []),
        ("Licensed", []),
        ("Unlicensed (Restricted)", ["error"]),
        ("Unlicensed (Unrestricted)", ["warning"]),
        ("Unlicensed", ["warning"]),
    ],
)
def test_the_state_of_the_licence_decides(state: str, severity: list[str]) -> None:
    assert _vgpu(state) == severity


def test_a_state_that_is_not_known_is_no_verdict() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(vgpu=True, vgpu_license="Contemplating")))) == ["unknown"]
    assert states(judge(NAME, machine(nvidia_gpu(vgpu=True, vgpu_license=u())))) == ["unknown"]


def test_a_whole_gpu_needs_no_licence() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(vgpu=False, vgpu_license=u())))) == ["not-applicable"]


@pytest.mark.parametrize(("hypervisor", "state"), [(None, "not-applicable"), ("kvm", "unknown")])
def test_without_its_mode_only_a_virtual_machine_may_have_one(hypervisor: str | None, state: str) -> None:
    found = machine(nvidia_gpu(vgpu=u(), compute_mode=u()))
    found = replace(found, container=Container(virtual_machine=k(hypervisor)))
    assert states(judge(NAME, found)) == [state]
