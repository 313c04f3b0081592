"""torchtitan 0.3.0 reads what is emitted for it, and builds the model that the plan counted."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.targets.torchtitan import program, refuses
from rocdoctor.train.recommend.model.models import read_model
from rocdoctor.train.recommend.model.shapes import counted_parameters
from rocdoctor.train.recommend.model.torchtitan_code import FLAVOURS
from rocdoctor.train.recommend.plan import Plan
from tests.train.emit.plan_kit import fleet, plan
from tests.train.emit.readers.venvs import reader

pytestmark = pytest.mark.reader
_READ = Path(__file__).parent / "read_torchtitan.py"

_PLANS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tensor": {"parallel": {"tp": 8}, "recompute": "selective-op", "micro_batch": 2},
    "no sequence parallel": {"parallel": {"tp": 2, "sp": False}},
    "compiled": {"compile": True, "fused_ce": "compiled", "parallel": {"tp": 2, "async_tp": True}},
    "compiled model": {"compile": True},
    "pipeline": {"parallel": {"pp": 4}, "grad_accum": 8, "micro_batch": 2, "recompute": "full"},
    "interleaved": {"parallel": {"pp": 4, "vpp": 4, "schedule": "interleaved"}, "grad_accum": 8},
    "uneven": {"model": "qwen3-30b-a3b", "parallel": {"pp": 4, "vpp": 2}, "grad_accum": 8},
    "zbv": {"parallel": {"pp": 4, "schedule": "zbv"}, "grad_accum": 8},
    "gpipe": {"parallel": {"pp": 2, "schedule": "gpipe"}, "grad_accum": 4},
    "context": {"parallel": {"cp": 4}, "seq": 32_768},
    "copies": {"where": fleet(nodes=2), "parallel": {"fsdp": 8, "replicate": 2}},
    "experts": {"model": "qwen3-30b-a3b", "parallel": {"ep": 8}},
    "experts and tensor": {"model": "gpt-oss-120b", "parallel": {"ep": 8, "tp": 2}, "recompute": "full"},
    "latent": {"model": "deepseek-v3", "where": fleet(nodes=16), "parallel": {"ep": 8, "pp": 4}, "grad_accum": 4},
    "offload": {"parallel": {"offload": True}, "precision": "pure bf16"},
    "fp32": {"precision": "fp32", "seq": 2052},
}
_BROKEN: dict[str, tuple[list[str], str]] = {
    "misspelt option": (["--parallelism.tensor_parallel_degre", "2"], "Unrecognized"),
    "misspelt policy": (["activation-checkpoint:partial"], "activation-checkpoint:partial"),
    "a word for a number": (["--training.seq_len", "long"], "seq"),
    "a dtype that is none": (["--training.dtype", "fp16"], "dtype"),
    "a pipeline with CUDA graphs": (
        ["--parallelism.pipeline_parallel_degree", "2", "--training.no_disable_cuda_graphs"],
        "CUDA graphs",
    ),
    "a micro-batch that does not divide": (
        [
            "--parallelism.pipeline_parallel_degree",
            "2",
            "--parallelism.pipeline_parallel_microbatch_size",
            "3",
            "--training.local_batch_size",
            "4",
            "--training.disable_cuda_graphs",
        ],
        "evenly divisible",
    ),
    "overlap without compile": (["--compile.enable_async_tensor_parallel"], "Async TP"),
}


def _plan(fields: dict[str, Any]) -> Plan:
    return plan(**{"framework": "torchtitan", "recompute": "none", **fields})


def _words(one: Plan) -> list[str]:
    assert refuses(one.work) is None
    words = [word for argument in program(one, Order()) for word in argument.words]
    assert words[:2] == ["-m", "torchtitan.train"]
    return words[2:]


@cache
def _answers() -> dict[str, dict[str, Any]]:
    """What torchtitan makes of all command lines, asked once: importing it takes ten seconds."""
    python = reader("torchtitan")
    start = ["--module", "llama3", "--config", "llama3_8b"]
    lines = {name: _words(_plan(fields)) for name, fields in _PLANS.items()}
    lines |= {name: [*start, *words] for name, (words, _) in _BROKEN.items()}
    lines |= {name: _words(_plan({"model": name})) for name in FLAVOURS}
    # The stand-ins lie beside the program, so python finds them without a variable.
    asked = json.dumps(list(lines.values()))
    done = subprocess.run([python, "-W", "ignore", _READ], input=asked, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(zip(lines, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("name", _PLANS)
def test_it_reads_a_plan_as_it_was_meant(name: str) -> None:
    one = _plan(_PLANS[name])
    found = _answers()[name]
    assert "error" not in found, found
    work, sizes = one.work, one.work.parallel
    read, training, compiled = found["parallelism"], found["training"], found["compile"]
    assert found["layout"] == ""
    assert found["ranks"] == work.gpus
    assert read["tensor_parallel_degree"] == sizes.tp and read["pipeline_parallel_degree"] == sizes.pp
    assert read["context_parallel_degree"] == sizes.cp and read["expert_parallel_degree"] == sizes.ep
    assert read["data_parallel_shard_degree"] * sizes.cp == sizes.shard
    assert read["enable_sequence_parallel"] == (sizes.sequence or sizes.tp == 1)
    assert training["seq_len"] == work.seq and training["disable_cuda_graphs"]
    assert training["global_batch_size"] == one.global_batch
    passes = one.global_batch // (training["local_batch_size"] * sizes.dp)
    if sizes.pp > 1:
        assert passes == 1
        assert read["pipeline_parallel_microbatch_size"] == work.micro_batch
        assert training["local_batch_size"] == work.micro_batch * work.microbatches
        assert len(found["stages"]) == sizes.pp * sizes.chunks
        fullest = max(sum(found["stages"][stage] for stage in rank) for rank in found["placement"])
        assert fullest == -(-work.model.layers // sizes.pp)
        assert found["schedule"] == sizes.pp * sizes.chunks
    else:
        assert passes == work.microbatches and training["local_batch_size"] == work.micro_batch
    assert compiled["enable"] == (work.compile or work.loss == "compiled")
    assert not compiled["enable"] or ("model" in compiled["components"]) == work.compile
    assert not compiled["enable"] or ("loss" in compiled["components"]) == (work.loss == "compiled")
    assert compiled["enable_async_tensor_parallel"] == sizes.async_tp
    assert training["enable_cpu_offload"] == sizes.offload_weights == sizes.offload_optimizer
    assert training["mixed_precision_reduce"] == "float32"
    assert training["dtype"] == ("bfloat16" if work.pure_bf16 else "float32")
    assert training["mixed_precision_param"] == ("float32" if work.precision == "fp32" else "bfloat16")
    assert found["policy"] == {"none": None, "full": "FullAC", "selective-op": "SelectiveAC"}[work.recompute]
    assert found["optimizer"] == {"implementation": "fused", "names": ["AdamW"]}
    assert (work.seq // sizes.cp) % found["loss"]["num_chunks"] == 0


@pytest.mark.parametrize("name", FLAVOURS)
def test_its_configuration_has_the_sizes_of_the_preset(name: str) -> None:
    found = _answers()[name]
    assert "error" not in found, found
    model, built = read_model(name, []), found["model"]
    assert (built["layers"], built["hidden"], built["vocab"]) == (model.layers, model.hidden, model.vocab)
    assert built["longest"] == FLAVOURS[name].longest
    # torchtitan keeps the biases that balance experts in buffers.
    biases = (model.layers - model.dense_layers) * model.experts if model.router_bias else 0
    assert built["parameters"] == counted_parameters(model) - biases


@pytest.mark.parametrize("name", _BROKEN)
def test_it_refuses_a_broken_command(name: str) -> None:
    said = " ".join(str(_answers()[name].get("error")).split())
    assert _BROKEN[name][1] in said
