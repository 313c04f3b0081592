from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml

from rocdoctor.train.emit.keys_hugging_face import unknown
from rocdoctor.train.emit.targets import Order, accelerate, target
from rocdoctor.train.recommend.plan import Plan
from tests.train.emit.plan_kit import fleet, plan

MODEL = "llama-3.1-8b"


def _plan(framework: str = "fsdp2", parallel: dict[str, Any] | None = None, **fields: Any) -> Plan:
    sizes = {"fsdp": 8} if framework == "fsdp2" else {"dp": 8}
    return plan(framework=f"{framework} transformers", parallel=parallel or sizes, **fields)


def _text(made: Plan) -> str:
    assert accelerate.refuses(made.work) is None
    return accelerate.files(made, Order(script="my_train.py"))[0].text


def _config(made: Plan) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(_text(made))
    assert unknown(read) == []
    return read


def test_fsdp2_sets_what_the_estimate_rests_on() -> None:
    read = _config(_plan(recompute="full"))
    assert (read["distributed_type"], read["num_processes"], read["mixed_precision"]) == ("FSDP", 8, "bf16")
    fsdp = read["fsdp_config"]
    assert (fsdp["fsdp_version"], fsdp["fsdp_reshard_after_forward"]) == (2, True)
    assert fsdp["fsdp_activation_checkpointing"] is True
    assert fsdp["fsdp_offload_params"] is False
    other = _config(_plan(parallel={"fsdp": 8, "offload": True, "strategy": "SHARD_GRAD_OP"}, recompute="none"))[
        "fsdp_config"
    ]
    assert other["fsdp_activation_checkpointing"] is False
    assert other["fsdp_offload_params"] is True
    assert other["fsdp_reshard_after_forward"] is False


def test_ddp_and_one_gpu() -> None:
    assert _config(_plan("ddp", precision="fp16"))["distributed_type"] == "MULTI_GPU"
    alone = plan(fleet(per_node=1), framework="ddp transformers", parallel={"dp": 1}, precision="fp32")
    read = _config(alone)
    assert (read["distributed_type"], read["num_processes"], read["mixed_precision"]) == ("NO", 1, "no")
    assert _config(_plan("ddp", compile=True))["dynamo_config"] == {"dynamo_backend": "INDUCTOR"}


def test_several_nodes_count_all_processes_and_name_no_address() -> None:
    made = plan(fleet(nodes=2), framework="fsdp2 transformers", parallel={"fsdp": 16})
    read = _config(made)
    assert (read["num_machines"], read["num_processes"]) == (2, 16)
    assert "main_process_ip" not in read
    assert "--machine_rank N --main_process_ip HOST" in _text(made)


def test_deepspeed_is_left_to_its_own_file() -> None:
    made = plan(framework="deepspeed", parallel={"dp": 8, "zero": 3}, grad_accum=4)
    read = _config(made)
    assert read["distributed_type"] == "DEEPSPEED"
    assert read["deepspeed_config"] == {"deepspeed_config_file": "ds_config.json", "zero3_init_flag": True}
    assert "mixed_precision" not in read  # accelerate refuses it beside a file
    files = {file.name: file.text for file in accelerate.files(made, Order())}
    theirs = json.loads(files["ds_config.json"])
    assert "optimizer" not in theirs
    assert theirs["gradient_accumulation_steps"] == 4
    assert "torch.optim.AdamW" in files["ds_config.reasons.md"]


def _flat(text: str) -> str:
    """The words of comments, which are broken into lines."""
    return " ".join(text.replace("#", " ").split())


def test_what_the_script_must_do_for_deepspeed_stands_in_both_files() -> None:
    def both(**fields: Any) -> list[str]:
        zero = fields.pop("zero", 2)
        made = plan(framework="deepspeed", parallel={"dp": 8, "zero": zero}, **fields)
        files = {file.name: file.text for file in accelerate.files(made, Order())}
        return [_flat(files["accelerate.yaml"]), _flat(files["ds_config.reasons.md"])]

    for text in both(grad_accum=4, zero=3, recompute="full"):
        assert 'each of the 4 passes in "with accelerator.accumulate(model):"' in text
        assert "make the Accelerator before the model is loaded" in text
        assert "give Accelerator() no mixed_precision" in text
        assert "gradient_checkpointing_enable" in text
        assert "gradient_accumulation_steps=" not in text
        assert "in fp32 (" not in text
    for text in both(precision="fp32"):
        assert "load the weights in fp32" in text
        assert "accumulate(" not in text
        assert "before the model is loaded" not in text
        assert "mixed_precision" not in text
    nvidia = plan(fleet("H100", vendor="nvidia"), framework="deepspeed", parallel={"dp": 8, "zero": 2})
    assert "mixed_precision" not in _text(nvidia)
    adapters = plan(framework="deepspeed", parallel={"dp": 8, "zero": 2}, method="lora")
    assert "frozen weights in 16 bits" in _flat(_text(adapters))


def test_what_only_the_script_can_do_is_said() -> None:
    text = _text(_plan("ddp", micro_batch=3, grad_accum=5, recompute="full", seq=4096))
    assert "load 3 sequences" in text
    assert "gradient_accumulation_steps=5" in text
    assert "gradient_checkpointing_enable" in text
    assert "4096 tokens" in text
    assert "rank 16" in _text(_plan(method="lora"))


def test_each_reason_is_a_comment_that_nothing_ends() -> None:
    made = _plan()
    broken = replace(made, choices=tuple(replace(one, reason="a\nuse_cpu: true") for one in made.choices))
    assert yaml.safe_load(_text(broken)) == yaml.safe_load(_text(made))


def test_a_machine_without_gpus_is_told_how() -> None:
    assert "ACCELERATE_USE_CPU=true" in _text(
        plan(fleet(vendor="cpu"), framework="ddp transformers", parallel={"dp": 8})
    )
    text = _flat(_text(plan(fleet(vendor="cpu"), framework="deepspeed", parallel={"dp": 8, "zero": 2})))
    assert "set DS_ACCELERATOR=cpu, not ACCELERATE_USE_CPU" in text
    assert 'InitProcessGroupKwargs(backend="gloo")' in text


@pytest.mark.parametrize(
    ("framework", "fields", "words"),
    [
        ("fsdp2", {"parallel": {"tp": 2, "fsdp": 4}}, "tensor"),
        ("fsdp2", {"parallel": {"cp": 2, "fsdp": 4}}, "context"),
        ("fsdp2", {"parallel": {"pp": 2, "fsdp": 4}}, "pipeline"),
        ("fsdp2", {"parallel": {"fsdp": 4, "replicate": 2}}, "4 of 8"),
        ("fsdp2", {"parallel": {"fsdp": 8, "strategy": "NO_SHARD"}}, "or keeps gathered"),
        ("fsdp2", {"parallel": {"fsdp": 8, "offload_optimizer": "cpu"}}, "together"),
        ("fsdp2", {"grad_accum": 2}, "whole gradients"),
        ("fsdp2", {"compile": True}, "before"),
        ("fsdp2", {"precision": "fp16"}, "fp16"),
        ("fsdp2", {"method": "qlora"}, "4-bit"),
        ("fsdp2", {"fused_ce": "liger"}, "fuse"),
        ("fsdp2", {"precision": "fp8"}, "8-bit"),
        ("fsdp2", {"precision": "pure bf16"}, "loaded"),
        ("fsdp2", {"optimizer": "adamw_8bit"}, "adam8bit"),
        ("fsdp2", {"recompute": "selective-op"}, "operations"),
        ("ddp", {"parallel": {"dp": 8, "zero": 1}}, "shards nothing"),
        ("ddp", {"parallel": {"dp": 8, "offload_optimizer": "cpu"}}, "main memory"),
        ("ddp", {"optimizer": "sgd"}, "sgd"),
    ],
    ids=str,
)
def test_what_the_file_cannot_say_is_refused(framework: str, fields: dict[str, Any], words: str) -> None:
    assert words in (accelerate.refuses(_plan(framework, **fields).work) or "")


def test_more_is_refused() -> None:
    assert "transformers" in (accelerate.refuses(plan(framework="fsdp2", parallel={"fsdp": 8}).work) or "")
    assert "megatron" in (accelerate.refuses(plan(framework="megatron", parallel={"dp": 8}).work) or "")
    sgd = plan(framework="deepspeed", parallel={"dp": 8, "zero": 1}, optimizer="sgd")
    assert "sgd" in (accelerate.refuses(sgd.work) or "")
    alone = plan(fleet(per_node=1), framework="fsdp2 transformers", parallel={"fsdp": 1})
    assert "one GPU" in (accelerate.refuses(alone.work) or "")
    assert target("accelerate").FRAMEWORKS[0] == "fsdp2"


def test_misspelt_keys_that_accelerate_passes_over_are_found() -> None:
    assert unknown({"fsdp_config": {"fsdp_reshard": True}}) == ["fsdp_config.fsdp_reshard"]
