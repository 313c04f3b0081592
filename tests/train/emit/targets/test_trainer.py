from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import pytest

from rocdoctor.train.emit.targets import Order, target, trainer
from rocdoctor.train.recommend.plan import Plan
from tests.train.emit.plan_kit import fleet, plan

# What ``_process_fsdp_args`` of transformers 5.23.0 (training_args.py) takes from fsdp_config; it passes over the rest.
TRAINER_FSDP = frozenset(
    {
        "activation_checkpointing",
        "auto_wrap_policy",
        "cpu_offload",
        "cpu_ram_efficient_loading",
        "min_num_params",
        "reshard_after_forward",
        "state_dict_type",
        "transformer_layer_cls_to_wrap",
        "version",
    }
)


def _plan(framework: str = "fsdp2", parallel: dict[str, Any] | None = None, **fields: Any) -> Plan:
    sizes = {"fsdp": 8} if framework == "fsdp2" else {"dp": 8}
    return plan(framework=f"{framework} transformers", parallel=parallel or sizes, **fields)


def _text(made: Plan) -> str:
    assert trainer.refuses(made.work) is None
    text = trainer.files(made, Order(script="my_train.py"))[0].text
    ast.parse(text)
    return text


def _arguments(made: Plan) -> dict[str, Any]:
    """What the emitted function would pass on, read from its text."""
    found: dict[str, Any] = {}
    functions = {one.name: one for one in ast.parse(_text(made)).body if isinstance(one, ast.FunctionDef)}
    for line in functions["training_arguments"].body:
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Subscript):
            found[ast.literal_eval(line.targets[0].slice)] = ast.literal_eval(line.value)
    return found


def test_fsdp2_sets_what_the_estimate_rests_on() -> None:
    made = _plan(recompute="full", micro_batch=2, grad_accum=3)
    read = _arguments(made)
    assert read["per_device_train_batch_size"] == 2
    assert read["gradient_accumulation_steps"] == 3
    assert (read["bf16"], read["fp16"], read["fsdp"]) == (True, False, True)
    fsdp = read["fsdp_config"]
    assert set(fsdp) <= TRAINER_FSDP
    assert (fsdp["version"], fsdp["reshard_after_forward"], fsdp["activation_checkpointing"]) == (2, True, True)
    assert "gradient_checkpointing" not in read  # both at once are an error
    assert "torch.float32" in _text(made)


def test_evaluation_holds_no_more_sequences_than_training() -> None:
    assert _arguments(_plan(micro_batch=2))["per_device_eval_batch_size"] == 2


def test_what_loading_needs_in_main_memory_is_said_where_states_are_sharded() -> None:
    assert "loads the model whole into main memory first" in _text(_plan())
    assert "loads the model whole" not in _text(_plan("ddp"))


def test_gradients_stay_sharded_while_they_accumulate() -> None:
    kept = {"gradient_accumulation_kwargs": {"sync_each_batch": True}}
    assert _arguments(_plan(grad_accum=2))["accelerator_config"] == kept
    assert "accelerator_config" not in _arguments(_plan())
    assert "accelerator_config" not in _arguments(_plan("ddp", grad_accum=2))


def test_ddp_recomputes_by_the_model() -> None:
    read = _arguments(_plan("ddp", recompute="full", compile=True))
    assert read["gradient_checkpointing"] is True
    assert read["torch_compile"] is True
    assert "fsdp" not in read
    assert _arguments(_plan("ddp", recompute="none"))["gradient_checkpointing"] is False


@pytest.mark.parametrize(
    ("fields", "bf16", "fp16", "kind"),
    [
        ({}, True, False, "float32"),
        ({"precision": "fp16"}, False, True, "float32"),
        ({"precision": "fp32"}, False, False, "float32"),
        ({"precision": "pure bf16"}, False, False, "bfloat16"),
        ({"method": "lora"}, True, False, "bfloat16"),
        ({"method": "lora", "precision": "fp16"}, False, True, "float16"),
    ],
    ids=str,
)
def test_precision_and_the_type_of_the_weights(fields: dict[str, Any], bf16: bool, fp16: bool, kind: str) -> None:
    made = _plan("ddp", **fields)
    read = _arguments(made)
    assert (read["bf16"], read["fp16"]) == (bf16, fp16)
    assert f'options["dtype"] = torch.{kind}\n' in _text(made)


def test_optimizers_loss_attention_and_length() -> None:
    assert _arguments(_plan())["optim"] == "adamw_torch_fused"
    assert _arguments(_plan("ddp", optimizer="adamw_8bit"))["optim"] == "adamw_bnb_8bit"
    momentum = _arguments(_plan("ddp", optimizer="momentum"))
    assert (momentum["optim"], momentum["optim_args"]) == ("sgd", "momentum=0.9")
    assert _arguments(_plan(fused_ce="liger"))["use_liger_kernel"] is True
    assert _arguments(_plan())["use_liger_kernel"] is False
    assert '"attn_implementation"] = "sdpa"' in _text(_plan())
    assert '"attn_implementation"] = "eager"' in _text(_plan(attention="eager", recompute="none"))
    assert "SEQUENCE_LENGTH = 4096" in _text(_plan(seq=4096))


def test_adapters() -> None:
    lora = _text(_plan(method="lora", lora_rank=8))
    assert "LoraConfig(r=8," in lora
    assert "BitsAndBytesConfig" not in lora
    qlora = _text(_plan("ddp", method="qlora", recompute="full"))
    assert 'bnb_4bit_quant_type="nf4"' in qlora
    assert "enable_input_require_grads" in qlora
    assert "LoraConfig" not in _text(_plan())


def test_names_and_reasons_do_not_end_strings_or_comments() -> None:
    made = _plan()
    named = replace(made, choices=tuple(replace(one, reason='x"""\nimport os') for one in made.choices))
    named = replace(named, fleet=replace(made.fleet, name='8 x """\nimport sys\\'))
    text = trainer.files(named, Order(script='t"""\nimport sys'))[0].text
    imports = {line for line in text.splitlines() if line.startswith("import ")}
    assert imports == {"import torch"}
    ast.parse(text)


@pytest.mark.parametrize(
    ("framework", "fields", "words"),
    [
        ("fsdp2", {"parallel": {"tp": 2, "fsdp": 4}}, "tensor"),
        ("fsdp2", {"parallel": {"cp": 2, "fsdp": 4}}, "context"),
        ("fsdp2", {"parallel": {"pp": 2, "fsdp": 4}}, "pipeline"),
        ("fsdp2", {"parallel": {"fsdp": 4, "replicate": 2}}, "not over 4"),
        ("fsdp2", {"parallel": {"fsdp": 8, "strategy": "NO_SHARD"}}, "or keeps gathered"),
        ("fsdp2", {"parallel": {"fsdp": 8, "offload_optimizer": "cpu"}}, "together"),
        ("fsdp2", {"compile": True}, "before"),
        ("fsdp2", {"precision": "fp16"}, "fp16"),
        ("fsdp2", {"method": "qlora"}, "4-bit"),
        ("fsdp2", {"optimizer": "adamw_8bit"}, "adam8bit"),
        ("fsdp2", {"optimizer": "adafactor"}, "adafactor"),
        ("fsdp2", {"fused_ce": "compiled"}, "compiled"),
        ("fsdp2", {"precision": "fp8"}, "8-bit"),
        ("fsdp2", {"recompute": "selective"}, "attention only"),
        ("fsdp2", {"recompute": "full", "recompute_layers": 3}, "3 of 32"),
        ("ddp", {"parallel": {"dp": 8, "zero": 1}}, "shards nothing"),
        ("ddp", {"parallel": {"dp": 8, "offload_optimizer": "cpu"}}, "main memory"),
    ],
    ids=str,
)
def test_what_the_arguments_cannot_say_is_refused(framework: str, fields: dict[str, Any], words: str) -> None:
    assert words in (trainer.refuses(_plan(framework, **fields).work) or "")


def test_more_is_refused() -> None:
    assert "transformers" in (trainer.refuses(plan(framework="fsdp2", parallel={"fsdp": 8}).work) or "")
    assert "deepspeed" in (trainer.refuses(plan(framework="deepspeed", parallel={"dp": 8, "zero": 1}).work) or "")
    alone = plan(fleet(per_node=1), framework="fsdp2 transformers", parallel={"fsdp": 1})
    assert "one GPU" in (trainer.refuses(alone.work) or "")
    assert target("trainer").FRAMEWORKS == ("fsdp2", "ddp")
