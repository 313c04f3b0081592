from __future__ import annotations

import json
import socket
import sysconfig
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from rocdoctor.train.emit.targets import Order, accelerate
from tests.train.emit.plan_kit import fleet, plan
from tests.train.emit.readers import venvs

pytestmark = pytest.mark.reader

TINY = {"name": "tiny", "layers": 2, "hidden": 32, "heads": 4, "ffn": 64, "vocab": 64}

# Two steps on data that differ between the ranks, and the same two steps by plain PyTorch over all data. A layer has
# more elements than stage 3 leaves whole. Without GPUs accelerate must be told the backend, or each process takes
# itself for the only one.
_TRAIN = """
import copy, json, os
from contextlib import nullcontext
import torch
from accelerate import Accelerator
from accelerate.utils import InitProcessGroupKwargs
from deepspeed.utils import safe_get_full_fp32_param
accelerator = Accelerator(kwargs_handlers=[InitProcessGroupKwargs(backend="gloo")])
if accelerator.deepspeed_plugin is None:
    said = {"type": accelerator.distributed_type.value, "precision": accelerator.mixed_precision}
    with open(f"said.{accelerator.process_index}.json", "w") as file: json.dump(said, file)
    os._exit(0)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(320, 320), torch.nn.Tanh(), torch.nn.Linear(320, 320))
alone = copy.deepcopy(model)
start = model[0].weight.detach().clone()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
model, optimizer = accelerator.prepare(model, optimizer)
config = accelerator.deepspeed_config
micro, passes = config["train_micro_batch_size_per_gpu"], config["gradient_accumulation_steps"]
kind = next(model.parameters()).dtype
data = torch.randn(accelerator.num_processes, 2, passes, micro, 320, generator=torch.Generator().manual_seed(1))
for step in range(2):
    for number in range(passes):
        with accelerator.accumulate(model):
            batch = data[accelerator.process_index, step, number].to(kind)
            accelerator.backward(model(batch).float().pow(2).mean())
            optimizer.step()
            optimizer.zero_grad()
first = next(model.module.parameters())
sharded = first.numel() == 0
whole = safe_get_full_fp32_param(first) if model.zero_optimization_stage() else first.detach()
plain = torch.optim.AdamW(alone.parameters(), lr=0.01)
for step in range(2):
    alone(data[:, step].reshape(-1, 320)).pow(2).mean().backward()
    plain.step()
    plain.zero_grad()
expected = alone[0].weight.detach() - start
said = {
    "world": accelerator.num_processes, "type": accelerator.distributed_type.value,
    "precision": accelerator.mixed_precision, "accumulate": accelerator.gradient_accumulation_steps,
    "stage": model.zero_optimization_stage(), "steps": model.global_steps, "micro": micro, "kind": str(kind),
    "global": model.train_batch_size(), "gradients": str(model.get_data_types()[1]), "sharded": sharded,
    "optimizer": type(model.basic_optimizer).__name__, "bucket": getattr(model.optimizer, "reduce_bucket_size", None),
    "weights": whole.double().sum().item(),
    "apart": ((whole.float() - start - expected).norm() / expected.norm()).item(),
}
with open(f"said.{accelerator.process_index}.json", "w") as file: json.dump(said, file)
accelerator.wait_for_everyone()
os._exit(0)
"""


def _files(zero: int, more: Mapping[str, Any] | None = None, nodes: int = 1, **fields: Any) -> dict[str, str]:
    where = fleet(per_node=2 // nodes, nodes=nodes)
    sizes = {"dp": 2, "zero": zero} | dict(more or {})
    chosen: dict[str, Any] = {"recompute": "none", "grad_accum": 2} | fields
    made = plan(where, TINY, framework="deepspeed", parallel=sizes, seq=16, **chosen)
    assert accelerate.refuses(made.work) is None
    return {file.name: file.text for file in accelerate.files(made, Order())}


def _launch(
    folder: Path, files: Mapping[str, str], *options: str, program: str = _TRAIN, **environment: str
) -> tuple[int, str, list[dict[str, Any]]]:
    """Runs the real launcher in a folder; its exit status, the end of its output, and what each process wrote.

    transformers must be there for DeepSpeed's plug-in; DeepSpeed comes from its own environment.
    """
    launcher: list[str | Path] = [
        venvs.reader("trainer"),
        "-m",
        "accelerate.commands.accelerate_cli",
    ]  # the program of ``accelerate``
    deepspeed = venvs.reader("deepspeed")
    packages = sysconfig.get_path("purelib", vars={"base": str(deepspeed.parent.parent)})
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "train.py").write_text(program)
    place = {"PYTHONPATH": packages, "DS_ACCELERATOR": "cpu"}
    words = ["launch", "--config_file", "accelerate.yaml", *(options or ("--main_process_port", "0")), "train.py"]
    done = venvs.run([*launcher, *words], deadline_s=900, cwd=folder, environment=place | environment)
    said = [json.loads(file.read_text()) for file in sorted(folder.glob("said.*.json"))]
    return done.returncode, done.stdout[-1000:] + done.stderr[-6000:], said


def _check(said: list[dict[str, Any]], files: Mapping[str, str], output: str) -> dict[str, Any]:
    """What holds for every plan: two ranks with equal weights that follow the numbers of ds_config.json."""
    assert len(said) == 2, output
    config = json.loads(files["ds_config.json"])
    one = said[0]
    assert one["weights"] == said[1]["weights"], "gradients were not synchronised"
    assert (one["type"], one["world"], one["steps"]) == ("DEEPSPEED", 2, 2)
    assert one["stage"] == config["zero_optimization"]["stage"]
    assert one["accumulate"] == config["gradient_accumulation_steps"]
    assert one["micro"] == config["train_micro_batch_size_per_gpu"]
    assert one["global"] == config["train_batch_size"]
    if one["stage"]:
        assert one["bucket"] == config["zero_optimization"]["reduce_bucket_size"]
    return one


def _trained(folder: Path, files: Mapping[str, str]) -> dict[str, Any]:
    _, output, said = _launch(folder, files)
    return _check(said, files, output)


def test_two_processes_train_in_bf16_with_zero_2(tmp_path: Path) -> None:
    one = _trained(tmp_path, _files(2, micro_batch=3))
    assert (one["stage"], one["accumulate"], one["micro"], one["global"]) == (2, 2, 3, 12)
    assert (one["precision"], one["kind"], one["gradients"]) == ("bf16", "torch.bfloat16", "torch.bfloat16")


def test_zero_3_shards_weights_and_makes_the_steps_of_plain_pytorch(tmp_path: Path) -> None:
    one = _trained(tmp_path, _files(3, precision="fp32"))
    assert (one["stage"], one["precision"], one["kind"]) == (3, "no", "torch.float32")
    assert one["sharded"]
    assert one["apart"] < 0.01  # 1 would be another step altogether


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("zero", "more"),
    [(0, {}), (1, {}), (2, {}), (1, {"offload_optimizer": "cpu"}), (3, {"offload": True})],
    ids=str,
)
def test_every_stage_makes_the_steps_of_plain_pytorch(zero: int, more: dict[str, Any], tmp_path: Path) -> None:
    one = _trained(tmp_path, _files(zero, more, precision="fp32"))
    assert one["apart"] < 0.01
    assert one["sharded"] is (zero == 3)
    assert ("CPUAdam" in one["optimizer"]) is bool(more)


@pytest.mark.heavy
def test_one_launcher_on_each_node_makes_one_world(tmp_path: Path) -> None:
    files = _files(2, nodes=2, precision="fp32")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])

    def node(rank: int) -> tuple[int, str, list[dict[str, Any]]]:
        options = ("--machine_rank", str(rank), "--main_process_ip", "127.0.0.1", "--main_process_port", port)
        return _launch(tmp_path / str(rank), files, *options)

    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(node, range(2)))
    one = _check([said for _, _, each in both for said in each], files, both[0][1] + both[1][1])
    assert one["apart"] < 0.01


# What from_pretrained does after the Accelerator is made: on each rank, how many numbers of how many lie there.
_LOAD = """
import json, os
from accelerate import Accelerator
from accelerate.utils import InitProcessGroupKwargs
from transformers import LlamaConfig, LlamaForCausalLM
def size(model):
    return [sum(one.numel() for one in model.parameters()),
            sum(getattr(one, "ds_numel", one.numel()) for one in model.parameters())]
sizes = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=64)
rank = os.environ["RANK"]
LlamaForCausalLM(LlamaConfig(**sizes)).save_pretrained("saved." + rank)
before = size(LlamaForCausalLM.from_pretrained("saved." + rank))
accelerator = Accelerator(kwargs_handlers=[InitProcessGroupKwargs(backend="gloo")])
accelerator.wait_for_everyone()
said = {"before": before, "after": size(LlamaForCausalLM.from_pretrained("saved.0"))}
with open(f"said.{accelerator.process_index}.json", "w") as file: json.dump(said, file)
accelerator.wait_for_everyone()
os._exit(0)
"""


@pytest.mark.heavy
@pytest.mark.parametrize("zero", [2, 3])
def test_zero_3_shards_weights_while_they_load(zero: int, tmp_path: Path) -> None:
    _, output, said = _launch(tmp_path, _files(zero), program=_LOAD)
    assert len(said) == 2, output
    for one in said:
        assert one["before"][0] == one["before"][1] == one["after"][1]
        assert (one["after"][0] < one["after"][1]) is (zero == 3)


def _broken(files: Mapping[str, str], top: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, str]:
    whole = yaml.safe_load(files["accelerate.yaml"]) | dict(top)
    theirs = json.loads(files["ds_config.json"]) | dict(config)
    return {"accelerate.yaml": yaml.safe_dump(whole), "ds_config.json": json.dumps(theirs)}


_ADAM = {"type": "AdamW", "params": {"lr": 1e-5}}


@pytest.mark.parametrize(
    ("top", "config", "words"),
    [
        ({"num_proceses": 2}, {}, "num_proceses"),
        ({"deepspeed_config": {"deepspeed_config_file": "other.json"}}, {}, "existing deepspeed config"),
        pytest.param({"mixed_precision": "bf16"}, {}, "will be ignored", marks=pytest.mark.heavy),
        pytest.param({}, {"train_batch_size": 5}, "train_batch_size", marks=pytest.mark.heavy),
        pytest.param({}, {"optimizer": _ADAM}, "cannot specify an optimizer", marks=pytest.mark.heavy),
        pytest.param({}, {"zero_optimization": {"stage": 2, "reduce_bucket_sice": 5}}, "sice", marks=pytest.mark.heavy),
    ],
    ids=str,
)
def test_broken_files_are_refused(top: dict[str, Any], config: dict[str, Any], words: str, tmp_path: Path) -> None:
    code, output, said = _launch(tmp_path, _broken(_files(2), top, config))
    assert code != 0
    assert not said
    assert words in output


@pytest.mark.heavy
def test_without_accumulate_each_pass_is_a_step(tmp_path: Path) -> None:
    """What the file tells the script to do is needed: accelerate overrides the number in ds_config.json."""
    program = _TRAIN.replace("accelerator.accumulate(model)", "nullcontext()")
    _, output, said = _launch(tmp_path, _files(2), program=program)
    assert [one["steps"] for one in said] == [4, 4], output


@pytest.mark.heavy
def test_accelerate_on_the_cpu_leaves_deepspeed_out(tmp_path: Path) -> None:
    """Why the file of a machine without GPUs names another variable for DeepSpeed."""
    _, output, said = _launch(tmp_path, _files(2), ACCELERATE_USE_CPU="true")
    assert [(one["type"], one["precision"]) for one in said] == [("MULTI_CPU", "no")] * 2, output


@pytest.mark.heavy
def test_weights_loaded_in_bf16_stay_so_without_a_word(tmp_path: Path) -> None:
    """Why an fp32 plan asks the script for fp32 weights: DeepSpeed neither casts nor refuses others."""
    program = _TRAIN.replace("optimizer = torch.optim", "model.bfloat16()\noptimizer = torch.optim", 1)
    _, output, said = _launch(tmp_path, _files(2, precision="fp32"), program=program)
    assert [(one["precision"], one["kind"]) for one in said] == [("no", "torch.bfloat16")] * 2, output
