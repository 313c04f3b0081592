from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.model.facts import Layer, Machine, ModeResult, RankResult, SmokeRun
from tests.kit import amd_gpu, judge, machine, states

CHECK = "smoke-numbers-wrong"


def with_mode(state: str, layer: Layer = "", named: tuple[int, ...] = (), device: str = "cuda") -> Machine:
    ranks = tuple(RankResult(rank, "pass", gpu=None, named=rank in named) for rank in range(4))
    words = "rank 2 (GPU 0000:c1:00.0): this rank's own part of step 0, head.weight: expected 0.5 at [1, 2], got 0.75"
    mode = ModeResult("ddp", state, 0.2, words if state == "fail" else "", layer=layer, ranks=ranks)  # type: ignore[arg-type]
    backend = "nccl" if device == "cuda" else "gloo"
    gpus = [amd_gpu(index) for index in range(4)] if device == "cuda" else []
    return machine(*gpus, smoke=(SmokeRun(4, backend, device, "2.13.0", 1.0, (mode,)),), smoke_question="smoke quick")


def test_without_smoke_tests_there_is_nothing_to_judge() -> None:
    assert states(judge(CHECK, machine())) == ["not-applicable"]


def test_right_numbers_pass_and_what_did_not_run_is_no_fault() -> None:
    for state in ("pass", "not-applicable", "unknown", "crashed"):
        assert states(judge(CHECK, with_mode(state))) == ["pass"]


def test_one_gpu_of_several_that_computes_wrongly_is_a_hardware_fault() -> None:
    (verdict,) = judge(CHECK, with_mode("fail", "device", (2,)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("error", "gpu-hardware-fault")
    assert verdict.finding.confidence == "possible"  # a kernel library may be wrong on one of them too
    assert "0000:c1:00.0" in verdict.finding.message
    assert "arithmetic on one device" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert verdict.finding.fix.command == "rocdoctor smoke --world 4 --backend nccl ddp"


@pytest.mark.parametrize(
    ("layer", "named", "device"),
    [("device", (0, 1, 2, 3), "cuda"), ("device", (2,), "cpu"), ("collectives", (2,), "cuda"), ("link", (2,), "cuda")],
)
def test_nothing_else_blames_the_hardware(layer: Layer, named: tuple[int, ...], device: str) -> None:
    (verdict,) = judge(CHECK, with_mode("fail", layer, named, device))
    assert verdict.finding is not None
    assert verdict.finding.cause == ""


def test_unlike_cards_may_differ_without_a_fault() -> None:
    four = with_mode("fail", "device", (2,))
    unlike = replace(four, gpus=(*four.gpus[:3], amd_gpu(3, pci_id="1002:73bf")))
    (verdict,) = judge(CHECK, unlike)
    assert verdict.finding is not None
    assert verdict.finding.cause == ""
