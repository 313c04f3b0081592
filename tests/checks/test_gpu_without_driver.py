from __future__ import annotations

from dataclasses import replace

from tests.kit import amd_gpu, judge, k, machine, severities, states, u


def test_a_bound_driver_passes() -> None:
    assert states(judge("gpu-without-driver", machine(amd_gpu()))) == ["pass"]


def test_no_driver_is_an_error_that_names_the_module() -> None:
    (verdict,) = judge("gpu-without-driver", machine(amd_gpu(driver=None)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert "amdgpu" in verdict.finding.message
    assert verdict.subject == "gpu 0 (0000:23:00.0)"


def test_an_integrated_gpu_without_a_driver_is_only_worth_knowing() -> None:
    assert severities(judge("gpu-without-driver", machine(amd_gpu(driver=None, integrated=True)))) == ["info"]


def test_an_unread_driver_is_unknown_and_no_gpu_is_not_applicable() -> None:
    assert states(judge("gpu-without-driver", machine(amd_gpu(driver=u())))) == ["unknown"]
    assert states(judge("gpu-without-driver", machine())) == ["not-applicable"]


def test_a_gpu_of_another_vendor_is_not_judged() -> None:
    intel = replace(amd_gpu(driver=None), vendor="intel", pci_id=k("8086:e20b"))
    assert states(judge("gpu-without-driver", machine(intel))) == ["not-applicable"]
