from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.train.emit.targets import Order, target
from rocdoctor.train.emit.targets.torchtitan import files, program, refuses
from rocdoctor.train.recommend.model.torchtitan_code import FLAVOURS, preset_of
from rocdoctor.train.recommend.plan import Plan
from tests.train.emit.plan_kit import fleet, plan
from tests.train.emit.shell_kit import ran, value


def titan(**fields: Any) -> Plan:
    return plan(**{"framework": "torchtitan", "recompute": "none", **fields})


def words_of(one: Plan, folder: Path, **given: str) -> list[str]:
    assert refuses(one.work) is None
    (file,) = files(one, Order())
    assert file.executable
    return ran(file, folder, **given)


def test_a_shell_starts_the_configuration_with_the_sizes_of_the_plan(tmp_path: Path) -> None:
    words = words_of(titan(parallel={"tp": 2}, micro_batch=3, grad_accum=2), tmp_path)
    assert words[:5] == ["--rdzv-backend", "static", "--rdzv-endpoint", "127.0.0.1:29999", "--nproc-per-node"]
    assert words[words.index("-m") + 1] == "torchtitan.train"
    assert value(words, "--module") == "llama3" and value(words, "--config") == "llama3_8b"
    assert value(words, "--training.seq_len") == "8192"
    assert value(words, "--training.local_batch_size") == "3"
    assert value(words, "--training.global_batch_size") == "24"  # 3 sequences, 2 passes, 4 data-parallel ranks
    assert value(words, "--parallelism.tensor_parallel_degree") == "2"
    assert value(words, "--parallelism.data_parallel_shard_degree") == "4"
    assert value(words, "--parallelism.data_parallel_replicate_degree") == "1"
    assert "--parallelism.enable_sequence_parallel" in words
    assert "--training.disable_cuda_graphs" in words
    assert words[-1] == "activation-checkpoint:none"


def test_a_pipeline_takes_all_micro_batches_as_one_local_batch(tmp_path: Path) -> None:
    sizes = {"pp": 4, "vpp": 2, "schedule": "interleaved"}
    words = words_of(titan(parallel=sizes, micro_batch=2, grad_accum=8), tmp_path)
    assert value(words, "--training.local_batch_size") == "16"
    assert value(words, "--parallelism.pipeline_parallel_microbatch_size") == "2"
    assert value(words, "--training.global_batch_size") == "32"  # 16 on each of 2 data-parallel ranks
    assert value(words, "--parallelism.pipeline_parallel_schedule") == "Interleaved1F1B"
    assert value(words, "--parallelism.pipeline_parallel_layers_per_stage") == "4"  # 32 layers, 8 stages
    assert value(words, "--parallelism.fsdp_reshard_after_forward") == "never"
    for end in ("first", "last"):
        assert value(words, f"--parallelism.pipeline_parallel_{end}_stage_less_layers") == "0"


def test_several_copies_and_long_sequences(tmp_path: Path) -> None:
    one = titan(where=fleet(nodes=2), parallel={"fsdp": 4, "cp": 2, "dp": 2, "replicate": 2}, seq=32_768)
    words = words_of(one, tmp_path, NODE_RANK="1", MASTER_ADDR="first")
    assert value(words, "--parallelism.data_parallel_shard_degree") == "4"
    assert value(words, "--parallelism.data_parallel_replicate_degree") == "2"
    assert value(words, "--parallelism.context_parallel_degree") == "2"
    assert value(words, "--nnodes") == "2" and value(words, "--node-rank") == "1"
    assert value(words, "--rdzv-endpoint").startswith("first:")


def test_what_only_the_user_knows_stops_the_script_with_a_sentence(tmp_path: Path) -> None:
    (file,) = files(titan(where=fleet(nodes=2)), Order())
    with pytest.raises(AssertionError, match="NODE_RANK: the number of this node"):
        ran(file, tmp_path)


def test_precision_compile_and_offload_are_said(tmp_path: Path) -> None:
    both = titan(
        compile=True, fused_ce="compiled", parallel={"offload": True, "tp": 2, "async_tp": True}, recompute="full"
    )
    words = words_of(both, tmp_path)
    assert value(words, "--compile.components") == "model,loss"
    assert "--training.enable_cpu_offload" in words and "--compile.enable_async_tensor_parallel" in words
    assert words[-1] == "activation-checkpoint:full"
    pure = words_of(titan(precision="pure bf16"), tmp_path)
    assert value(pure, "--training.dtype") == "bfloat16"
    assert "--compile.no_enable" in pure and "--training.no_enable_cpu_offload" in pure
    whole = words_of(titan(precision="fp32"), tmp_path)
    assert value(whole, "--training.mixed_precision_param") == "float32"


def test_options_of_the_user_stand_before_the_last_word_and_are_quoted(tmp_path: Path) -> None:
    one = titan()
    options = ("--training.steps", "7", "--hf_assets_path", "a b; $(touch x)")
    file = files(one, Order(script_arguments=options))[0]
    words = ran(file, tmp_path)
    assert tuple(words[-5:-1]) == options
    assert words[-1].startswith("activation-checkpoint:")
    assert not (tmp_path / "x").exists()


def test_each_argument_has_a_reason() -> None:
    for one in (titan(), titan(parallel={"pp": 2, "tp": 2, "cp": 2}, grad_accum=4), titan(compile=True)):
        for argument in program(one, Order()):
            assert argument.reason.strip(), argument.words
    text = files(titan(parallel={"tp": 2}), Order())[0].text
    assert "# all-reduces stay inside one node\n  --parallelism.tensor_parallel_degree 2\n" in text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"model": "llama-2-7b"}, "no 16-bit configuration with the sizes of llama-2-7b; nearest: llama-3.1-8b"),
        ({"model": "llama-3.2-1b"}, "nearest: qwen3-1.7b"),
        ({"model": {"name": "llama-3.1-8b", "layers": 16}}, "nearest"),
        ({"method": "lora"}, "not adapters"),
        ({"optimizer": "adam8bit"}, "not adam8bit"),
        ({"optimizer": "sgd"}, "not sgd"),
        ({"precision": "fp16"}, "no option sets fp16; nearest: bf16"),
        ({"precision": "fp8"}, "float8 needs"),
        ({"precision": "fp8-rowwise"}, "float8 needs"),
        ({"recompute": "selective"}, "nearest: selective-op"),
        ({"recompute": "full", "recompute_layers": 4}, "recomputes all 32 layers"),
        ({"fused_ce": "liger"}, "no fused cross-entropy"),
        ({"attention": "eager"}, "FlexAttention"),
        ({"parallel": {"tp": 2, "async_tp": True}}, "compiled model"),
        ({"parallel": {"zero": 2}, "framework": "torchtitan"}, "not ZeRO 2"),
        ({"parallel": {"offload_optimizer": "cpu"}}, "together or nothing"),
        ({"parallel": {"pp": 2, "schedule": "zb1p"}}, "not zb1p"),
        ({"parallel": {"pp": 2, "schedule": "v-half"}}, "not v-half"),
        ({"parallel": {"pp": 4}, "grad_accum": 2}, "at least 4 micro-batches"),
        ({"parallel": {"pp": 4, "vpp": 2}, "grad_accum": 9}, "not 2 equal rounds"),
        ({"parallel": {"pp": 8, "vpp": 3}}, "32 layers, 2 per stage"),
        ({"parallel": {"cp": 8}, "seq": 8200}, "multiple of 16"),
        ({"parallel": {"tp": 8}, "model": "qwen3-30b-a3b"}, "4 key-value heads; nearest: tp 4"),
        ({"parallel": {"pp": 2}, "model": "qwen3-0.6b"}, "nearest: pp 1"),
        ({"parallel": {"cp": 2}, "model": "gpt-oss-20b"}, "nearest: cp 1"),
        ({"seq": 65_536, "model": "qwen3-14b"}, "at most 40960 tokens"),
        ({"framework": "megatron"}, "follows megatron"),
        ({"framework": "deepspeed", "parallel": {"zero": 3}}, "follows deepspeed"),
    ],
)
def test_what_its_options_cannot_say_is_refused(fields: dict[str, Any], said: str) -> None:
    reason = refuses(titan(**fields).work)
    assert reason is not None and reason.startswith("torchtitan") and said in reason


def test_experts_must_be_divided_among_the_ranks_of_one_copy() -> None:
    one = titan(model="qwen3-30b-a3b", where=fleet(nodes=2), parallel={"fsdp": 4, "replicate": 4, "ep": 8})
    reason = refuses(one.work)
    assert reason is not None and "ep 8 must divide the 4 ranks" in reason
    assert refuses(titan(model="qwen3-30b-a3b", parallel={"fsdp": 8, "ep": 8}).work) is None


def test_a_model_is_known_by_its_sizes_not_by_its_name() -> None:
    config = {
        "model_type": "llama",
        "hidden_size": 4096,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "intermediate_size": 14_336,
        "vocab_size": 128_256,
        "tie_word_embeddings": False,
    }
    assert preset_of(titan(model=config).work.model) == "llama-3.1-8b"
    assert preset_of(titan(model={**config, "vocab_size": 32_000}).work.model) is None
    assert all(preset_of(titan(model=name).work.model) == name for name in FLAVOURS)


def test_a_launcher_runs_it_where_it_is_asked_for(tmp_path: Path) -> None:
    one = titan(parallel={"tp": 2})
    assert "train.py" in ran(target("torchrun").files(one, Order())[0], tmp_path)
    asked = replace(one, workload=replace(one.workload, framework="torchtitan"))
    words = ran(target("torchrun").files(asked, Order())[0], tmp_path)
    assert words[words.index("-m") + 1] == "torchtitan.train" and words[-1] == "activation-checkpoint:none"
    assert words == ran(files(one, Order())[0], tmp_path)
    assert "mine.py" in ran(target("torchrun").files(asked, Order(script="mine.py"))[0], tmp_path)
    for order, told in ((Order(), True), (Order(script="mine.py"), False)):
        assert ("--hf_assets_path" in target("slurm").files(asked, order)[0].text) is told


def test_the_path_of_a_model_is_not_passed_on() -> None:
    one = titan()
    there = replace(one, workload=replace(one.workload, model_id="/home/somebody/models/own"))
    assert "somebody" not in files(there, Order())[0].text


def test_a_machine_without_gpus_is_refused() -> None:
    work = titan().work
    assert refuses(work) is None
    reason = refuses(replace(work, gpu=replace(work.gpu, name="CPU")))
    assert reason is not None and "only on GPUs" in reason


def test_the_target_is_found_by_name() -> None:
    assert target("torchtitan").FRAMEWORKS == ("fsdp2",)
