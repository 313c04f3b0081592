from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.train.emit.targets import Order, trainer
from tests.train.emit.plan_kit import fleet, plan
from tests.train.emit.readers import venvs
from tests.train.emit.targets.test_trainer import TRAINER_FSDP

pytestmark = pytest.mark.reader

TINY = {"name": "tiny", "layers": 2, "hidden": 32, "heads": 4, "ffn": 64, "vocab": 64}

# Two steps of a tiny Llama on other data in each rank. accelerate shards on GPUs alone, so the process group is given
# out as one of GPUs where FSDP is asked for: what follows is its own FSDP2 path, over gloo.
_TRAIN = """
import json, os, sys
import torch
from accelerate import PartialState
from accelerate.utils import DistributedType
import trainer_setup
from torch.distributed.tensor import DTensor
from transformers import LlamaConfig, LlamaForCausalLM, Trainer
state = PartialState(cpu=True)
if state.process_index == 0:
    torch.manual_seed(0)
    sizes = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4)
    LlamaForCausalLM(sizes).to(torch.bfloat16).save_pretrained("model")
state.wait_for_everyone()
torch.manual_seed(1)
model = trainer_setup.load_model("model")
def whole(one):
    one = one.detach()
    return (one.full_tensor() if isinstance(one, DTensor) else one).double().abs().sum().item()
def trained(): return [one for one in model.parameters() if one.requires_grad]
before = sum(map(whole, trained()))
class Data(torch.utils.data.Dataset):
    def __len__(self): return 64
    def __getitem__(self, index):
        made = torch.Generator().manual_seed(index)
        tokens = torch.randint(0, 64, (trainer_setup.SEQUENCE_LENGTH,), generator=made)
        return {"input_ids": tokens, "labels": tokens}
arguments = trainer_setup.training_arguments(
    "out", max_steps=2, use_cpu=True, report_to=[], save_strategy="no", disable_tqdm=True, learning_rate=0.01)
if arguments.fsdp:
    PartialState().distributed_type = DistributedType.MULTI_GPU
run = Trainer(model=model, args=arguments, train_dataset=Data())
run.train()
model = run.model
after = sum(map(whole, trained()))
accelerator = run.accelerator
local = sum((one.to_local() if isinstance(one, DTensor) else one).numel() for one in trained())
said = {
    "rank": state.process_index, "world": arguments.world_size, "type": str(accelerator.distributed_type.value),
    "steps": run.state.global_step, "after": after, "moved": abs(after - before) > 1e-4,
    "precision": accelerator.mixed_precision, "optimizer": type(run.optimizer.optimizer).__name__,
    "momentum": run.optimizer.optimizer.defaults.get("momentum"),
    "frozen": sorted({str(one.dtype) for one in model.parameters() if not one.requires_grad}),
    "trained": sorted({str(one.dtype) for one in trained()}),
    "share": local / sum(one.numel() for one in trained()),
    "again": sum("CheckpointWrapper" in type(one).__name__ for one in model.modules()),
    "model_again": bool(model.is_gradient_checkpointing),
    "each": bool(accelerator.gradient_state.plugin_kwargs.get("sync_each_batch")),
    "accumulate": arguments.gradient_accumulation_steps,
}
with open(f"said.{state.process_index}.json", "w") as file: json.dump(said, file)
state.wait_for_everyone()
os._exit(0)
"""


def _setup(framework: str, more: dict[str, Any] | None = None, **fields: Any) -> str:
    sizes = ({"fsdp": 2} if framework == "fsdp2" else {"dp": 2}) | (more or {})
    name = f"{framework} transformers"
    fields = {"recompute": "none"} | fields
    made = plan(fleet(per_node=2), TINY, framework=name, parallel=sizes, seq=16, **fields)
    assert trainer.refuses(made.work) is None
    return trainer.files(made, Order())[0].text


def _train(folder: Path, text: str) -> dict[str, Any]:
    python = venvs.reader("trainer")
    (folder / "trainer_setup.py").write_text(text)
    (folder / "train.py").write_text(_TRAIN)
    words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py"]
    done = venvs.run([python, *words], deadline_s=400, cwd=folder)
    files = [folder / f"said.{rank}.json" for rank in range(2)]
    assert all(file.exists() for file in files), done.stdout[-1000:] + done.stderr[-4000:]
    first, second = (json.loads(file.read_text()) for file in files)
    assert first["world"] == 2
    assert first["steps"] == 2
    assert first["moved"]
    assert first["after"] == second["after"], "the ranks have different weights: gradients were not synchronised"
    return dict(first)


def test_ddp_trains_with_recompute_and_accumulation(tmp_path: Path) -> None:
    said = _train(tmp_path, _setup("ddp", grad_accum=2, recompute="full"))
    assert said["type"].startswith("MULTI")
    assert (said["precision"], said["optimizer"], said["accumulate"]) == ("bf16", "AdamW", 2)
    assert said["trained"] == ["torch.float32"]
    assert said["model_again"]


def test_fsdp2_shards_recomputes_and_keeps_gradients_sharded(tmp_path: Path) -> None:
    said = _train(tmp_path, _setup("fsdp2", grad_accum=2, recompute="full"))
    assert (said["type"], said["precision"]) == ("FSDP", "bf16")
    assert said["share"] == pytest.approx(0.5, abs=0.05)
    assert said["trained"] == ["torch.float32"]
    assert said["again"] == 2
    assert said["each"]


@pytest.mark.heavy
def test_adapters_on_sharded_frozen_weights(tmp_path: Path) -> None:
    said = _train(tmp_path, _setup("fsdp2", method="lora", recompute="full"))
    assert (said["type"], said["frozen"], said["trained"]) == ("FSDP", ["torch.bfloat16"], ["torch.float32"])


@pytest.mark.heavy
def test_adapters_on_four_bit_weights(tmp_path: Path) -> None:
    said = _train(tmp_path, _setup("ddp", method="qlora", recompute="full"))
    assert "torch.uint8" in said["frozen"]
    assert said["trained"] == ["torch.float32"]


@pytest.mark.heavy
def test_momentum_in_fp32(tmp_path: Path) -> None:
    said = _train(tmp_path, _setup("ddp", optimizer="momentum", precision="fp32"))
    assert (said["optimizer"], said["momentum"], said["precision"]) == ("SGD", 0.9, "no")


@pytest.mark.heavy
def test_gathered_weights_kept(tmp_path: Path) -> None:
    # Offload pins memory, which torch does beside a GPU alone: no run here can prove it.
    said = _train(tmp_path, _setup("fsdp2", {"strategy": "SHARD_GRAD_OP"}))
    assert (said["type"], said["again"]) == ("FSDP", 0)


_READ = """
import json, sys
from transformers import TrainingArguments
from transformers.training_args import TrainingArguments as Known
for text in sys.argv[1:]:
    try:
        made = TrainingArguments("out", use_cpu=True, **json.loads(text))
        print("RESULT", json.dumps([True, sorted(made.fsdp_plugin_args or {})]))
    except Exception as problem:
        print("RESULT", json.dumps([False, str(problem)]))
"""


def test_broken_arguments_are_refused_by_transformers_or_by_our_table(tmp_path: Path) -> None:
    broken: list[dict[str, Any]] = [
        {"per_device_batch_size": 2},
        {"optim": "adamw_tourch"},
        {"accelerator_config": {"gradient_acumulation": {}}},
        {"fsdp": True, "fsdp_config": {"version": 2, "reshard_after_forward": "perhaps"}},
    ]
    silent = {"fsdp": True, "fsdp_config": {"version": 2, "reshard_after_foward": False}}
    done = venvs.run(
        [venvs.reader("trainer"), "-c", _READ, *(json.dumps(one) for one in [*broken, silent])], cwd=tmp_path
    )
    said = [json.loads(line.removeprefix("RESULT ")) for line in done.stdout.splitlines() if line.startswith("RESULT")]
    assert [one[0] for one in said] == [False] * len(broken) + [True], done.stdout + done.stderr
    assert not set(silent["fsdp_config"]) <= TRAINER_FSDP  # type: ignore[call-overload]
