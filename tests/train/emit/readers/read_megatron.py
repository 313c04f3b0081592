"""Run by Megatron's environment: reads command lines as ``pretrain_gpt.py`` does and prints what came of them as JSON.

Standard input is a list of [words, number of ranks, arguments to tell].
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from importlib import import_module
from typing import Any


def _read(words: list[str], ranks: int, told: list[str]) -> dict[str, Any]:
    """The arguments after Megatron's own checks, or why it refuses the words."""
    parser = import_module("megatron.training.arguments")
    os.environ["WORLD_SIZE"] = str(ranks)
    sys.argv = ["pretrain_gpt.py", *words]
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            arguments = parser.parse_args()
            parser.validate_args(arguments)
            config = parser.core_transformer_config_from_args(arguments)
            parameters = _parameters(arguments)
    except SystemExit:
        return {"error": said.getvalue()}
    except Exception as problem:
        return {"error": f"{type(problem).__name__}: {problem}"}
    found = {name: getattr(arguments, name) for name in told}
    found["parameters"] = parameters
    found["config"] = {
        name: getattr(config, name)
        for name in ("num_layers", "hidden_size", "num_query_groups", "recompute_granularity", "fp8", "bf16", "fp16")
    }
    return found


def _parameters(arguments: Any) -> float:
    """Parameters of the whole model by Megatron's own count."""
    module = import_module("megatron.training.theoretical_memory_usage")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        module.compute_weight_and_optimizer_memory(arguments, verbose=True)
    line = next(one for one in said.getvalue().splitlines() if one.startswith("Total number of parameters in billions"))
    return float(line.rpartition(":")[2]) * 1e9


def _machine() -> None:
    """What Megatron's parser asks of a machine: the generation of its GPU, and Transformer Engine."""
    utils: Any = import_module("megatron.core.utils")
    utils._te_version = import_module("packaging.version").Version("2.9.0")
    rope: Any = import_module("megatron.core.models.common.embeddings.rope_utils")
    rope.fused_apply_rotary_pos_emb = rope.fused_apply_rotary_pos_emb_thd = print
    torch: Any = import_module("torch")
    torch.cuda.get_device_capability = lambda *device: (9, 0)
    torch.cuda.get_device_properties = lambda *device: type("Properties", (), {"major": 9, "minor": 0})()


if __name__ == "__main__":
    import_module("stand_in").install()
    _machine()
    os.environ |= {"RANK": "0", "CUDA_DEVICE_MAX_CONNECTIONS": "1"}
    json.dump([_read(*one) for one in json.load(sys.stdin)], sys.stdout, default=str)
