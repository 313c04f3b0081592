"""The parser of megatron-core 0.19.2 reads what is emitted for it, and counts the model that the plan counted."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.targets.megatron import program, refuses
from rocdoctor.train.recommend.model.shapes import counted_parameters
from rocdoctor.train.recommend.plan import Plan
from tests.train.emit.plan_kit import fleet, plan
from tests.train.emit.readers.venvs import reader

pytestmark = pytest.mark.reader
_READ = Path(__file__).parent / "read_megatron.py"
_OWN = {
    "$DATA_PATH": "/d/text",
    "$TOKENIZER_MODEL": "/t",
    "$TRAIN_ITERS": "10",
    "$LEARNING_RATE": "1e-4",
    "$ROTARY_BASE": "10000",
    "$NORM_EPSILON": "1e-5",
}
_TOLD = (
    "num_layers",
    "hidden_size",
    "ffn_hidden_size",
    "num_attention_heads",
    "num_query_groups",
    "kv_channels",
    "swiglu",
    "normalization",
    "qk_layernorm",
    "add_bias_linear",
    "add_qkv_bias",
    "untie_embeddings_and_output_weights",
    "padded_vocab_size",
    "hidden_dropout",
    "attention_dropout",
    "position_embedding_type",
    "num_experts",
    "moe_router_topk",
    "moe_ffn_hidden_size",
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
    "tensor_model_parallel_size",
    "sequence_parallel",
    "pipeline_model_parallel_size",
    "context_parallel_size",
    "virtual_pipeline_model_parallel_size",
    "data_parallel_size",
    "use_distributed_optimizer",
    "seq_length",
    "num_distributed_optimizer_instances",
    "micro_batch_size",
    "global_batch_size",
    "bf16",
    "fp16",
    "fp8",
    "fp8_param_gather",
    "accumulate_allreduce_grads_in_fp32",
    "recompute_granularity",
    "recompute_method",
    "recompute_num_layers",
    "recompute_modules",
    "attention_backend",
    "optimizer",
    "optimizer_cpu_offload",
    "cross_entropy_loss_fusion",
    "cuda_graph_impl",
    "transformer_impl",
    "decoder_last_pipeline_num_layers",
    "overlap_grad_reduce",
    "overlap_param_gather",
    "use_torch_fsdp2",
    "use_megatron_fsdp",
    "main_grads_dtype",
    "exp_avg_dtype",
    "exp_avg_sq_dtype",
    "main_params_dtype",
    "tp_comm_overlap",
    "use_precision_aware_optimizer",
    "fp32_residual_connection",
    "multi_latent_attention",
    "q_lora_rank",
    "kv_lora_rank",
    "qk_head_dim",
    "qk_pos_emb_head_dim",
    "v_head_dim",
    "moe_layer_freq",
    "moe_shared_expert_intermediate_size",
    "mtp_num_layers",
)
_OWN_MODEL = {"name": "own", "layers": 30, "hidden": 4096, "heads": 32, "ffn": 11_008, "vocab": 50_257, "gated": True}

_PLANS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tensor": {"parallel": {"tp": 8}, "recompute": "selective", "micro_batch": 2},
    "overlap": {"parallel": {"tp": 4, "async_tp": True}},
    "no sequence parallel": {"parallel": {"tp": 2, "sp": False}},
    "no sharding": {"parallel": {"dist_opt": False}},
    "pipeline": {"parallel": {"pp": 4}, "grad_accum": 8, "micro_batch": 2, "recompute": "full"},
    "interleaved": {"parallel": {"pp": 4, "vpp": 4}, "grad_accum": 8, "recompute": "full", "recompute_layers": 4},
    "two stages, interleaved": {"parallel": {"pp": 2, "vpp": 2}, "grad_accum": 4},
    "uneven": {"model": _OWN_MODEL, "parallel": {"pp": 4, "tp": 2}, "grad_accum": 8},
    "context": {"parallel": {"cp": 4, "tp": 2}, "seq": 32_768},
    "copies": {"where": fleet(nodes=2), "parallel": {"fsdp": 8, "replicate": 2}},
    "experts": {"model": "mixtral-8x7b", "parallel": {"ep": 4, "tp": 2}},
    "many experts": {
        "model": "qwen3-30b-a3b",
        "where": fleet(nodes=2),
        "parallel": {"ep": 8, "pp": 2},
        "grad_accum": 4,
    },
    "latent": {
        "model": "deepseek-v3",
        "where": fleet(nodes=16),
        "parallel": {"ep": 8, "tp": 2, "pp": 8},
        "grad_accum": 8,
    },
    "latent without query rank": {"model": "deepseek-v2-lite", "parallel": {"ep": 8}},
    "fp8": {"precision": "fp8", "parallel": {"tp": 2}},
    "fp16": {"precision": "fp16"},
    "fp32": {"precision": "fp32", "attention": "eager"},
    "tied": {"model": "llama-3.2-1b"},
    "biases": {"model": "qwen2.5-7b", "parallel": {"tp": 4}},
    "many heads": {"model": "llama-2-13b"},
    "plain feed-forward": {
        "model": {
            "name": "gpt",
            "layers": 24,
            "hidden": 2048,
            "heads": 16,
            "vocab": 50_304,
            "gated": False,
            "bias": True,
            "norm": "layer",
            "ffn": 8192,
            "tied": True,
        },
    },
}
_BROKEN: dict[str, tuple[dict[str, Any], Sequence[str], str]] = {
    "misspelt option": ({}, ("--tensor-model-parallel-sise", "2"), "unrecognized arguments"),
    "a word for a number": ({}, ("--micro-batch-size", "two"), "invalid int value"),
    "a recompute that is none": ({}, ("--recompute-granularity", "some"), "invalid choice"),
    "a size that does not divide the ranks": ({}, ("--pipeline-model-parallel-size", "3"), "is not divisible"),
    "heads that tp does not divide": ({"parallel": {"tp": 8}}, ("--num-attention-heads", "30"), "must be a multiple"),
    "full recompute without a method": ({}, ("--recompute-granularity", "full"), "recompute_method must be"),
    "fp8 weights without sharding": (
        {"parallel": {"dist_opt": False}},
        ("--fp8-format", "hybrid", "--fp8-param-gather"),
        "only supported with",
    ),
    "two precisions": ({}, ("--fp16",), "AssertionError"),
    "experts that do not divide": (
        {"model": "mixtral-8x7b"},
        ("--expert-model-parallel-size", "3"),
        "multiple of expert",
    ),
    "parameters gathered without sharding": (
        {"parallel": {"dist_opt": False}},
        ("--overlap-param-gather",),
        "only supported with distributed optimizer",
    ),
}


def _plan(fields: dict[str, Any]) -> Plan:
    return plan(**{"framework": "megatron", "recompute": "none", **fields})


def _words(one: Plan) -> list[str]:
    assert refuses(one.work) is None
    words = [_OWN.get(word, word) for argument in program(one, Order(), variables=True) for word in argument.words]
    assert words[0] == "pretrain_gpt.py" and not any("$" in word for word in words)
    return words[1:]


@cache
def _answers() -> dict[str, dict[str, Any]]:
    """What Megatron makes of all command lines, asked once: importing it takes ten seconds."""
    python = reader("megatron")
    asked: dict[str, Any] = {}
    for name, fields in _PLANS.items():
        one = _plan(fields)
        asked[name] = [_words(one), one.work.gpus, _TOLD]
    for name, (fields, words, _) in _BROKEN.items():
        one = _plan(fields)
        asked[name] = [[*_words(one), *words], one.work.gpus, ()]
    text = json.dumps(list(asked.values()))
    done = subprocess.run([python, "-W", "ignore", _READ], input=text, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(zip(asked, json.loads(done.stdout), strict=True))


def _wanted(one: Plan) -> dict[str, Any]:
    """Megatron's arguments as the estimate of the plan means them."""
    work, model, sizes = one.work, one.work.model, one.work.parallel
    latent = model.latent
    half = {"bf16": "bf16", "fp8": "bf16", "fp16": "fp16"}.get(work.precision)
    again = work.recompute_layers
    return {
        "num_layers": model.layers,
        "hidden_size": model.hidden,
        "ffn_hidden_size": model.ffn,
        "num_attention_heads": model.heads,
        "swiglu": model.gated,
        "add_bias_linear": model.bias,
        "normalization": "LayerNorm" if model.norm == "layer" else "RMSNorm",
        "qk_layernorm": model.qk_norm or latent is not None,
        "add_qkv_bias": model.bias or model.attn_bias,
        "untie_embeddings_and_output_weights": not model.tied,
        "hidden_dropout": 0.0,
        "attention_dropout": 0.0,
        "padded_vocab_size": -(-model.vocab // sizes.tp) * sizes.tp,
        "position_embedding_type": "rope",
        "tensor_model_parallel_size": sizes.tp,
        "sequence_parallel": sizes.sequence,
        "tp_comm_overlap": sizes.async_tp,
        "pipeline_model_parallel_size": sizes.pp,
        "context_parallel_size": sizes.cp,
        "data_parallel_size": sizes.dp,
        "virtual_pipeline_model_parallel_size": sizes.chunks if sizes.pp > 1 and sizes.chunks > 1 else None,
        "expert_model_parallel_size": sizes.ep,
        "expert_tensor_parallel_size": sizes.tp,
        "use_distributed_optimizer": sizes.zero == 1,
        "use_torch_fsdp2": False,
        "use_megatron_fsdp": False,
        "num_distributed_optimizer_instances": sizes.dp * sizes.cp // sizes.shard if sizes.zero else 1,
        "overlap_grad_reduce": sizes.dp * sizes.cp > 1,
        "overlap_param_gather": sizes.zero == 1 and sizes.dp * sizes.cp > 1,
        "seq_length": work.seq,
        "micro_batch_size": work.micro_batch,
        "global_batch_size": work.micro_batch * work.microbatches * sizes.dp,
        "bf16": half == "bf16",
        "fp16": half == "fp16",
        "fp8": "hybrid" if work.precision == "fp8" else None,
        "fp8_param_gather": work.precision == "fp8",
        "accumulate_allreduce_grads_in_fp32": half is not None,
        "main_grads_dtype": "torch.float32",
        "main_params_dtype": "torch.float32",
        "exp_avg_dtype": "torch.float32",
        "exp_avg_sq_dtype": "torch.float32",
        "use_precision_aware_optimizer": False,
        "fp32_residual_connection": False,
        "recompute_granularity": None if work.recompute == "none" else work.recompute,
        "recompute_method": None if work.recompute != "full" else "uniform" if again is None else "block",
        "recompute_num_layers": None if work.recompute != "full" else 1 if again is None else again // sizes.chunks,
        "recompute_modules": ["core_attn"] if work.recompute == "selective" else None,
        "attention_backend": "AttnBackend." + ("fused" if work.flash else "unfused"),
        "optimizer": "adam",
        "optimizer_cpu_offload": False,
        "cross_entropy_loss_fusion": False,
        "mtp_num_layers": None,
        "cuda_graph_impl": "none",
        "transformer_impl": "transformer_engine",
        "num_experts": model.experts or None,
        "multi_latent_attention": latent is not None,
    }


def _of_experts(one: Plan) -> dict[str, Any]:
    model = one.work.model
    layers = [int(layer >= model.dense_layers) for layer in range(model.layers)]
    return {
        "moe_router_topk": model.top_k,
        "moe_ffn_hidden_size": model.expert_ffn,
        "moe_layer_freq": layers if model.dense_layers else 1,
        "moe_shared_expert_intermediate_size": model.shared_experts * model.expert_ffn or None,
    }


@pytest.mark.parametrize("name", _PLANS)
def test_it_reads_a_plan_as_it_was_meant(name: str) -> None:
    one = _plan(_PLANS[name])
    found = _answers()[name]
    assert "error" not in found, found
    model, sizes = one.work.model, one.work.parallel
    wanted = _wanted(one)
    if model.experts:
        wanted |= _of_experts(one)
    if model.latent is not None:
        latent = model.latent
        wanted |= {
            "q_lora_rank": latent.q_rank or None,
            "kv_lora_rank": latent.kv_rank,
            "qk_head_dim": latent.nope,
            "qk_pos_emb_head_dim": latent.rope,
            "v_head_dim": latent.v,
        }
    else:
        wanted |= {"kv_channels": model.head_dim}
        groups = found["config"]["num_query_groups"]
        assert (model.heads if groups is None else groups) == model.kv_heads
    assert {key: found[key] for key in wanted} == wanted
    last = found["decoder_last_pipeline_num_layers"]
    if last is not None:
        assert (model.layers - last) % (sizes.pp - 1) == 0
        assert max(last, (model.layers - last) // (sizes.pp - 1)) == -(-model.layers // sizes.pp)


@pytest.mark.parametrize("name", _PLANS)
def test_it_counts_the_parameters_that_the_plan_counted(name: str) -> None:
    # Megatron's own estimate: billions with two digits, without biases and norms of single heads.
    found = _answers()[name]
    model = _plan(_PLANS[name]).work.model
    assert found["parameters"] == pytest.approx(counted_parameters(model), rel=0.005, abs=0.006e9)


@pytest.mark.parametrize("name", _BROKEN)
def test_it_refuses_a_broken_command(name: str) -> None:
    said = " ".join(str(_answers()[name].get("error")).split())
    assert _BROKEN[name][2] in said
