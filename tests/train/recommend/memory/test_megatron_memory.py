"""Memory of Megatron-LM and DeepSpeed as their sources have it, beside figures that Megatron's own tests print.

The figures are ``mem-max-allocated-bytes`` of NVIDIA/Megatron-LM tests/functional_tests/test_cases (d98e8a64d, read
2026-11-29). Only the last rank prints, so cases with a pipeline are compared by what the last stage adds.
"""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.train.emit.megatron_limits import refuses
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.estimate import Result, solve
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.activations import layer_bytes, loss_bytes
from rocdoctor.train.recommend.memory.step_memory import step_copy
from tests.train.recommend.spec_kit import changed

WIDE = {"layers": 32, "hidden": 6144, "ffn": 24576, "heads": 48, "kv_heads": 8, "vocab": 256000, "name": "15b"}
NEMOTRON = {**WIDE, "gated": False, "norm": "layer", "bias": False}
SMALL = {"layers": 32, "hidden": 4096, "ffn": 14336, "heads": 32, "kv_heads": 8, "vocab": 32000, "name": "8x7b"}
MIXTRAL = {**SMALL, "experts": 8, "top_k": 2, "expert_ffn": 14336}


def megatron(model: Any = "llama-3.1-8b", **fields: Any) -> Result:
    base = {"framework": "megatron", "parallel": {"tp": 8, "dp": 1, "sp": True}, "gpus": 8, "recompute": "none"}
    return solve(changed(model=model, **{**base, **fields}))


def test_a_dense_model_lives_in_what_its_functional_test_prints() -> None:
    """gpt3_15b_8t_release on H100: 26.23 GiB at the peak, 12.36 of them after a step."""
    plan = {"tp": 8, "dp": 16, "sp": True, "dist_opt": True}
    found = megatron(NEMOTRON, gpus=128, seq=4096, micro_batch=4, global_batch=384, parallel=plan).memory
    assert found.states / GIB == pytest.approx(12.36, rel=0.01)
    assert found.live_peak / GIB == pytest.approx(26.23, rel=0.01)


def test_megatrons_own_fused_loss_takes_more_than_none() -> None:
    def each(**fields: Any) -> float:
        work = megatron(parallel={"tp": 1, "dp": 8}, **fields).work
        return loss_bytes(work) / work.tokens / work.model.vocab

    assert each(fused_ce="none") == each(fused_ce="te") == pytest.approx(6)
    assert each(fused_ce="native") == each(fused_ce=True) == pytest.approx(10)


def test_what_is_not_said_of_the_loss_widens_the_range_alone() -> None:
    none, native, unsaid = (megatron(**one) for one in ({"fused_ce": "none"}, {"fused_ce": "native"}, {}))
    assert unsaid.memory.reserved == none.memory.reserved
    assert unsaid.memory.high == native.memory.high > none.memory.high
    assert any("--cross-entropy-loss-fusion" in line for line in unsaid.derived)
    assert not any("--cross-entropy-loss-fusion" in line for line in none.derived)


def test_eight_bit_weights_may_lie_beside_sixteen_bit_ones() -> None:
    alone, open_end = (megatron(precision=one, fused_ce="none") for one in ("fp8-param-gather", "fp8"))
    assert open_end.memory.reserved == alone.memory.reserved
    count = alone.memory.states / (2 + 4 + 12)
    assert open_end.memory.high - alone.memory.high == pytest.approx(2 * count, rel=0.05)
    assert any("8-bit copies" in line for line in open_end.derived)


def test_an_expert_that_is_cut_gets_its_tokens_whole() -> None:
    def saved(tp: int) -> float:
        plan = {"tp": tp, "dp": 8 // tp, "ep": 1, "sp": True}
        return layer_bytes(megatron(MIXTRAL, parallel=plan).work, "moe").saved

    # Two of eight experts process each token: 2 B an element of their input stay whole, the rest is divided.
    whole = 2 * 2 * 4096
    assert saved(2) == pytest.approx((saved(1) - whole) / 2 + whole)


def test_experts_may_be_cut_less_than_the_other_matrices() -> None:
    plan: dict[str, Any] = {"tp": 4, "pp": 2, "ep": 4, "dp": 4, "sp": True}
    base: dict[str, Any] = {"model": "qwen3-30b-a3b", "gpus": 32, "recompute": "full", "micro_batch": 1}
    whole, cut = (megatron(**base, parallel=plan | more) for more in ({"etp": 1}, {"etp": 4}))
    # The weights of all experts over pp 2 and ep 4: whole ones on four ranks each, a quarter of one on one rank alone.
    experts = 48 * 128 * 3 * 2048 * 768 / 2 / 4
    assert whole.memory.states - cut.memory.states == pytest.approx(experts * ((6 + 12 / 4) - 18 / 4), rel=0.01)
    # An expert that is not cut gets the tokens of its rank's part of the sequence.
    kept = [layer_bytes(one.work, "moe").whole for one in (whole, cut)]
    assert kept[1] - kept[0] == pytest.approx(8 * 2 * 2048 * (1 - 1 / 4))
    assert refuses(whole.work) is None and refuses(cut.work) is None
    # Not said, they are cut as the other matrices are.
    assert megatron(**base, parallel=plan).memory.states == cut.memory.states


def test_experts_that_cannot_be_cut_further_are_whole() -> None:
    """Qwen3-30B-A3B on eight GPUs took 76 GiB of the device (modelscope/ms-swift, mcore_bridge/full/moe.sh)."""
    plan = {"tp": 4, "pp": 2, "ep": 4, "dp": 1, "sp": True}
    base: dict[str, Any] = {"model": "qwen3-30b-a3b", "seq": 8192, "recompute": "full", "global_batch": 4}
    found = megatron(**base, parallel=plan, fused_ce="native")
    assert found.work.parallel.cut == 1
    assert any(line.startswith("parallel.etp not given: 1") for line in found.derived)
    assert (found.memory.reserved + found.memory.context) / GIB == pytest.approx(76, rel=0.1)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"tp": 4, "dp": 2, "ep": 2, "etp": 3}, "must divide tp 4; nearest: etp 1"),
        ({"tp": 2, "dp": 4, "ep": 8, "etp": 2}, "ep x etp = 16 must divide the 8 ranks; nearest: ep 4"),
    ],
)
def test_experts_that_do_not_divide_the_ranks_are_refused(plan: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        megatron("qwen3-30b-a3b", parallel=plan)


def test_linear_layers_keep_their_inputs_in_eight_bits() -> None:
    """A layer of Llama 8B (h 4096, f 14336): two norms, output of attention, and the second product of the gate."""
    two, one = (
        layer_bytes(megatron(precision=p, parallel={"tp": 1, "dp": 8}).work, "dense").saved for p in ("bf16", "fp8")
    )
    assert two - one == pytest.approx(2 * 4096 - 4096 + 14336)


def test_deepspeeds_step_makes_fp32_gradients() -> None:
    """18 and 20 B a parameter, as its estimators have it, are there in the step alone."""

    def each(zero: int, **fields: Any) -> list[float]:
        plan = {"dp": 8, "zero": zero, **fields}
        one = solve(changed(model="llama-3.1-8b", gpus=8, parallel=plan, framework="deepspeed"))
        return [one.memory.states / 8.03e9, step_copy(one.work, 0.0) / 8.03e9]

    assert each(2) == pytest.approx([2 + 14 / 8, 6 / 8], rel=0.01)
    # ZeRO-3 takes a billion parameters at a time: here all that a rank has is 1.004 billion.
    assert each(3) == pytest.approx([16 / 8, 6e9 / 8.03e9], rel=0.01)
    assert each(3, offload_optimizer="cpu")[1] == 0.0
