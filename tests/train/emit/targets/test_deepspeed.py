from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from rocdoctor.train.emit.keys_deepspeed import unknown
from rocdoctor.train.emit.targets import Order, deepspeed, target
from rocdoctor.train.recommend.plan import Plan
from tests.train.emit.plan_kit import plan

TINY = {"name": "tiny", "layers": 2, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 256}


def _plan(zero: int = 2, model: Any = "llama-3.1-8b", **fields: Any) -> Plan:
    parallel = {"dp": 8, "zero": zero} | fields.pop("parallel", {})
    return plan(model=model, framework="deepspeed", parallel=parallel, **fields)


def _config(made: Plan) -> dict[str, Any]:
    assert deepspeed.refuses(made.work) is None
    read: dict[str, Any] = json.loads(deepspeed.files(made, Order())[0].text)
    assert unknown(read) == []
    return read


def test_batches_are_those_of_the_estimate() -> None:
    made = _plan(micro_batch=3, grad_accum=4)
    read = _config(made)
    assert read["train_micro_batch_size_per_gpu"] == 3
    assert read["gradient_accumulation_steps"] == 4
    assert read["train_batch_size"] == made.global_batch == 3 * 4 * 8


def test_buckets_are_those_that_the_estimate_counts() -> None:
    two = _config(_plan(2))["zero_optimization"]
    assert (two["stage"], two["overlap_comm"], two["reduce_bucket_size"]) == (2, True, 500_000_000)
    three = _config(_plan(3))["zero_optimization"]
    assert three["stage3_max_live_parameters"] == 1_000_000_000
    assert three["reduce_bucket_size"] == 500_000_000
    assert "stage3_max_live_parameters" not in two


def test_a_bucket_is_no_larger_than_a_small_model_and_small_beside_frozen_weights() -> None:
    # 2 layers of 4 x 64^2 + 3 x 64 x 128 + norms, embedding and head of 256 x 64, a last norm
    parameters = 2 * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64) + 2 * 256 * 64 + 64
    bucket = _config(_plan(2, TINY))["zero_optimization"]["reduce_bucket_size"]
    assert 0.99 * parameters <= bucket <= parameters
    frozen = _config(_plan(2, method="lora"))["zero_optimization"]
    assert 4 * frozen["reduce_bucket_size"] < 0.05 * 2**30


@pytest.mark.parametrize(("precision", "section"), [("bf16", "bf16"), ("fp16", "fp16"), ("fp32", None)])
def test_gradients_have_the_width_of_the_estimate(precision: str, section: str | None) -> None:
    read = _config(_plan(2, precision=precision))
    assert {key for key in ("bf16", "fp16") if key in read} == ({section} if section else set())
    assert read["data_types"]["grad_accum_dtype"] == precision


def test_offload_moves_what_the_estimate_leaves_out() -> None:
    optimizer = _config(_plan(2, parallel={"offload_optimizer": "cpu"}))["zero_optimization"]
    assert optimizer["offload_optimizer"]["device"] == "cpu"
    assert "offload_param" not in optimizer
    both = _config(_plan(3, parallel={"offload": True}))["zero_optimization"]
    assert both["offload_optimizer"]["device"] == both["offload_param"]["device"] == "cpu"


def test_optimizers() -> None:
    assert _config(_plan(2))["optimizer"]["type"] == "AdamW"
    momentum = _config(_plan(1, optimizer="momentum"))
    assert momentum["optimizer"]["params"]["momentum"] == 0.9
    assert momentum["zero_allow_untested_optimizer"] is True
    assert "momentum" not in _config(_plan(1, optimizer="sgd"))["optimizer"]["params"]


def test_each_value_has_a_reason_and_what_the_script_must_do_is_named() -> None:
    made = _plan(3, recompute="full", seq=4096)
    page = deepspeed.files(made, Order(script="my_train.py"))[1].text
    for line in deepspeed.lines(made):
        assert line.reason
        assert f"| `{line.path}` | `{json.dumps(line.value)}` |" in page
    assert "gradient_checkpointing_enable" in page
    assert "4096 tokens" in page
    assert "my_train.py" in page
    assert "gradient_checkpointing_enable" not in deepspeed.files(_plan(3), Order())[1].text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"parallel": {"tp": 2, "dp": 4}}, "tensor"),
        ({"parallel": {"pp": 2, "dp": 4}}, "pipeline"),
        ({"parallel": {"cp": 2, "dp": 4}}, "context"),
        ({"parallel": {"ep": 2}, "model": "mixtral-8x7b"}, "expert"),
        ({"parallel": {"fsdp": 4, "replicate": 2}}, "not over 4"),
        ({"zero": 3, "model": "mixtral-8x7b"}, "experts"),
        ({"zero": 0, "parallel": {"offload_optimizer": "cpu"}}, "ZeRO-1 and above"),
        ({"parallel": {"offload_optimizer": "cpu"}, "optimizer": "sgd"}, "on the CPU"),
        ({"parallel": {"strategy": "SHARD_GRAD_OP"}}, "gathered"),
        ({"optimizer": "adamw_8bit"}, "adam8bit"),
        ({"optimizer": "adafactor"}, "adafactor"),
        ({"recompute": "selective"}, "attention only"),
        ({"recompute": "selective-op"}, "operations"),
        ({"recompute": "full", "recompute_layers": 4}, "4 of 32"),
        ({"precision": "fp8"}, "8-bit"),
        ({"precision": "pure bf16"}, "fp32 copies"),
        ({"fused_ce": "liger"}, "fuse the loss"),
        ({"fused_ce": "compiled"}, "compiled on its own"),
        ({"compile": True}, "compile the model"),
        ({"zero": 3, "method": "qlora"}, "4-bit"),
    ],
    ids=str,
)
def test_what_the_file_cannot_say_is_refused(fields: dict[str, Any], words: str) -> None:
    said = deepspeed.refuses(_plan(**fields).work)
    assert said is not None
    assert words in said


def test_other_frameworks_and_other_model_code_are_refused() -> None:
    assert "follows fsdp2" in (deepspeed.refuses(plan(framework="fsdp2", parallel={"fsdp": 8}).work) or "")
    assert "transformers" in (deepspeed.refuses(replace(_plan().work, transformers=False)) or "")


def test_names_with_marks_of_the_page_do_not_break_it() -> None:
    named = dict(TINY, name="a | b\n# c")
    page = deepspeed.files(_plan(2, named), Order(script="x.py\n# y"))[1].text
    assert len([line for line in page.splitlines() if line.startswith("#")]) == 1


def test_misspelt_keys_that_deepspeed_passes_over_are_found() -> None:
    broken = {"zero_optimisation": {}, "data_types": {"grad_dtype": "bf16"}, "optimizer": {"typ": "AdamW"}}
    assert unknown(broken) == ["zero_optimisation", "data_types.grad_dtype", "optimizer.typ"]


def test_it_is_a_target() -> None:
    assert target("deepspeed").FRAMEWORKS == ("deepspeed",)
