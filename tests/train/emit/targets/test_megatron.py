from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.train.emit.targets import Order, target
from rocdoctor.train.emit.targets.megatron import FILL_IN, files, program, refuses
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.plan import Plan
from tests.train.emit.plan_kit import fleet, plan
from tests.train.emit.shell_kit import outcome, ran, value

OWN = {"DATA_PATH": "/d/text", "TOKENIZER_MODEL": "/t", "TRAIN_ITERS": "10", "LEARNING_RATE": "1e-4"}
MODEL = {"ROTARY_BASE": "10000", "NORM_EPSILON": "1e-5"}


def megatron(**fields: Any) -> Plan:
    return plan(**{"framework": "megatron", "recompute": "none", **fields})


def words_of(one: Plan, folder: Path, **given: str) -> list[str]:
    assert refuses(one.work) is None
    (file,) = files(one, Order())
    assert file.executable
    return ran(file, folder, **OWN, **given)


def test_a_shell_starts_the_model_of_the_plan(tmp_path: Path) -> None:
    words = words_of(megatron(parallel={"tp": 2}, micro_batch=3, grad_accum=2), tmp_path)
    assert words[:7] == [
        "--rdzv-backend",
        "static",
        "--rdzv-endpoint",
        "127.0.0.1:29999",
        "--nproc-per-node",
        "8",
        "pretrain_gpt.py",
    ]
    for option, wanted in (
        ("--num-layers", "32"),
        ("--hidden-size", "4096"),
        ("--ffn-hidden-size", "14336"),
        ("--num-attention-heads", "32"),
        ("--num-query-groups", "8"),
        ("--kv-channels", "128"),
        ("--padded-vocab-size", "128256"),
        ("--rotary-base", "500000"),
        ("--norm-epsilon", "1e-05"),
        ("--seq-length", "8192"),
        ("--max-position-embeddings", "8192"),
        ("--micro-batch-size", "3"),
        ("--global-batch-size", "24"),
        ("--tensor-model-parallel-size", "2"),
        ("--pipeline-model-parallel-size", "1"),
        ("--context-parallel-size", "1"),
        ("--hidden-dropout", "0.0"),
        ("--attention-dropout", "0.0"),
        ("--normalization", "RMSNorm"),
        ("--position-embedding-type", "rope"),
        ("--attention-backend", "fused"),
        ("--optimizer", "adam"),
        ("--data-path", "/d/text"),
        ("--tokenizer-model", "/t"),
        ("--train-iters", "10"),
    ):
        assert value(words, option) == wanted
    for option in (
        "--bf16",
        "--swiglu",
        "--sequence-parallel",
        "--use-distributed-optimizer",
        "--disable-bias-linear",
        "--untie-embeddings-and-output-weights",
        "--overlap-grad-reduce",
        "--overlap-param-gather",
        "--accumulate-allreduce-grads-in-fp32",
    ):
        assert option in words
    assert "--recompute-granularity" not in words and "--num-experts" not in words


def test_without_the_distributed_optimizer_nothing_is_sharded(tmp_path: Path) -> None:
    words = words_of(megatron(parallel={"dist_opt": False}), tmp_path)
    assert "--use-distributed-optimizer" not in words and "--overlap-param-gather" not in words
    assert "--overlap-grad-reduce" in words


def test_moments_of_16_bits_are_asked_for_and_need_the_distributed_optimizer(tmp_path: Path) -> None:
    words = words_of(megatron(optimizer="adamw_bf16_moments"), tmp_path)
    assert "--use-precision-aware-optimizer" in words and "--use-distributed-optimizer" in words
    assert value(words, "--exp-avg-dtype") == value(words, "--exp-avg-sq-dtype") == "bf16"
    assert "--use-precision-aware-optimizer" not in words_of(megatron(), tmp_path)
    with pytest.raises(SpecError, match="nearest: adamw"):
        megatron(optimizer="adamw_bf16_moments", parallel={"dist_opt": False})


def test_sharding_over_fewer_ranks_makes_copies(tmp_path: Path) -> None:
    one = megatron(where=fleet(nodes=2), parallel={"fsdp": 8, "replicate": 2})
    words = words_of(one, tmp_path, NODE_RANK="1", MASTER_ADDR="first")
    assert one.work.parallel.shard == 8
    assert value(words, "--num-distributed-optimizer-instances") == "2"


def test_recompute_of_some_layers_counts_them_in_each_chunk(tmp_path: Path) -> None:
    all_layers = words_of(megatron(recompute="full"), tmp_path)
    assert value(all_layers, "--recompute-method") == "uniform" and value(all_layers, "--recompute-num-layers") == "1"
    sizes = {"pp": 4, "vpp": 2}
    some = words_of(megatron(recompute="full", recompute_layers=4, parallel=sizes, grad_accum=8), tmp_path)
    assert value(some, "--recompute-method") == "block" and value(some, "--recompute-num-layers") == "2"
    assert value(some, "--num-virtual-stages-per-pipeline-rank") == "2"
    attention = words_of(megatron(recompute="selective"), tmp_path)
    assert value(attention, "--recompute-granularity") == "selective"
    assert value(attention, "--recompute-modules") == "core_attn"


def test_uneven_stages_are_those_that_were_estimated(tmp_path: Path) -> None:
    config = {"name": "own", "layers": 30, "hidden": 4096, "heads": 32, "ffn": 11_008, "vocab": 50_257, "gated": True}
    words = words_of(megatron(model=config, parallel={"pp": 4, "tp": 2}, grad_accum=4), tmp_path, **MODEL)
    assert value(words, "--decoder-last-pipeline-num-layers") == "6"  # 8 + 8 + 8 + 6
    assert value(words, "--padded-vocab-size") == "50258"  # two equal parts
    even = words_of(megatron(parallel={"pp": 4}, grad_accum=4), tmp_path)
    assert "--decoder-last-pipeline-num-layers" not in even


def test_experts_and_latent_attention(tmp_path: Path) -> None:
    one = megatron(model="deepseek-v3", where=fleet(nodes=16), parallel={"ep": 8, "tp": 2, "pp": 8}, grad_accum=8)
    words = words_of(one, tmp_path, **MODEL, NODE_RANK="0", MASTER_ADDR="first")
    for option, wanted in (
        ("--num-experts", "256"),
        ("--moe-router-topk", "8"),
        ("--moe-ffn-hidden-size", "2048"),
        ("--moe-layer-freq", "([0]*3+[1]*58)"),
        ("--moe-shared-expert-intermediate-size", "2048"),
        ("--expert-model-parallel-size", "8"),
        ("--expert-tensor-parallel-size", "2"),
        ("--q-lora-rank", "1536"),
        ("--kv-lora-rank", "512"),
        ("--qk-head-dim", "128"),
        ("--qk-pos-emb-head-dim", "64"),
        ("--v-head-dim", "128"),
        ("--attention-backend", "fused"),
        ("--decoder-last-pipeline-num-layers", "5"),
    ):
        assert value(words, option) == wanted
    assert "--moe-router-enable-expert-bias" in words and "--multi-latent-attention" in words
    assert "--group-query-attention" not in words and "--kv-channels" not in words


def test_precision_and_kernels(tmp_path: Path) -> None:
    eight = words_of(megatron(precision="fp8"), tmp_path)
    assert value(eight, "--fp8-format") == "hybrid" and "--fp8-param-gather" in eight and "--bf16" in eight
    half = words_of(megatron(precision="fp16"), tmp_path)
    assert "--fp16" in half and "--bf16" not in half and "--accumulate-allreduce-grads-in-fp32" in half
    whole = words_of(megatron(precision="fp32", attention="eager"), tmp_path)
    assert not {"--fp16", "--bf16"} & set(whole) and value(whole, "--attention-backend") == "unfused"
    # "flash" needs the package flash-attn, and ROCm's Transformer Engine ends without it.
    for named, wanted in (("flash", "fused"), ("cudnn", "fused"), ("flash2", "flash"), ("fa3", "flash")):
        assert value(words_of(megatron(attention=named), tmp_path), "--attention-backend") == wanted


def test_what_only_the_user_knows_stops_the_script_with_a_sentence(tmp_path: Path) -> None:
    file = files(megatron(model="mistral-7b"), Order())[0]
    with pytest.raises(AssertionError, match=r"DATA_PATH: prefix of the \.bin"):
        ran(file, tmp_path)
    with pytest.raises(AssertionError, match="ROTARY_BASE: rope_theta"):
        ran(file, tmp_path, **OWN)
    assert value(ran(file, tmp_path, **OWN, ROTARY_BASE="1e6", NORM_EPSILON="1e-5"), "--rotary-base") == "1e6"


def test_the_variable_that_it_demands_is_exported_where_needed(tmp_path: Path) -> None:
    wide = files(megatron(parallel={"cp": 2}), Order())[0]
    assert outcome(wide, tmp_path, OWN)[1]["CUDA_DEVICE_MAX_CONNECTIONS"] == "1"
    narrow = files(megatron(), Order())[0]
    assert "CUDA_DEVICE_MAX_CONNECTIONS" not in outcome(narrow, tmp_path, OWN)[1]
    assert outcome(narrow, tmp_path, OWN)[1]["OMP_NUM_THREADS"] == "8"


def test_words_of_the_user_are_quoted(tmp_path: Path) -> None:
    order = Order(script="/a b/pretrain_gpt.py", script_arguments=("--save", "$(touch x)"))
    words = ran(files(megatron(), order)[0], tmp_path, **OWN)
    assert words[6] == "/a b/pretrain_gpt.py" and words[-2:] == ["--save", "$(touch x)"]
    hostile = {**OWN, "DATA_PATH": "$(touch x) `touch x`; touch x"}
    assert value(ran(files(megatron(), Order())[0], tmp_path, **hostile), "--data-path") == hostile["DATA_PATH"]
    assert not (tmp_path / "x").exists()


def test_each_argument_has_a_reason() -> None:
    experts = megatron(model="qwen3-30b-a3b", parallel={"ep": 4, "tp": 2}, recompute="full")
    for one in (megatron(), experts, megatron(parallel={"pp": 4, "cp": 2}, grad_accum=4, precision="fp8")):
        assert all(argument.reason.strip() for argument in program(one, Order()))
    text = files(megatron(parallel={"tp": 2}), Order())[0].text
    assert "# all-reduces stay inside one node\n  --tensor-model-parallel-size 2\n" in text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"model": "gemma-7b"}, "gates its feed-forward part with GELU"),
        ({"model": "pythia-6.9b"}, "side by side"),
        ({"model": "gpt-oss-20b"}, "sliding window"),
        ({"model": "mpt-7b", "fused_ce": "none"}, "ALiBi"),
        ({"method": "lora"}, "not adapters"),
        ({"method": "qlora"}, "not adapters"),
        ({"optimizer": "adam8bit"}, "not adam8bit"),
        ({"optimizer": "adafactor"}, "not adafactor"),
        ({"precision": "pure bf16"}, "fp32 master weights"),
        ({"precision": "fp8-rowwise"}, "nearest: fp8"),
        ({"precision": "fp8", "parallel": {"dist_opt": False}}, "nearest: dist_opt true"),
        ({"precision": "fp32"}, "16-bit only"),
        ({"recompute": "selective-op"}, "nearest: selective"),
        ({"recompute": "full", "recompute_layers": 3, "parallel": {"pp": 4, "vpp": 2}}, "nearest: 4"),
        ({"fused_ce": "liger"}, "fused cross-entropy"),
        ({"fused_ce": "compiled"}, "compiled cross-entropy"),
        ({"compile": True}, "nearest: compile false"),
        ({"parallel": {"zero": 3, "tp": 2}}, "not ZeRO 3"),
        ({"parallel": {"zero": 2, "tp": 2}}, "not ZeRO 2"),
        ({"parallel": {"offload_optimizer": "cpu"}}, "nearest: no offload"),
        ({"parallel": {"pp": 2, "schedule": "zbv"}}, "not zbv"),
        ({"parallel": {"pp": 2, "schedule": "gpipe"}}, "not gpipe"),
        ({"parallel": {"pp": 4, "vpp": 2}, "grad_accum": 6}, "multiple of 4 micro-batches, not 6; nearest: 8"),
        ({"parallel": {"pp": 4, "vpp": 3}, "grad_accum": 4}, "not 12 equal stages"),
        ({"model": {"name": "own", "layers": 9, "hidden": 4096, "heads": 32}, "parallel": {"pp": 8}}, "leave none"),
        ({"parallel": {"cp": 4}, "seq": 8196}, "multiple of 8"),
        ({"parallel": {"tp": 8}, "seq": 8196}, "multiple of 8"),
        ({"parallel": {"tp": 2, "sp": False}, "model": "mixtral-8x7b"}, "nearest: sp true"),
        ({"framework": "torchtitan"}, "follows fsdp2"),
        ({"framework": "ddp"}, "follows ddp"),
    ],
)
def test_what_its_arguments_cannot_say_is_refused(fields: dict[str, Any], said: str) -> None:
    reason = refuses(megatron(**fields).work)
    assert reason is not None and reason.startswith("Megatron-LM") and said in reason


def test_experts_must_be_divided_among_the_ranks_of_data_and_context() -> None:
    work = megatron(parallel={"tp": 2, "ep": 4}, model="mixtral-8x7b").work
    assert refuses(work) is None
    reason = refuses(replace(work, parallel=replace(work.parallel, ep=8)))
    assert reason is not None and "ep 8 must divide the 4 ranks of data and context; nearest: ep 4" in reason


def test_a_launcher_runs_it_and_leaves_words_to_fill_in_that_its_parser_refuses(tmp_path: Path) -> None:
    one = megatron(parallel={"tp": 2})
    (file,) = target("torchrun").files(one, Order())
    words = ran(file, tmp_path)
    assert "pretrain_gpt.py" in words and value(words, "--tensor-model-parallel-size") == "2"
    for option in ("--train-iters", "--lr", "--data-path", "--tokenizer-model"):
        assert value(words, option) == FILL_IN
    own = ran(target("torchrun").files(one, Order(script="mine.py"))[0], tmp_path)
    assert "mine.py" in own and "pretrain_gpt.py" not in own
    beyond = megatron(parallel={"zero": 3, "tp": 2})
    assert "train.py" in ran(target("torchrun").files(beyond, Order())[0], tmp_path)


def test_the_path_of_a_model_is_not_passed_on() -> None:
    one = megatron()
    there = replace(one, workload=replace(one.workload, model_id="/home/somebody/models/own"))
    assert "somebody" not in files(there, Order())[0].text


def test_a_machine_without_gpus_is_refused() -> None:
    work = megatron().work
    assert refuses(work) is None
    reason = refuses(replace(work, gpu=replace(work.gpu, name="CPU")))
    assert reason is not None and "only on GPUs" in reason


def test_the_target_is_found_by_name() -> None:
    assert target("megatron").FRAMEWORKS == ("megatron",)


def test_experts_in_every_second_layer(tmp_path: Path) -> None:
    sizes = {"layers": 7, "dense_layers": 2, "moe_every": 2, "hidden": 512, "heads": 4, "ffn": 1024, "vocab": 512}
    own = {**sizes, "name": "own", "experts": 8, "top_k": 2, "expert_ffn": 256}
    words = words_of(megatron(model=own, parallel={"dp": 8}), tmp_path, **MODEL)
    assert value(words, "--moe-layer-freq") == "([0]*2+[0,1]*2+[0]*1)"


def test_a_model_that_rotates_half_a_head_is_told_so(tmp_path: Path) -> None:
    (file,) = files(plan(fleet(), model="glm-4.5-air", parallel={"dp": 8, "ep": 8}), Order())
    words = ran(file, tmp_path, **OWN, ROTARY_BASE="1e6", NORM_EPSILON="1e-5")
    assert value(words, "--rotary-percent") == "0.5"
    (file,) = files(plan(fleet(), model="llama-3.1-8b"), Order())
    assert "--rotary-percent" not in file.text


def test_experts_that_are_whole_are_written_so() -> None:
    """Eight GPUs, tp 8: eight parts of the experts leave no rank to cut one."""
    whole = megatron(model="mixtral-8x7b", parallel={"tp": 8, "ep": 8})
    assert whole.work.parallel.cut == 1 and refuses(whole.work) is None
