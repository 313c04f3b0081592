from __future__ import annotations

import json
from ast import literal_eval
from pathlib import Path
from typing import Any

import pytest
import yaml

from rocdoctor.train.emit.keys_hugging_face import ACCELERATE, unknown
from rocdoctor.train.emit.targets import Order, accelerate
from tests.train.emit.plan_kit import fleet, plan
from tests.train.emit.readers import venvs

pytestmark = pytest.mark.reader

TINY = {"name": "tiny", "layers": 2, "hidden": 32, "heads": 4, "ffn": 64, "vocab": 64}

# accelerate shards on GPUs alone, so the process group is given out as one of GPUs where FSDP is asked for: what
# follows is its own FSDP2 path, over gloo.
_TRAIN = """
import json, os
import torch
from accelerate import Accelerator, PartialState
from accelerate.utils import DistributedType
from torch.distributed.tensor import DTensor
state = PartialState(cpu=True)
if os.environ.get("ACCELERATE_USE_FSDP") == "true":
    state.distributed_type = DistributedType.MULTI_GPU
accelerator = Accelerator(gradient_accumulation_steps=2)
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 16)
    def forward(self, data): return self.linear(data)
class Model(torch.nn.Module):
    _no_split_modules = ["Layer"]
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer(), Layer()])
    def forward(self, data):
        for layer in self.layers: data = layer(data)
        return data
torch.manual_seed(0)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
model, optimizer = accelerator.prepare(model, optimizer)
torch.manual_seed(accelerator.process_index)
for _ in range(2):
    with accelerator.accumulate(model):
        accelerator.backward(model(torch.randn(4, 16)).float().pow(2).mean())
        optimizer.step()
        optimizer.zero_grad()
first = next(model.parameters())
whole = first.full_tensor() if isinstance(first, DTensor) else first
plugin = getattr(accelerator.state, "fsdp_plugin", None)
said = {
    "world": accelerator.num_processes, "type": str(accelerator.distributed_type.value),
    "precision": accelerator.mixed_precision, "accumulate": accelerator.gradient_accumulation_steps,
    "weights": whole.detach().double().sum().item(), "sharded": isinstance(first, DTensor),
    "again": sum("Checkpoint" in type(one).__name__ for one in model.modules()),
    "reshard": getattr(plugin, "reshard_after_forward", None),
    "offload": type(getattr(plugin, "cpu_offload", None)).__name__,
    "units": sum(type(one).__name__.startswith("FSDP") for one in model.modules()),
}
with open(f"said.{accelerator.process_index}.json", "w") as file: json.dump(said, file)
accelerator.wait_for_everyone()
os._exit(0)
"""


def _text(framework: str, more: dict[str, Any] | None = None, **fields: Any) -> str:
    sizes = ({"fsdp": 2} if framework == "fsdp2" else {"dp": 2}) | (more or {})
    name = f"{framework} transformers"
    fields = {"recompute": "none"} | fields
    made = plan(fleet(per_node=2), TINY, framework=name, parallel=sizes, seq=16, **fields)
    assert accelerate.refuses(made.work) is None
    return accelerate.files(made, Order())[0].text


def _launch(folder: Path, text: str) -> tuple[int, str, list[dict[str, Any]]]:
    program = venvs.reader("accelerate").with_name("accelerate")
    (folder / "accelerate.yaml").write_text(text)
    (folder / "train.py").write_text(_TRAIN)
    words = ["launch", "--config_file", "accelerate.yaml", "--main_process_port", "0", "train.py"]
    done = venvs.run([program, *words], deadline_s=300, cwd=folder, environment={"ACCELERATE_USE_CPU": "true"})
    said = [json.loads(file.read_text()) for file in sorted(folder.glob("said.*.json"))]
    return done.returncode, done.stdout[-1000:] + done.stderr[-3000:], said


def _trained(folder: Path, text: str) -> dict[str, Any]:
    _, output, said = _launch(folder, text)
    assert len(said) == 2, output
    assert said[0]["weights"] == said[1]["weights"], "gradients were not synchronised"
    assert (said[0]["world"], said[0]["accumulate"]) == (2, 2)
    return said[0]


def test_ddp_starts_two_processes_that_synchronise(tmp_path: Path) -> None:
    said = _trained(tmp_path, _text("ddp", grad_accum=2))
    assert (said["type"], said["precision"], said["sharded"]) == ("MULTI_CPU", "bf16", False)


def test_fsdp2_shards_layer_by_layer(tmp_path: Path) -> None:
    said = _trained(tmp_path, _text("fsdp2", recompute="full"))
    assert (said["type"], said["precision"], said["sharded"]) == ("FSDP", "bf16", True)
    assert said["reshard"] is True
    assert said["units"] >= 3  # each layer and the root, more where wrappers count too
    assert said["again"] >= 2
    assert said["offload"] == "OffloadPolicy"


@pytest.mark.heavy
def test_fsdp2_keeps_gathered_weights_in_fp32(tmp_path: Path) -> None:
    said = _trained(tmp_path, _text("fsdp2", {"strategy": "SHARD_GRAD_OP"}, precision="fp32"))
    assert (said["type"], said["precision"], said["reshard"], said["again"]) == ("FSDP", "no", False, 0)


def test_broken_files_are_refused_by_accelerate_or_by_our_table(tmp_path: Path) -> None:
    good = yaml.safe_load(_text("fsdp2"))
    broken = [
        good | {"num_proceses": 2},
        good | {"distributed_type": "FSDP2"},
        good | {"mixed_precision": "bf17"},
    ]
    for number, config in enumerate(broken):
        folder = tmp_path / str(number)
        folder.mkdir()
        code, output, said = _launch(folder, yaml.safe_dump(config))
        assert code != 0, output
        assert not said
    assert unknown(good | {"fsdp_config": {"fsdp_reshard": True}})


def test_our_table_holds_options_of_the_launcher_alone(tmp_path: Path) -> None:
    program = (
        "from accelerate.commands.launch import launch_command_parser as p; print(sorted(vars(p().parse_args(['x']))))"
    )
    done = venvs.run([venvs.reader("accelerate"), "-c", program], cwd=tmp_path)
    options = set(literal_eval(done.stdout.splitlines()[-1]))
    for name in ("fsdp_config", "dynamo_config"):
        assert ACCELERATE[name] <= options, ACCELERATE[name] - options
    assert ACCELERATE["deepspeed_config"] <= options
