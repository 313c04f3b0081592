from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.train.emit.targets import Order, axolotl
from rocdoctor.train.recommend.plan import Method
from tests.train.emit.plan_kit import fleet, plan
from tests.train.emit.readers import venvs

pytestmark = pytest.mark.reader

# What axolotl's own command line and checker make of the file and of the script's words: impossible values end it, and
# keys that its model does not have are told.
_READ = """
import json, sys, fire, yaml
from axolotl.integrations.base import PluginManager
from axolotl.integrations.liger.args import LigerArgs
from axolotl.utils.config import validate_config
from axolotl.utils.dict import DictDefault
from axolotl.utils.schemas.config import AxolotlInputConfig

def read(config, **more):
    own = yaml.safe_load(open(config))
    for name in own.get("plugins", []):  # as its command line does before it checks
        PluginManager.get_instance().register(name)
    here = {"bf16": True, "fp8": False, "tf32": False, "n_gpu": 2, "compute_capability": "sm_90"}
    got = validate_config(DictDefault({**own, **more}), capabilities=here, env_capabilities={"torch_version": "2.13.0"})
    unknown = sorted(set(own) - set(AxolotlInputConfig.model_fields) - set(LigerArgs.model_fields))
    json.dump({"got": {key: got.get(key) for key in (*own, *more, "lora_qkv_kernel")}, "unknown": unknown}, sys.stdout)

fire.Fire(read)
"""


def _read(folder: Path, method: Method, **fields: Any) -> dict[str, Any]:
    made = plan(fleet(per_node=2), method=method, framework="ddp transformers", parallel={"dp": 2}, **fields)
    assert axolotl.refuses(made.work) is None
    (folder / "axolotl.yaml").write_text(axolotl.files(made, Order())[0].text)
    (folder / "read.py").write_text(_READ)
    given = {"MODEL": "m", "DATASET": "d/e", "DATASET_TYPE": "alpaca", "LEARNING_RATE": "2e-4", "OUTPUT": "out"}
    words = [word for one in axolotl.program(Order()) for word in one.words][2:]
    command = " ".join(f'"{word}"' if "$" in word else word for word in words)
    line = f"{shlex.quote(str(venvs.reader('axolotl')))} read.py {command}"
    done = venvs.run(["sh", "-c", line], deadline_s=200, cwd=folder, environment=given)
    assert done.returncode == 0, done.stderr[-3000:]
    read: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    assert read["unknown"] == []
    got: dict[str, Any] = read["got"]
    return got


def test_adapters_on_four_bits_are_read(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"recompute": "full", "micro_batch": 3, "grad_accum": 2, "lora_rank": 8, "seq": 1024}
    found = _read(tmp_path, "qlora", **fields)
    assert (found["adapter"], found["load_in_4bit"], found["lora_r"], found["lora_alpha"]) == ("qlora", True, 8, 16)
    assert (found["micro_batch_size"], found["gradient_accumulation_steps"], found["sequence_len"]) == (3, 2, 1024)
    assert (found["gradient_checkpointing"], found["bf16"], found["attn_implementation"]) == (True, True, "sdpa")
    assert (found["base_model"], found["output_dir"], float(found["learning_rate"])) == ("m", "out", 2e-4)
    assert (found["datasets"][0]["path"], found["datasets"][0]["type"]) == ("d/e", "alpaca")
    # Kernels of its own stay off where one of them is said to be.
    assert (found["lora_mlp_kernel"], found["lora_qkv_kernel"]) == (False, None)


def test_adapters_on_sixteen_bits_are_read(tmp_path: Path) -> None:
    found = _read(tmp_path, "lora", recompute="none", attention="eager", fused_ce="liger")
    assert (found["adapter"], found["gradient_checkpointing"], found["attn_implementation"]) == ("lora", False, "eager")
    assert (found["plugins"], found["liger_fused_linear_cross_entropy"]) == (
        ["axolotl.integrations.liger.LigerPlugin"],
        True,
    )
    assert (found["optimizer"], found["lora_dropout"], found["lora_target_linear"]) == ("adamw_torch_fused", 0.0, True)
