from __future__ import annotations

from rocdoctor.model.facts import Machine, SmokeRun
from tests.kit import amd_gpu, judge, machine, states

CHECK = "smoke-figure-low"


def measured(values: list[float], device: str = "cuda") -> Machine:
    gpus = [amd_gpu(index) for index in range(len(values))]
    on_gpu = device == "cuda"
    entries = [
        {"gpu": number if on_gpu else None, "rank": number, "pci": gpu.bdf.value if on_gpu else None, "value": value}  # type: ignore[union-attr]
        for number, (gpu, value) in enumerate(zip(gpus, values, strict=True))
    ]
    run = SmokeRun(len(values), "nccl", device, "2.13.0", 9.0, (), figures={"matmul_bf16_tflops": entries})
    return machine(*gpus, smoke=(run,), smoke_question="smoke none figures=yes")


def test_without_figures_there_is_nothing_to_judge() -> None:
    assert states(judge(CHECK, machine())) == ["not-applicable"]
    bare = machine(smoke=(SmokeRun(2, "nccl", "cuda", None, 1.0, ()),), smoke_question="smoke quick")
    assert states(judge(CHECK, bare)) == ["not-applicable"]


def test_equal_gpus_that_are_equally_fast_pass() -> None:
    assert states(judge(CHECK, measured([150.0, 148.0, 120.0, 152.0]))) == ["pass"]


def test_one_that_is_far_slower_is_named() -> None:
    (verdict,) = judge(CHECK, measured([150.0, 148.0, 30.0, 152.0]))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("warning", "")
    assert "gpu 2 (0000:63:00.0)" in verdict.finding.message
    assert verdict.finding.evidence[0].source == "smoke none figures=yes"
    assert verdict.finding.fix is not None
    assert verdict.finding.fix.verify == "rocdoctor smoke --figures"


def test_a_cpu_is_not_judged() -> None:
    assert states(judge(CHECK, measured([150.0, 148.0, 30.0, 152.0], "cpu"))) == ["not-applicable"]
