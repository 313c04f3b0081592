from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.train.emit.targets import Order, trl
from rocdoctor.train.recommend.plan import Method
from tests.train.emit.plan_kit import fleet, plan
from tests.train.emit.readers import venvs

pytestmark = pytest.mark.reader

TINY = {"name": "tiny", "layers": 2, "hidden": 32, "heads": 4, "ffn": 64, "vocab": 64}

# A tiny Llama, a tokenizer of words and a data set of them, as folders.
_MAKE = """
import json, os
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
torch.manual_seed(0)
sizes = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4)
LlamaForCausalLM(sizes).save_pretrained("model")
words = {"<unk>": 0, "</s>": 1, **{f"w{one}": one for one in range(2, 64)}}
made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
own = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "</s>"}
PreTrainedTokenizerFast(tokenizer_object=made, **own).save_pretrained("model")
os.mkdir("data")
with open("data/train.jsonl", "w") as file:
    for row in range(64):
        file.write(json.dumps({"text": " ".join(f"w{2 + (row * 7 + one) % 62}" for one in range(24))}) + "\\n")
"""

# What TRL's own parser makes of the file.
_READ = """
import json
from trl import DatasetMixtureConfig, ModelConfig, ScriptArguments, SFTConfig, TrlParser
parser = TrlParser((ScriptArguments, SFTConfig, ModelConfig, DatasetMixtureConfig))
words = ["--config", "trl.yaml", "--model_name_or_path", "m", "--dataset_name", "d", "--use_cpu"]
script, training, model, _ = parser.parse_args_and_config(words, fail_with_unknown_args=True)
print(json.dumps({"fsdp": training.fsdp, "fsdp_config": training.fsdp_config, "bf16": training.bf16,
    "again": training.gradient_checkpointing, "each": training.accelerator_config.gradient_accumulation_kwargs,
    "micro": training.per_device_train_batch_size, "count": training.gradient_accumulation_steps,
    "length": training.max_length, "packing": training.packing_strategy, "optim": str(training.optim.value),
    "dtype": model.dtype, "peft": model.use_peft, "rank": model.lora_r, "modules": model.lora_target_modules,
    "four": model.load_in_4bit, "kind": model.bnb_4bit_quant_type, "nested": model.use_bnb_nested_quant}))
"""


def _text(framework: str, method: Method, **fields: Any) -> str:
    sizes = {"fsdp": 2} if framework == "fsdp2" else {"dp": 2}
    fields = {"recompute": "full", "seq": 16, "grad_accum": 2} | fields
    made = plan(fleet(per_node=2), TINY, method=method, framework=f"{framework} transformers", parallel=sizes, **fields)
    assert trl.refuses(made.work) is None
    return trl.files(made, Order())[0].text


# TRL's program as it is, but for its end. It drops the last tensors of gloo while it takes the group down, and the two
# may wait for each other for ever (ProcessGroupGloo of torch 2.13.0: its destructor joins a thread that wants the
# interpreter's lock; 3 of 7 runs hung): so the trainer is kept, and the process ends at once.
_TRAIN = """
import os, runpy, sys, transformers
kept = []
make = transformers.Trainer.__init__
def keep(trainer, *words, **named):
    kept.append(trainer)
    make(trainer, *words, **named)
transformers.Trainer.__init__ = keep
runpy.run_module("trl.scripts.sft", run_name="__main__", alter_sys=True)
sys.stdout.flush()
os._exit(0)
"""


def _read(folder: Path, text: str) -> dict[str, Any]:
    (folder / "trl.yaml").write_text(text)
    done = venvs.run([venvs.reader("trl"), "-c", _READ], deadline_s=200, cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    read: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return read


def test_sharded_full_training_is_read(tmp_path: Path) -> None:
    found = _read(tmp_path, _text("fsdp2", "full", micro_batch=3))
    assert (found["micro"], found["count"], found["length"], found["packing"]) == (3, 2, 16, "wrapped")
    assert found["fsdp"] and found["fsdp_config"]["version"] == 2
    assert found["fsdp_config"]["activation_checkpointing"] is True and found["again"] is False
    assert found["each"] == {"sync_each_batch": True}
    assert (found["dtype"], found["peft"], found["optim"]) == ("float32", False, "adamw_torch_fused")


def test_adapters_on_four_bits_are_read(tmp_path: Path) -> None:
    found = _read(tmp_path, _text("ddp", "qlora", lora_rank=8))
    assert (found["peft"], found["rank"], found["modules"]) == (True, 8, "all-linear")
    assert (found["four"], found["kind"], found["nested"], found["dtype"]) == (True, "nf4", True, "bfloat16")
    assert (found["fsdp"] or False, found["again"], found["bf16"]) == (False, True, True)


def test_it_trains_on_two_ranks(tmp_path: Path) -> None:
    """TRL's own program with a tiny model on the CPU: two steps, and adapters of the rank that was planned."""
    python = venvs.reader("trl")
    made = venvs.run([python, "-c", _MAKE], deadline_s=200, cwd=tmp_path)
    assert made.returncode == 0, made.stderr[-2000:]
    (tmp_path / "trl.yaml").write_text(_text("ddp", "lora", lora_rank=4))
    (tmp_path / "train.py").write_text(_TRAIN)
    words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py"]
    words += ["--config", "trl.yaml", "--model_name_or_path", "model", "--dataset_name", "data", "--use_cpu"]
    words += ["--max_steps", "2", "--output_dir", "out", "--report_to", "none", "--save_steps", "2"]
    done = venvs.run([python, *words], deadline_s=400, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-4000:]
    state = json.loads((tmp_path / "out" / "checkpoint-2" / "trainer_state.json").read_text())
    assert (state["global_step"], state["train_batch_size"]) == (2, 1)
    adapters = json.loads((tmp_path / "out" / "adapter_config.json").read_text())
    assert (adapters["r"], adapters["lora_alpha"]) == (4, 8)
