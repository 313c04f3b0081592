from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import amd_gpu, event, judge, log, machine, severities, states, u

BDF = "0000:23:00.0"


def _machine(*events: LogEvent, complete: bool = True, **gpu: Any) -> Machine:
    return machine(amd_gpu(**gpu), kernel=Kernel(log=log(*events, complete=complete)))


def _missing(name: str) -> LogEvent:
    return event("gpu-firmware-missing", f"Direct firmware load for {name} failed", BDF, firmware=name, driver="amdgpu")


def test_a_needed_file_without_a_driver_is_an_error_that_names_it() -> None:
    (verdict,) = judge("gpu-firmware-missing", _machine(_missing("amdgpu/gc_11_0_0_pfp.bin"), driver=None))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert "amdgpu/gc_11_0_0_pfp.bin" in verdict.finding.message
    assert verdict.finding.cause == "gpu-firmware"
    assert "driver-probe-failed" in verdict.finding.explains


def test_in_an_excerpt_it_is_a_likely_warning() -> None:
    verdicts = judge("gpu-firmware-missing", _machine(_missing("amdgpu/gc_11_0_0_pfp.bin"), driver=u(), complete=False))
    assert severities(verdicts) == ["warning"]


def test_a_bound_driver_and_optional_files_are_healthy() -> None:
    assert states(judge("gpu-firmware-missing", _machine(_missing("amdgpu/gc_11_0_0_pfp.bin")))) == ["pass"]
    for name in ("amdgpu/navi10_ta.bin", "amdgpu/polaris10_pfp_2.bin", "amdgpu/gc_11_0_0_mes_2.bin"):
        assert states(judge("gpu-firmware-missing", _machine(_missing(name), driver=None))) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge("gpu-firmware-missing", _machine(driver=None, complete=False))) == ["unknown"]
    assert states(judge("gpu-firmware-missing", machine())) == ["not-applicable"]


def test_an_old_kernel_that_fails_over_the_description_of_the_gpu_names_it() -> None:
    file = _missing("amdgpu/arcturus_gpu_info.bin")
    failed = event("gpu-probe-failed", "amdgpu: probe of 0000:23:00.0 failed with error -2", BDF, error=-2)
    other = event("gpu-probe-failed", "amdgpu: probe of 0000:23:00.0 failed with error -22", BDF, error=-22)
    assert severities(judge("gpu-firmware-missing", _machine(file, failed, driver=None))) == ["error"]
    assert states(judge("gpu-firmware-missing", _machine(file, other, driver=None))) == ["pass"]
