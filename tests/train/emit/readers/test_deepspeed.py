from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.train.emit.keys_deepspeed import KEYS, unknown
from rocdoctor.train.emit.targets import Order, deepspeed
from tests.train.emit.plan_kit import fleet, plan
from tests.train.emit.readers import venvs

pytestmark = pytest.mark.reader

TINY = {"name": "tiny", "layers": 2, "hidden": 32, "heads": 4, "ffn": 64, "vocab": 64}

# Reads each file as DeepSpeed does; prints what it asked of the mapping, or why it refused.
_READ = """
import json, sys
from deepspeed.runtime.config import DeepSpeedConfig
asked = {}
class Recorder(dict):
    name = ""
    def note(self, key): asked.setdefault(self.name, set()).add(key)
    def get(self, key, default=None): self.note(key); return super().get(key, default)
    def __getitem__(self, key): self.note(key); return super().__getitem__(key)
    def __contains__(self, key): self.note(key); return super().__contains__(key)
def recorder(name, values):
    out = Recorder(values); out.name = name; return out
for path in sys.argv[1:]:
    asked.clear()
    values = json.load(open(path))
    for name in ("data_types", "optimizer"):
        if name in values: values[name] = recorder(name, values[name])
    try:
        config = DeepSpeedConfig(recorder("", values))
        said = {"stage": config.zero_optimization_stage, "micro": config.train_micro_batch_size_per_gpu,
                "accumulate": config.gradient_accumulation_steps, "bf16": config.bfloat16_config.enabled,
                "bucket": config.zero_config.reduce_bucket_size, "live": config.zero_config.max_live_parameters,
                "gradients": config.grad_accum_dtype, "optimizer": config.optimizer_name,
                "asked": {name: sorted(keys) for name, keys in asked.items()}}
    except Exception as problem:
        said = {"refused": type(problem).__name__ + ": " + str(problem)}
    print("RESULT " + json.dumps(said), flush=True)
"""

# Trains with each file in turn; gradients are synchronised if the ranks, which see different data, keep equal weights.
_TRAIN = """
import json, os, sys
import torch, torch.distributed as dist
import deepspeed
from deepspeed.utils import safe_get_full_fp32_param
deepspeed.init_distributed("gloo")
for path in sys.argv[1:]:
    config = json.load(open(path))
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[torch.nn.Linear(32, 32) for _ in range(4)])
    start = float(model[0].weight.detach().double().sum())
    engine, *_ = deepspeed.initialize(model=model, model_parameters=list(model.parameters()), config=config)
    kind = torch.bfloat16 if "bf16" in config else torch.float16 if "fp16" in config else torch.float32
    torch.manual_seed(dist.get_rank())
    for _ in range(2 * config["gradient_accumulation_steps"]):
        data = torch.randn(config["train_micro_batch_size_per_gpu"], 32, dtype=kind)
        engine.backward(engine(data).float().pow(2).mean())
        engine.step()
    first = next(engine.module.parameters())
    whole = safe_get_full_fp32_param(first) if engine.zero_optimization_stage() else first.detach()
    mine = torch.tensor([whole.double().sum().item()])
    all_of_them = [torch.zeros_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(all_of_them, mine)
    said = {"world": dist.get_world_size(), "stage": engine.zero_optimization_stage(), "steps": engine.global_steps,
            "equal": len({float(one) for one in all_of_them}) == 1, "moved": abs(float(mine) - start) > 1e-6,
            "optimizer": type(engine.basic_optimizer).__name__,
            "bucket": getattr(engine.optimizer, "reduce_bucket_size", None)}
    if dist.get_rank() == 0: print("RESULT " + json.dumps(said), flush=True)
dist.barrier()
os._exit(0)
"""


def _config(zero: int, parallel: dict[str, Any] | None = None, model: Any = TINY, **fields: Any) -> dict[str, Any]:
    sizes = {"dp": 2, "zero": zero} | (parallel or {})
    made = plan(fleet(per_node=2), model, framework="deepspeed", parallel=sizes, seq=fields.pop("seq", 16), **fields)
    assert deepspeed.refuses(made.work) is None
    read: dict[str, Any] = json.loads(deepspeed.files(made, Order())[0].text)
    return read


def _ask(program: str, folder: Path, configs: Sequence[dict[str, Any]], *words: str) -> list[dict[str, Any]]:
    python = venvs.reader("deepspeed")
    (folder / "ask.py").write_text(program)
    paths = [folder / f"{number}.json" for number in range(len(configs))]
    for path, config in zip(paths, configs, strict=True):
        path.write_text(json.dumps(config))
    environment = {"DS_ACCELERATOR": "cpu"}
    command: list[str | Path] = [python, *words, folder / "ask.py", *paths]
    done = venvs.run(command, deadline_s=1800, cwd=folder, environment=environment)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert len(lines) == len(configs), done.stdout[-2000:] + done.stderr[-4000:]
    return [json.loads(line.removeprefix("RESULT ")) for line in lines]


def test_deepspeed_reads_every_key_that_we_write(tmp_path: Path) -> None:
    configs = [
        _config(0),
        _config(1, micro_batch=3),
        _config(2, grad_accum=4),
        _config(3),
        _config(2, precision="fp16"),
        _config(3, {"offload": True}),
        _config(2, {"offload_optimizer": "cpu"}),
        _config(2, precision="fp32"),
        _config(2, optimizer="momentum"),
        _config(3, model="llama-3.1-8b", seq=8192),
    ]
    for config in configs:
        config["train_batch_size"] //= 2  # without a process group it believes itself alone
    said = _ask(_READ, tmp_path, configs)
    for config, one in zip(configs, said, strict=True):
        assert "refused" not in one, one
        assert one["stage"] == config["zero_optimization"]["stage"]
        assert one["micro"] == config["train_micro_batch_size_per_gpu"]
        assert one["accumulate"] == config["gradient_accumulation_steps"]
        assert one["bf16"] == ("bf16" in config)
        assert one["gradients"] == config["data_types"]["grad_accum_dtype"]
        assert one["optimizer"].lower() == config["optimizer"]["type"].lower()
        assert set(config["data_types"]) <= set(one["asked"]["data_types"])
        assert set(config["optimizer"]) <= set(one["asked"]["optimizer"])
        assert set(config) <= set(one["asked"][""])
    assert (said[-1]["bucket"], said[-1]["live"]) == (5e8, 1e9)
    # Our table holds nothing that DeepSpeed does not read; the scheduler is asked for only with an optimizer's name.
    assert set(KEYS[""]) - {"scheduler"} <= set(said[0]["asked"][""])


def test_broken_files_are_refused_by_deepspeed_or_by_our_table(tmp_path: Path) -> None:
    good = _config(2) | {"train_batch_size": 1}
    theirs = [
        good | {"zero_optimization": {"stage": 2, "reduce_bucket_sice": 5}},
        good | {"zero_optimization": {"stage": 4}},
        good | {"zero_optimization": {"stage": 2, "reduce_bucket_size": "large"}},
        good | {"bf16": {"enable": True}},
        good | {"train_batch_size": 7},
        good | {"fp16": {"enabled": True}},
    ]
    for config, one in zip(theirs, _ask(_READ, tmp_path, theirs), strict=True):
        assert "refused" in one, config
    ours = [good | {"zero_optimisation": {"stage": 3}}, good | {"data_types": {"grad_acum_dtype": "fp32"}}]
    for config, one in zip(ours, _ask(_READ, tmp_path, ours), strict=True):
        assert "refused" not in one, config
        assert unknown(config), config


@pytest.mark.heavy
def test_two_ranks_train_with_every_stage_and_offload(tmp_path: Path) -> None:
    configs = [
        _config(0),
        _config(1),
        _config(2, grad_accum=2),
        _config(3),
        _config(1, {"offload_optimizer": "cpu"}),
        _config(2, {"offload_optimizer": "cpu"}),
        _config(3, {"offload": True}),
        _config(2, precision="fp32"),
        _config(2, optimizer="momentum"),
    ]
    for config in configs:
        config["optimizer"]["params"]["lr"] = 0.1  # so that two steps move 16-bit weights
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    for config, one in zip(configs, _ask(_TRAIN, tmp_path, configs, *launcher), strict=True):
        zero = config["zero_optimization"]
        assert (one["world"], one["stage"], one["steps"]) == (2, zero["stage"], 2)
        assert one["equal"]
        assert one["moved"]
        expected = "SGD" if config["optimizer"]["type"] == "SGD" else "Adam"
        assert expected in one["optimizer"]
        assert ("CPUAdam" in one["optimizer"]) == ("offload_optimizer" in zero)
        if zero["stage"]:
            assert one["bucket"] == zero["reduce_bucket_size"]
