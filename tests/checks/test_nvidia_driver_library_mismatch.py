from __future__ import annotations

from dataclasses import replace
from typing import Any

from rocdoctor.model.facts import Container, Kernel, Machine, ToolFailure
from tests.kit import amd_gpu, event, judge, k, log, machine, nvidia_gpu, severities, states, u

NAME = "nvidia-driver-library-mismatch"
FAILED = ToolFailure(
    "run nvidia-smi", "failed", "Failed to initialize NVML: Driver/library version mismatch", 1, "version-mismatch"
)
REFUSED = event(
    "nvidia-api-mismatch",
    "NVRM: API mismatch: the client has the version 550.90.07, but",
    client_version="550.90.07",
    module_version="535.183.01",
)


def broken(**changes: Any) -> Machine:
    return machine(nvidia_gpu(), nvidia_failure=k(FAILED, "run nvidia-smi"), **changes)


def test_the_words_of_nvidia_smi_are_an_error_that_a_reboot_cures() -> None:
    (verdict,) = judge(NAME, broken())
    found = verdict.finding
    assert found is not None and found.fix is not None
    assert (found.severity, found.cause, found.fix.safety) == ("error", "driver-library-mismatch", "reboots")
    assert "nvidia-smi-failed" in found.explains
    assert found.evidence[0].value == FAILED.text
    assert FAILED.text not in found.message


def test_the_kernel_log_adds_both_versions() -> None:
    (verdict,) = judge(NAME, broken(kernel=Kernel(log=log(REFUSED))))
    assert verdict.finding is not None
    assert "module 535.183.01, libraries 550.90.07" in verdict.finding.message


def test_inside_a_container_the_container_is_restarted() -> None:
    (verdict,) = judge(NAME, broken(container=Container(kind=k("docker"))))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert "container" in verdict.finding.fix.text


def test_a_refused_client_where_nvidia_smi_works_is_worth_knowing_only() -> None:
    works = machine(nvidia_gpu(), nvidia_failure=k(None), kernel=Kernel(log=log(REFUSED)))
    assert severities(judge(NAME, works)) == ["info"]
    old = replace(REFUSED, before_driver_load=True)
    assert states(judge(NAME, replace(works, kernel=Kernel(log=log(old))))) == ["pass"]


def test_working_other_failures_unknown_and_no_gpu() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(), nvidia_failure=k(None)))) == ["pass"]
    other = replace(FAILED, kind="no-devices")
    assert states(judge(NAME, machine(nvidia_gpu(), nvidia_failure=k(other)))) == ["pass"]
    assert states(judge(NAME, machine(nvidia_gpu(), nvidia_failure=u()))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(), nvidia_failure=k(FAILED)))) == ["not-applicable"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_an_excerpt_that_shows_nothing_but_the_failure_is_judged() -> None:
    only = Machine(nvidia_failure=k(FAILED, "run nvidia-smi"))
    assert severities(judge(NAME, only)) == ["error"]
