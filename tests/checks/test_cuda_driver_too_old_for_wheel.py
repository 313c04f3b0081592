from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.model.facts import Container, TorchBuild
from rocdoctor.model.finding import Verdict
from tests.kit import environment, judge, k, machine, nvidia_gpu, states, u

NAME = "cuda-driver-too-old-for-wheel"


def verdicts(driver: str | None, cuda: str, speaks: str | None = None, **more: Any) -> list[Verdict]:
    facts = {key: k(value) for key, value in (("version", driver), ("cuda", speaks)) if value is not None}
    count = more.pop("count", None)
    torch = TorchBuild(version=k("2.9.0"), hip=k(None), cuda=k(cuda))
    if count is not None:
        torch = TorchBuild(version=k("2.9.0"), hip=k(None), cuda=k(cuda), device_count=k(count))
    return judge(NAME, machine(nvidia_gpu(), torch=torch, drivers={"nvidia": facts}, **more))


def test_a_driver_below_the_floor_of_the_major_release_is_an_error() -> None:
    (verdict,) = verdicts("470.82.01", "12.1", count=0)
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert verdict.finding.confidence == "certain"
    assert verdict.finding.cause == "driver-too-old"
    assert verdict.finding.message == (
        "torch 2.9.0 is built with CUDA 12.1, which needs an NVIDIA driver 525 or newer; the driver 470.82.01 of this "
        "machine is too old."
    )
    (verdict,) = verdicts("570.124.06", "13.0")
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.confidence) == ("error", "likely")


@pytest.mark.parametrize(
    ("driver", "cuda", "speaks", "index"),
    [
        ("470.82.01", "12.1", None, "/cu118"),
        ("570.124.06", "13.0", None, "/cu128"),
        (None, "13.0", "12.4", "/cu128"),
        (None, "12.1", "11.0", "/cu118"),
    ],
)
def test_the_fix_names_a_build_for_this_driver(driver: str | None, cuda: str, speaks: str | None, index: str) -> None:
    (verdict,) = verdicts(driver, cuda, speaks)
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert index in verdict.finding.fix.text


def test_the_fix_names_a_build_with_code_for_the_gpu_where_it_is_known() -> None:
    """As set-up does: the last build of CUDA 12 has none for Blackwell."""
    torch = TorchBuild(version=k("2.14.1+cu130"), hip=k(None), cuda=k("13.0"))
    facts = {"nvidia": {"version": k("570.124.06")}}
    for capability, index in ((k("12.0"), "/cu128"), (u(), "/cu126")):
        gpu = nvidia_gpu(compute_capability=capability)
        (verdict,) = judge(NAME, machine(gpu, torch=torch, drivers=facts))
        assert verdict.finding is not None and verdict.finding.fix is not None
        assert index in verdict.finding.fix.text


def test_what_the_driver_says_of_cuda_stands_in_for_its_version() -> None:
    (verdict,) = verdicts(None, "12.1", speaks="11.0")
    assert verdict.finding is not None
    assert "driver for CUDA 11.0" in verdict.finding.message
    assert states(verdicts(None, "12.8", speaks="12.2")) == ["pass"]


def test_minor_version_compatibility_and_newer_drivers_are_healthy() -> None:
    assert states(verdicts("535.54.03", "12.8")) == ["pass"]
    assert states(verdicts("580.95.05", "11.8")) == ["pass"]


def test_a_torch_that_finds_its_gpu_is_not_accused_and_forward_compatibility_is_unknown() -> None:
    assert states(verdicts("470.82.01", "12.1", count=1)) == ["pass"]
    compat = environment({"LD_LIBRARY_PATH": "/usr/local/cuda/compat/lib"})
    assert states(verdicts("470.82.01", "12.1", environment=compat)) == ["unknown"]


def test_unknown_and_not_applicable() -> None:
    assert states(verdicts(None, "12.1")) == ["unknown"]
    assert states(judge(NAME, machine(nvidia_gpu()))) == ["unknown"]
    cpu = TorchBuild(version=k("2.9.0+cpu"), hip=k(None), cuda=k(None))
    assert states(judge(NAME, machine(nvidia_gpu(), torch=cpu))) == ["not-applicable"]
    assert states(judge(NAME, machine(torch=cpu))) == ["not-applicable"]


def test_in_a_container_a_compatibility_package_may_help_until_torch_was_seen_to_fail() -> None:
    inside = Container(kind=k("docker"))
    assert states(verdicts("470.82.01", "12.1", container=inside)) == ["unknown"]
    assert states(verdicts("470.82.01", "12.1", container=inside, count=0)) == ["fail"]
