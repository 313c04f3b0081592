"""What the allocator holds: enough to run, and where there is room."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.report.plan.estimate_document import document
from rocdoctor.train.recommend.estimate import Result, answer_of, solve
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.activations import loss_bytes
from rocdoctor.train.recommend.memory.step_memory import step_copy
from tests.train.recommend.spec_kit import changed

POWER = {"layers": 40, "hidden": 2304, "ffn": 9216, "heads": 36, "kv_heads": 36, "vocab": 49152, "tied": True}
RUN: dict[str, Any] = {
    "model": POWER,
    "gpu": {"name": "A100 SXM 80GB", "mem_gib": 80},
    "gpus": 1,
    "parallel": {},
    "seq": 4096,
    "recompute": "full",
    "method": "lora",
    "precision": "pure bf16",
    "lora_targets": ["q_proj", "k_proj", "v_proj", "o_proj"],
    "framework": "transformers",
}


def tuned(**fields: Any) -> Result:
    return solve(changed(**{**RUN, **fields}))


@pytest.mark.parametrize(("batch", "device"), [(4, 24.0), (8, 40.3)])
def test_whole_logits_leave_gaps_where_there_is_room(batch: int, device: float) -> None:
    """PowerLM 3B, of the file that no coefficient was fitted on (a100_80gb_granite.csv): the driver has 0.5 GiB."""
    found = tuned(micro_batch=batch).memory
    assert found.reserved / GIB + 0.5 == pytest.approx(device, rel=0.06)
    assert found.needed < found.reserved


def test_room_is_no_need() -> None:
    """What is held may fill the card; whether a plan fits depends on what it gets by with."""
    small, large = tuned(micro_batch=8), tuned(micro_batch=8, gpu={"name": "A100 SXM 40GB", "mem_gib": 40})
    assert small.memory.high == large.memory.high
    assert large.memory.reserved < small.memory.reserved
    usable = large.work.gpu.usable_bytes
    assert large.memory.reserved <= max(usable, large.memory.needed)


def test_programs_with_growing_segments_hold_what_they_need() -> None:
    for framework in ("torchtitan", "megatron"):
        found = solve(changed(framework=framework, parallel={})).memory
        assert found.reserved == found.needed


def test_deepspeeds_step_takes_segments_of_its_own_where_there_is_room() -> None:
    """Llama 3.1 8B, ZeRO-2 on 8 H200, 8,192 tokens: 99 GiB reserved (stas00/ml-engineering, max_memory_reserved)."""
    plan = {"model": "llama-3.1-8b", "gpu": "H200", "seq": 8192, "parallel": {"zero": 2}, "framework": "deepspeed"}
    found = solve(changed(**plan))
    pieces = step_copy(found.work, 0.0)
    assert found.memory.reserved - found.memory.needed == pytest.approx(pieces)
    assert found.memory.reserved / GIB == pytest.approx(99, rel=0.02)
    moved = solve(changed(**plan | {"parallel": {"zero": 3, "offload_optimizer": "cpu"}})).memory
    assert moved.reserved == moved.needed


def test_chunks_of_whole_logits_keep_them_once_beside_their_gradient() -> None:
    """torchtitan pull request 996: 49.58 GiB without chunks, 42.26 with eight, Llama 3 8B at 8,192 tokens."""
    titan = {
        "model": "llama-3.1-8b",
        "gpu": "H100",
        "seq": 8192,
        "framework": "torchtitan",
        "recompute": "selective-op",
    }
    plain, cut = solve(changed(**titan)), solve(changed(**titan, fused_ce="chunked"))
    words = 8192 * 128256
    assert loss_bytes(plain.work) - loss_bytes(cut.work) == pytest.approx(8.5 * words)
    assert (plain.memory.live_peak - cut.memory.live_peak) / GIB == pytest.approx(49.58 - 42.26, rel=0.2)
    assert solve(changed(**titan, fused_ce="chunked linear")).work.loss == "fused"


def test_what_other_tools_show_is_said() -> None:
    """Published figures come from three places: torch's two counters, and the driver's tool."""
    found = solve(changed(framework="torchtitan"))
    shown = (found.memory.reserved + found.memory.context) / GIB
    (line,) = (one for one in answer_of(found)["why"] if "nvidia-smi or amd-smi shows" in one)
    assert line.endswith(f"shows about {shown:.1f} GiB")
    text = "\n".join(str(block) for block in document(answer_of(found)))
    assert "max_memory_allocated" in text and "max_memory_reserved" in text


def test_a_loss_that_saves_nothing_is_not_praised() -> None:
    """Megatron's fused losses keep as much as its plain one."""

    def praised(**fields: Any) -> bool:
        answer = answer_of(solve(changed(model="llama-3.1-8b", recompute="full", **fields)))
        return any("fused_ce saves" in one for one in answer["why"])

    assert praised(framework="torchtitan", micro_batch=16)
    assert not praised(framework="megatron", parallel={"tp": 1, "dp": 8}, micro_batch=16)
