from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from rocdoctor.cli.main import run
from rocdoctor.train.emit.targets import Order, llamafactory, target
from rocdoctor.train.recommend.plan import Method, Plan
from tests.train.emit.plan_kit import plan


def _plan(method: Method = "lora", **fields: Any) -> Plan:
    fields = {"recompute": "none", "framework": "ddp transformers", "parallel": {"dp": 8}} | fields
    return plan(method=method, **fields)


def _values(made: Plan) -> dict[str, Any]:
    assert llamafactory.refuses(made.work) is None
    read = yaml.safe_load(llamafactory.files(made, Order())[0].text)
    assert isinstance(read, dict)
    return read


def test_adapters_as_they_were_planned() -> None:
    found = _values(_plan(micro_batch=3, grad_accum=4, seq=1024, lora_rank=32))
    assert (found["stage"], found["finetuning_type"], found["do_train"]) == ("sft", "lora", True)
    assert (found["per_device_train_batch_size"], found["gradient_accumulation_steps"]) == (3, 4)
    assert (found["cutoff_len"], found["packing"], found["flash_attn"]) == (1024, True, "sdpa")
    assert (found["lora_rank"], found["lora_target"], found["bf16"]) == (32, "all", True)
    assert "quantization_bit" not in found and "pure_bf16" not in found


def test_recompute_is_its_own_switch() -> None:
    for recompute in ("none", "full"):
        found = _values(_plan(recompute=recompute))
        assert found["disable_gradient_checkpointing"] is (recompute == "none")
        assert "gradient_checkpointing" not in found  # the Trainer would do it a second time


def test_whole_weights_in_both_types() -> None:
    mixed = _values(_plan("full"))
    assert (mixed["finetuning_type"], mixed["bf16"], mixed["pure_bf16"]) == ("full", True, False)
    pure = _values(_plan("full", precision="pure bf16"))
    assert (pure["bf16"], pure["pure_bf16"]) == (False, True)
    assert _values(_plan("pretrain"))["stage"] == "pt"


def test_four_bits_and_the_fused_loss() -> None:
    found = _values(_plan("qlora", fused_ce="liger"))
    assert (found["quantization_bit"], found["quantization_type"], found["double_quantization"]) == (4, "nf4", True)
    assert found["enable_liger_kernel"] is True and "use_liger_kernel" not in found


def test_what_it_cannot_say_is_refused() -> None:
    sharded = _plan("full", framework="fsdp2 transformers", parallel={"fsdp": 8})
    assert "nearest: trl" in (llamafactory.refuses(sharded.work) or "")
    assert "nearest: bf16" in (llamafactory.refuses(_plan("full", precision="fp32").work) or "")
    assert target("llamafactory").FRAMEWORKS == ("ddp",)


@pytest.mark.parametrize("method", ["full", "qlora"])
def test_emit_writes_them(method: str, tmp_path: Path) -> None:
    words = ["--model", "llama-3.1-8b", "--gpus", "8xMI300X", "--method", method]
    assert run(["emit", "llamafactory", "-o", str(tmp_path / "plan"), *words]) == 0
    script = (tmp_path / "plan" / "llamafactory.sh").read_text()
    for words_of in ("llamafactory.launcher llamafactory.yaml", '"dataset_dir=$DATASET_DIR"', ': "${DATASET_DIR:?'):
        assert words_of in script
