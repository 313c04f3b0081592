from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from rocdoctor.cli.main import run
from rocdoctor.train.emit.targets import Order, target, trl
from rocdoctor.train.recommend.plan import Method, Plan
from tests.train.emit.plan_kit import fleet, plan


def _plan(framework: str = "ddp", method: Method = "lora", **fields: Any) -> Plan:
    sizes = {"fsdp": 8} if framework == "fsdp2" else {"dp": 8}
    fields = {"recompute": "none"} | fields
    return plan(method=method, framework=f"{framework} transformers", parallel=sizes, **fields)


def _values(made: Plan) -> dict[str, Any]:
    assert trl.refuses(made.work) is None
    read = yaml.safe_load(trl.files(made, Order())[0].text)
    assert isinstance(read, dict)
    return read


def test_adapters_as_they_were_planned() -> None:
    found = _values(_plan(micro_batch=3, grad_accum=4, seq=1024, lora_rank=32, recompute="full"))
    assert (found["per_device_train_batch_size"], found["gradient_accumulation_steps"]) == (3, 4)
    assert (found["max_length"], found["packing"], found["packing_strategy"]) == (1024, True, "wrapped")
    assert (found["use_peft"], found["lora_r"], found["lora_target_modules"]) == (True, 32, ["all-linear"])
    assert (found["dtype"], found["bf16"], found["gradient_checkpointing"]) == ("bfloat16", True, True)
    assert "load_in_4bit" not in found


def test_four_bits_are_those_of_the_estimate() -> None:
    found = _values(_plan(method="qlora"))
    assert (found["load_in_4bit"], found["bnb_4bit_quant_type"], found["use_bnb_nested_quant"]) == (True, "nf4", True)


def test_recompute_is_said_once_where_states_are_sharded() -> None:
    """TRL recomputes unless it is told not to: with FSDP that would be twice."""
    for recompute in ("none", "full"):
        found = _values(_plan("fsdp2", "full", recompute=recompute))
        assert found["gradient_checkpointing"] is False
        assert found["fsdp_config"]["activation_checkpointing"] is (recompute == "full")
        assert found["dtype"] == "float32"
        assert "use_peft" not in found


def test_the_script_asks_for_what_only_the_user_knows() -> None:
    config, script = trl.files(_plan(), Order(script_arguments=("--max_steps", "20")))
    assert (config.name, script.name, script.executable) == ("trl.yaml", "trl.sh", True)
    for words in ('--model_name_or_path "$MODEL"', '--dataset_name "$DATASET"', "--max_steps 20", ': "${MODEL:?'):
        assert words in script.text
    assert "--config trl.yaml" in script.text
    assert "node" in trl.files(plan(fleet(nodes=2), framework="ddp transformers", parallel={"dp": 16}), Order())[1].text


def test_the_script_passes_on_what_is_added_to_its_command() -> None:
    script = next(one.text for one in trl.files(_plan(), Order()) if one.name.endswith(".sh"))
    assert script.rstrip().endswith('"${arguments[@]}" "$@"')


def test_what_it_cannot_say_is_refused() -> None:
    assert "tensor" in (trl.refuses(plan(framework="fsdp2 transformers", parallel={"fsdp": 4, "tp": 2}).work) or "")
    assert target("trl").FRAMEWORKS == ("fsdp2", "ddp")


@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
def test_emit_writes_them(method: str, tmp_path: Path) -> None:
    words = ["--model", "llama-3.1-8b", "--gpus", "8xMI300X", "--method", method]
    assert run(["emit", "trl", "-o", str(tmp_path / "plan"), *words]) == 0
    assert ("use_peft: true" in (tmp_path / "plan" / "trl.yaml").read_text()) is (method != "full")


def test_processors_get_the_type_that_was_planned() -> None:
    """A plan for processors in fp32 has its weights in fp32 as well."""
    made = plan(fleet(vendor="cpu"), framework="ddp transformers", method="lora", precision="fp32", parallel={"dp": 8})
    assert _values(made)["dtype"] == "float32"
    assert _values(_plan())["dtype"] == "bfloat16"


def test_moments_in_16_bits_get_a_beta_that_they_can_follow() -> None:
    half = _values(_plan("fsdp2", "full", precision="pure bf16"))
    assert half["adam_beta2"] == 0.95
    assert "adam_beta2" not in _values(_plan("fsdp2", "full"))
    assert "adam_beta2" not in _values(_plan(method="lora"))
