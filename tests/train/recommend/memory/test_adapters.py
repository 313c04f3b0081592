"""Adapters on some of the linear layers: what is counted, and what a trace with fake tensors holds."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import pytest

from rocdoctor.host.live.memory_tracing import trace_memory
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.estimate import efficiency, solve
from rocdoctor.train.recommend.memory.activations import layer_bytes, loss_bytes
from rocdoctor.train.recommend.memory.gpu_memory import adapters
from rocdoctor.train.recommend.memory.trace import Traced, heard, memory, refusal, request
from rocdoctor.train.recommend.model.adapters import read_adapted
from tests.train.recommend.spec_kit import changed

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
SMALL = {"layers": 5, "hidden": 512, "heads": 8, "kv_heads": 2, "ffn": 1536, "vocab": 2000}
ALONE: dict[str, Any] = {"gpus": 1, "parallel": {}, "method": "lora", "framework": "ddp", "optimizer": "adamw"}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, None),
        ("all-linear", None),
        (["q_proj", "v_proj"], ("q", "v")),
        ("q_proj k_proj v_proj o_proj", ("q", "k", "v", "o")),
        ("qkv, output_proj", ("q", "k", "v", "o")),
        (["gate_up_proj", "down_proj"], ("gate", "up", "down")),
        (["q", "k", "v", "o", "gate", "up", "down"], None),
    ],
)
def test_names_of_adapted_layers_are_those_of_the_libraries(given: Any, wanted: tuple[str, ...] | None) -> None:
    assert read_adapted(given) == wanted


def test_a_layer_that_is_not_known_is_refused() -> None:
    with pytest.raises(SpecError, match="lora_targets 'lm_head_x'"):
        solve(changed(**ALONE, lora_targets=["q_proj", "lm_head_x"]))


def test_adapters_are_counted_by_the_layers_that_have_them() -> None:
    def count(targets: Any) -> float:
        return adapters(solve(changed(**ALONE, lora_targets=targets, lora_rank=8)).work)

    # Llama 2 7B: a query adapter is 8 x (4096 + 4096), one of a gate 8 x (4096 + 11008), in each of 32 layers.
    assert count(["q_proj"]) == 32 * 8 * 8192
    assert count(["q_proj", "gate_proj"]) == 32 * 8 * (8192 + 15104)
    assert count(None) == 32 * 8 * (4 * 8192 + 3 * 15104)


def test_what_has_no_adapter_keeps_no_input() -> None:
    def saved(*targets: str) -> float:
        work = solve(changed(**ALONE, lora_targets=list(targets))).work
        return layer_bytes(work, "dense").saved

    base = saved("q")
    # Each adapter casts its input for itself (2 B an element): keys the output of the norm, down the product.
    assert saved("q", "k") - base == pytest.approx(2 * 4096)
    assert saved("q", "down") - base == pytest.approx(2 * 11008)
    assert saved("q", "o") - base == pytest.approx(2 * 4096)


@needs_torch
@pytest.mark.parametrize(
    "targets",
    [["q_proj", "v_proj"], pytest.param(["q_proj", "k_proj", "v_proj", "o_proj"], marks=pytest.mark.heavy), None],
)
def test_the_count_is_within_two_percent_of_a_trace(targets: list[str] | None) -> None:
    one = solve(changed(**ALONE, model=SMALL, seq=512, micro_batch=4, lora_targets=targets))
    assert refusal(one.work) is None
    told = heard(trace_memory(sys.executable, request(one.work), 240.0), 5)
    assert isinstance(told, Traced), told
    found = memory(one.work, one.memory, told, efficiency()["memory"])
    assert one.memory.live_peak == pytest.approx(found.live_peak, rel=0.02)
    assert one.memory.activations == pytest.approx(found.activations, rel=0.02)


def test_moments_of_adapters_follow_the_optimizer() -> None:
    def states(**fields: Any) -> float:
        return solve(changed(**{**ALONE, **fields})).memory.states

    count = adapters(solve(changed(**ALONE)).work)
    assert states() - states(optimizer="adamw_8bit") == pytest.approx((8 - 2.1) * count)
    assert states() - states(optimizer="paged_adamw_8bit") == pytest.approx(8 * count)
    # torchtune and litgpt keep adapters in the type of the weights, PEFT in fp32.
    pure = {"precision": "pure bf16", "optimizer": "adamw"}
    assert states(**pure) == states()
    assert states(**pure) - states(**pure, framework="torchtune") == pytest.approx(8 * count)
    assert states(framework="torchtune") == states()
    assert states(**pure, framework="finetuning with transformers") == states(**pure)


def test_trl_computes_its_loss_in_pieces_and_has_16_bit_adapters_beside_4_bit_weights() -> None:
    for method in ("full", "lora", "qlora"):
        usual = solve(changed(**{**ALONE, "method": method, "framework": "trl"}))
        cut, plain = (
            solve(changed(**{**ALONE, "method": method, "framework": "trl"}, fused_ce=one)) for one in ("cce", "none")
        )
        assert usual.memory == cut.memory and loss_bytes(usual.work) < loss_bytes(plain.work)
        assert any("chunked_nll" in line for line in usual.derived)
        assert not any("chunked_nll" in line for line in (*cut.derived, *plain.derived))
    peft = solve(changed(**{**ALONE, "method": "qlora", "framework": "peft"}, fused_ce="cce", kbit_prepared=False))
    # 2 B of weights, 2 of gradients and 4 of moments less.
    assert peft.memory.states - usual.memory.states == pytest.approx(8 * adapters(usual.work))


@pytest.mark.parametrize("words", ["cce", "cut cross entropy", "cut_cross_entropy", "chunked_nll"])
@pytest.mark.parametrize("method", ["lora", "full"])
def test_a_fused_loss_alone_leaves_the_layers_as_they_are(words: str, method: str) -> None:
    def work(loss: str) -> Any:
        return solve(changed(**{**ALONE, "method": method}, recompute="full", fused_ce=loss)).work

    plain, liger, alone = work("none"), work("liger"), work(words)
    assert loss_bytes(alone) == loss_bytes(liger) < loss_bytes(plain)
    assert layer_bytes(alone, "dense") == layer_bytes(plain, "dense")
    # The gate written out keeps its activation, and the gradients of gate and up do not lie over their values.
    assert layer_bytes(alone, "dense").working - layer_bytes(liger, "dense").working >= 4 * 11008
    assert alone.loss_alone and not liger.loss_alone
    refused = refusal(alone)
    assert refused is not None and "fused loss" in refused
