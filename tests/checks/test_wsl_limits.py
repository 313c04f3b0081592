from __future__ import annotations

from dataclasses import replace
from typing import Any

from rocdoctor.model.facts import Container, Machine, ToolFailure
from tests.kit import amd_gpu, judge, k, machine, severities, states

NAME = "wsl-limits"


def wsl(*failures: ToolFailure, **changes: Any) -> Machine:
    return machine(container=Container(kind=k("wsl")), failures=failures, **changes)


def test_wsl_itself_is_a_note() -> None:
    assert severities(judge(NAME, wsl())) == ["info"]


def test_the_complaint_of_amd_smi_is_expected() -> None:
    (verdict,) = judge(NAME, wsl(ToolFailure("run amd-smi static --json", "it failed", "amdgpu not found in modules")))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("warning", "wsl-unsupported")
    assert "amd-smi does not work inside WSL" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert "modprobe" not in verdict.finding.fix.text


def test_a_runtime_that_finds_nothing_needs_a_listed_set() -> None:
    said = ToolFailure("run rocminfo", "it failed", "HSA_STATUS_ERROR_OUT_OF_RESOURCES")
    (verdict,) = judge(NAME, wsl(said, ToolFailure("run rocm-smi", "it failed")))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "ROCm finds no GPU in WSL" in verdict.finding.message


def test_elsewhere_it_is_silent() -> None:
    assert states(judge(NAME, machine(amd_gpu(), container=Container(kind=k("none"))))) == ["not-applicable"]
    assert states(judge(NAME, machine(amd_gpu()))) == ["unknown"]


def test_where_the_runtime_lists_the_gpu_the_complaint_is_a_note() -> None:
    said = ToolFailure("run rocm-smi", "it failed", "amdgpu not found in modules")
    working = replace(wsl(said), gpus=(amd_gpu(gfx="gfx1100"),))
    assert severities(judge(NAME, working)) == ["info"]
