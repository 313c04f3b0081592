"""The pure half of the trace: what is asked, what is refused, how an answer is carried to any depth."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rocdoctor.host.base import Answer
from rocdoctor.train.recommend.estimate import answer_of, efficiency, solve
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.trace import Traced, described, heard, merged, read, refusal, request
from tests.train.recommend.spec_kit import changed


def _depth(layers: int, base: float) -> dict[str, Any]:
    """A depth in which every layer adds 10 to the static bytes and keeps 100."""
    static = base + 10.0 * layers
    parts: list[list[Any]] = [["start", 0, static], ["embedding", 0, static + 1]]
    parts += [["forward", at, static + 100 * (at + 1)] for at in range(layers)]
    parts += [["head", 0, static + 100 * layers + 7], ["loss", 0, static + 100 * layers + 50]]
    parts += [["backward", at, static + 100 * at + 60] for at in reversed(range(layers))]
    return {
        "layers": layers,
        "static": static,
        "forwarded": static + 100 * layers,
        "parts": [*parts, ["end", 0, static]],
    }


def _text(*layers: int) -> str:
    return json.dumps({"torch": "2.x", "depths": [_depth(one, 1000.0) for one in layers]})


def test_two_depths_give_every_depth() -> None:
    told, whole = read(_text(4, 5), 9), read(_text(9), 9)
    assert isinstance(told, Traced) and isinstance(whole, Traced)
    assert told == whole
    assert told.static == 1090 and told.forwarded == 1990
    assert told.parts["loss", 0] == 1090 + 900 + 50
    assert told.parts["backward", -1] == 1090 + 800 + 60
    assert told.parts["backward", 0] == 1090 + 60


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "gave no answer"),
        ("Traceback (most recent call last):", "gave no answer"),
        ("[1]", "gave no answer"),
        ('{"depths": [{"layers": "x"}]}', "gave no answer"),
        ('{"unavailable": "torch cannot be imported"}', "torch cannot be imported"),
        (_text(5, 4), "do not match"),
        (_text(4), "different depth"),
    ],
)
def test_what_is_no_trace_is_named(text: str, words: str) -> None:
    told = read(text, 9)
    assert isinstance(told, str) and words in told


def test_a_run_that_failed_says_how() -> None:
    late = heard(Answer("trace", "timeout"), 9)
    assert isinstance(late, str) and late.startswith("the trace did not end in time; try again")
    lost = heard(Answer("trace", "absent"), 9)
    assert isinstance(lost, str) and "--python PATH" in lost
    assert heard(Answer("trace", "failed", note="run through sudo"), 9) == "run through sudo"
    told = heard(Answer("trace", "ok", b"Killed", exit_code=-9), 9)
    assert isinstance(told, str) and "status -9" in told
    assert isinstance(heard(Answer("trace", "ok", _text(4, 5).encode(), exit_code=0), 9), Traced)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"parallel": {"tp": 8}, "framework": "fsdp2"}, "tensor parallelism"),
        ({"parallel": {"pp": 8}, "framework": "fsdp2"}, "pipeline parallelism"),
        ({"parallel": {"cp": 8}, "framework": "fsdp2"}, "context parallelism"),
        ({"parallel": {"zero": 3}}, "deepspeed"),
        ({"parallel": {"dist_opt": True}}, "megatron"),
        ({"framework": "fsdp1"}, "fsdp1"),
        ({"compile": True}, "compile"),
        ({"method": "lora"}, "adapters are traced for"),
        ({"method": "lora", "framework": "ddp", "fused_ce": "liger"}, "Liger's kernels"),
        ({"method": "qlora"}, "4-bit weights"),
        ({"model": "mixtral-8x7b"}, "experts"),
        ({"precision": "fp8"}, "8-bit"),
        ({"parallel": {"fsdp": 8, "offload": True}}, "offload"),
        ({"fused_ce": "compiled"}, "compiled loss"),
        ({"recompute": "full", "recompute_layers": 4}, "some layers"),
        ({"model": {"layers": 2, "hidden": 256, "ffn": 512, "vocab": 1000, "params": 9e6}}, "shapes give"),
    ],
)
def test_what_cannot_be_traced_is_refused_with_a_reason(fields: dict[str, Any], words: str) -> None:
    why = refusal(solve(changed(**fields)).work)
    assert why is not None and words in why


def test_what_can_be_traced_is_asked_as_the_code_would_be_written() -> None:
    one = solve(changed(framework="fsdp2", gpus=16, parallel={"fsdp": 8, "replicate": 2}, grad_accum=2)).work
    asked = request(one)
    assert refusal(one) is None
    assert (asked["shard"], asked["replicate"], asked["accumulate"], asked["reshard"]) == (8, 2, True, True)
    assert (asked["mixed"], asked["autocast"], asked["code"], asked["params"]) == (True, False, "torch", "fp32")
    assert asked["layers"] == [4, 5] and asked["ffn"] == 11008
    sums = {method: request(solve(changed(method=method)).work)["sums_in_16"] for method in ("pretrain", "full")}
    assert sums == {"pretrain": False, "full": True}
    ddp = request(solve(changed(framework="ddp", parallel={"dp": 8}, method="full")).work)
    assert (ddp["mixed"], ddp["autocast"], ddp["code"]) == (False, True, "transformers")
    small = {"layers": 3, "hidden": 256, "heads": 4, "ffn": 512, "vocab": 1000}
    assert request(solve(changed(model=small)).work)["layers"] == [3]


def test_the_estimate_rests_on_the_trace_and_on_a_narrower_range() -> None:
    one = solve(changed(framework="fsdp2", micro_batch=4))
    states = 4 * 6_738_415_616 / 8  # fp32 weights; moments are added, gradients come within the step
    peak = 50 * GIB
    traced = Traced(
        "2.x", states, states + 20 * GIB, {("head", 0): peak - GIB, ("loss", 0): peak, ("backward", -1): 1.0}
    )
    told = merged(one, traced, efficiency()["memory"])
    assert told.memory.live_peak == pytest.approx(peak + 8 * 6_738_415_616 / 8)
    assert told.memory.low < told.memory.live_peak <= told.memory.reserved < told.memory.high
    before = one.memory.high / one.memory.low
    assert told.memory.high / told.memory.low < before
    assert answer_of(told)["memory_gib"]["live_peak"] == pytest.approx(told.memory.live_peak / GIB, abs=0.01)
    assert described(told, traced)["at"] == "backward of the loss"


def test_buckets_and_the_optimizer_step_are_added() -> None:
    one = solve(changed(framework="ddp", parallel={"dp": 8}))
    count = 6_738_415_616
    traced = Traced("2.x", 4.0 * count, 4.0 * count, {("head", 0): 5.0 * count, ("loss", 0): 5.0 * count})
    told = merged(one, traced, efficiency()["memory"])
    # Weights, moments, buckets and gradients at 4, 8, 4 and 4 B, and 4 B of the step's temporary.
    assert told.memory.live_peak == pytest.approx(24.0 * count)
    assert told.memory.states == pytest.approx(16.0 * count)
