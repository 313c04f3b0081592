from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from rocdoctor.cli.main import run
from rocdoctor.train.emit.targets import Order, axolotl, target
from rocdoctor.train.recommend.plan import Method, Plan
from tests.train.emit.plan_kit import plan


def _plan(method: Method = "lora", **fields: Any) -> Plan:
    fields = {"recompute": "none", "framework": "ddp transformers", "parallel": {"dp": 8}} | fields
    return plan(method=method, **fields)


def _values(made: Plan) -> dict[str, Any]:
    assert axolotl.refuses(made.work) is None
    read = yaml.safe_load(axolotl.files(made, Order())[0].text)
    assert isinstance(read, dict)
    return read


def test_adapters_as_they_were_planned() -> None:
    found = _values(_plan(micro_batch=3, grad_accum=4, seq=1024, lora_rank=32))
    assert (found["adapter"], found["lora_r"], found["lora_target_linear"]) == ("lora", 32, True)
    assert (found["micro_batch_size"], found["gradient_accumulation_steps"], found["eval_batch_size"]) == (3, 4, 3)
    assert (found["sequence_len"], found["sample_packing"], found["attn_implementation"]) == (1024, True, "sdpa")
    assert (found["bf16"], found["optimizer"]) == (True, "adamw_torch_fused")
    assert (found["gradient_checkpointing"], found["lora_mlp_kernel"]) == (False, False)
    assert not {"load_in_4bit", "plugins", "per_device_train_batch_size", "use_liger_kernel", "optim"} & set(found)


def test_what_axolotl_warns_of_is_said_beside_its_value() -> None:
    plans = (_plan(), _plan(attention="eager"), _plan(precision="fp16"))
    told = [" ".join(axolotl.files(one, Order())[0].text.replace("#", "").split()) for one in plans]
    assert ["axolotl warns of sdpa" in one for one in told] == [True, False, False]


def test_four_bits_the_fused_loss_and_eager_attention() -> None:
    found = _values(_plan("qlora", fused_ce="liger", recompute="full", attention="eager"))
    assert (found["adapter"], found["load_in_4bit"], found["gradient_checkpointing"]) == ("qlora", True, True)
    assert found["plugins"] == ["axolotl.integrations.liger.LigerPlugin"]
    assert (found["liger_fused_linear_cross_entropy"], found["attn_implementation"]) == (True, "eager")


@pytest.mark.parametrize(
    ("made", "nearest"),
    [
        (_plan("full"), "--method lora, or trl"),
        (_plan(framework="fsdp2 transformers", parallel={"fsdp": 8}), "trl"),
        (_plan(model="mixtral-8x7b"), "trl"),
        (_plan(precision="fp32"), "bf16"),
    ],
)
def test_what_it_cannot_say_is_refused(made: Plan, nearest: str) -> None:
    assert (axolotl.refuses(made.work) or "").endswith(f"nearest: {nearest}")
    assert target("axolotl").FRAMEWORKS == ("ddp",)


def test_emit_writes_them(tmp_path: Path) -> None:
    words = ["--model", "llama-3.1-8b", "--gpus", "8xMI300X", "--method", "qlora"]
    assert run(["emit", "axolotl", "-o", str(tmp_path / "plan"), *words]) == 0
    script = (tmp_path / "plan" / "axolotl.sh").read_text()
    for part in ("axolotl.cli.train axolotl.yaml", "\"--datasets=[{'path': '$DATASET'", ': "${LEARNING_RATE:?'):
        assert part in script
