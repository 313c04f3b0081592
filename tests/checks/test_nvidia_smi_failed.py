from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.model.facts import Container, Kernel, Machine, ToolFailure, TorchBuild
from rocdoctor.model.finding import Finding
from tests.kit import amd_gpu, environment, event, judge, k, log, machine, nvidia_gpu, severities, states, u

NAME = "nvidia-smi-failed"


def failed(kind: str, bdf: str | None = None, text: str = "words of the tool") -> Any:
    return k(ToolFailure("run nvidia-smi", f"failed: {kind}", text, 3, kind, bdf), "run nvidia-smi", 3)


def only(of: Machine) -> Finding:
    (verdict,) = judge(NAME, of)
    assert verdict.finding is not None
    return verdict.finding


@pytest.mark.parametrize(
    ("kind", "severity", "cause"),
    [
        ("driver-not-running", "error", "kernel-module-not-loaded"),
        ("no-devices", "error", "kernel-module-not-loaded"),
        ("nvml-failed", "error", "kernel-module-not-loaded"),
        ("library-missing", "error", "missing-shared-library"),
        ("blocked", "error", "device-permission"),
        ("gpu-lost", "error", "gpu-hardware-fault"),
        ("gpu-unreachable", "error", "gpu-hardware-fault"),
        ("inforom-corrupted", "warning", "gpu-hardware-fault"),
    ],
)
def test_each_failure_has_its_severity_and_cause(kind: str, severity: str, cause: str) -> None:
    found = only(machine(nvidia_gpu(driver=None), nvidia_failure=failed(kind)))
    assert (found.severity, found.cause, found.confidence) == (severity, cause, "certain")
    assert found.fix is not None
    assert found.evidence[0].value == "words of the tool"
    assert "words of the tool" not in found.message


def test_a_lost_gpu_is_the_subject() -> None:
    gpus = (nvidia_gpu(0), nvidia_gpu(1))
    (verdict,) = judge(NAME, machine(*gpus, nvidia_failure=failed("gpu-lost", "0000:28:00.0")))
    assert verdict.subject.label == "gpu 1 (0000:28:00.0)"
    (verdict,) = judge(NAME, machine(*gpus, nvidia_failure=failed("gpu-lost", "0000:99:00.0")))
    assert verdict.subject.label == "device 0000:99:00.0"


def test_inside_a_container_the_devices_were_not_passed_in() -> None:
    inside = Container(kind=k("docker"))
    found = only(machine(nvidia_gpu(), nvidia_failure=failed("nvml-failed"), container=inside))
    assert found.cause == "container-device-access"
    found = only(machine(nvidia_gpu(), nvidia_failure=failed("no-devices"), container=inside))
    assert (found.severity, found.cause) == ("warning", "container-device-access")


def test_a_job_without_a_gpu_is_no_error_of_the_machine() -> None:
    job = environment({"SLURM_JOB_ID": "7"})
    found = only(machine(nvidia_gpu(), nvidia_failure=failed("no-devices"), environment=job))
    assert (found.severity, found.cause) == ("warning", "device-permission")
    assert "Slurm" in found.message


def test_no_device_after_a_refusal_in_the_kernel_log_names_the_deeper_cause() -> None:
    for kind, cause in (
        ("nvidia-gpu-not-supported", "gpu-not-supported"),
        ("nvidia-fallen-off-bus", "gpu-hardware-fault"),
    ):
        kernel = Kernel(log=log(event(kind)))
        found = only(machine(nvidia_gpu(driver=None), nvidia_failure=failed("no-devices"), kernel=kernel))
        assert found.cause == cause


def test_where_torch_computes_all_the_same_it_is_a_warning() -> None:
    torch = TorchBuild(device_count=k(1))
    assert only(machine(nvidia_gpu(), nvidia_failure=failed("nvml-failed"), torch=torch)).severity == "warning"


def test_a_laptop_that_does_not_use_its_gpu_is_only_warned() -> None:
    of = machine(nvidia_gpu(driver=None), nvidia_failure=failed("driver-not-running"), laptop=k(True))
    assert only(of).severity == "warning"


def test_wsl_has_another_remedy() -> None:
    found = only(machine(nvidia_gpu(), nvidia_failure=failed("nvml-failed"), container=Container(kind=k("wsl"))))
    assert found.cause == "wsl-unsupported"


def test_what_is_no_fault_stays_silent() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(), nvidia_failure=k(None)))) == ["pass"]
    assert states(judge(NAME, machine(nvidia_gpu(), nvidia_failure=failed("version-mismatch")))) == ["pass"]
    kept = machine(nvidia_gpu(driver="vfio-pci"), nvidia_failure=failed("driver-not-running"))
    assert states(judge(NAME, kept)) == ["not-applicable"]
    assert states(judge(NAME, machine(amd_gpu(), nvidia_failure=failed("driver-not-running")))) == ["not-applicable"]
    assert states(judge(NAME, machine(nvidia_failure=failed("driver-not-running")))) == ["not-applicable"]
    assert states(judge(NAME, machine(nvidia_gpu(), nvidia_failure=u()))) == ["unknown"]


def test_an_excerpt_that_shows_only_the_failure_is_judged_with_less_confidence() -> None:
    found = only(Machine(nvidia_failure=failed("driver-not-running")))
    assert (found.severity, found.confidence) == ("error", "likely")
    assert severities(judge(NAME, Machine(gpus=(amd_gpu(),), nvidia_failure=failed("driver-not-running")))) == []


def test_a_card_that_the_driver_refused_needs_another_branch() -> None:
    kernel = Kernel(log=log(event("nvidia-gpu-not-supported", legacy_branch="470")))
    found = only(machine(nvidia_gpu(driver=None), nvidia_failure=failed("driver-not-running"), kernel=kernel))
    assert found.cause == "gpu-not-supported"
    assert found.fix is not None
    assert "branch 470" in found.fix.text
