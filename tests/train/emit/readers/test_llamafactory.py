from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.train.emit.targets import Order, llamafactory
from rocdoctor.train.recommend.plan import Method
from tests.train.emit.plan_kit import fleet, plan
from tests.train.emit.readers import venvs

pytestmark = pytest.mark.reader

# What LLaMA-Factory's own parser makes of the file: unknown keys and impossible values end it.
_READ = """
import json, yaml
from llamafactory.hparams import get_train_args
own = {"model_name_or_path": "m", "dataset": "d", "template": "llama3", "output_dir": "out", "use_cpu": True}
model, data, training, tuning, _ = get_train_args({**yaml.safe_load(open("llamafactory.yaml")), **own})
print(json.dumps({"again": not model.disable_gradient_checkpointing, "attention": str(model.flash_attn),
    "bits": model.quantization_bit, "kind": model.quantization_type, "nested": model.double_quantization,
    "dtype": str(model.compute_dtype), "liger": model.enable_liger_kernel, "stage": tuning.stage,
    "type": tuning.finetuning_type, "rank": tuning.lora_rank, "modules": tuning.lora_target, "length": data.cutoff_len,
    "packing": data.packing, "micro": training.per_device_train_batch_size, "trainer_again":
    training.gradient_checkpointing, "count": training.gradient_accumulation_steps, "bf16": training.bf16,
    "unused": training.ddp_find_unused_parameters, "optim": str(training.optim)}))
"""


def _read(folder: Path, method: Method, **fields: Any) -> dict[str, Any]:
    made = plan(fleet(per_node=2), method=method, framework="ddp transformers", parallel={"dp": 2}, **fields)
    assert llamafactory.refuses(made.work) is None
    (folder / "llamafactory.yaml").write_text(llamafactory.files(made, Order())[0].text)
    (folder / "read.py").write_text(_READ)
    words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1", "read.py"]
    environment = {"DISABLE_VERSION_CHECK": "1"}  # of packages that its parser does not use
    done = venvs.run([venvs.reader("llamafactory"), *words], deadline_s=200, cwd=folder, environment=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    read: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return read


def test_adapters_on_four_bits_are_read(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"recompute": "full", "micro_batch": 3, "grad_accum": 2, "lora_rank": 8, "seq": 1024}
    found = _read(tmp_path, "qlora", **fields)
    assert (found["bits"], found["kind"], found["nested"], found["dtype"]) == (4, "nf4", True, "torch.bfloat16")
    assert (found["type"], found["rank"], found["modules"]) == ("lora", 8, ["all"])
    assert (found["micro"], found["count"], found["again"], found["trainer_again"]) == (3, 2, True, False)
    # It takes one off where it packs, and adds one when it pads a pack: 1024 tokens in the end.
    assert (found["length"], found["packing"], found["attention"]) == (1023, True, "sdpa")


def test_whole_weights_are_read(tmp_path: Path) -> None:
    found = _read(tmp_path, "full", recompute="none")
    assert (found["stage"], found["type"], found["again"], found["bf16"]) == ("sft", "full", False, True)
    assert (found["bits"], "adamw_torch_fused" in found["optim"].lower(), found["liger"]) == (None, True, False)
