from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.train.recommend.errors import SpecError, nearest_divisor
from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.fleet.gpu_figures import GIB, read_gpu
from tests.train.recommend.spec_kit import LLAMA_7B, changed


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"parallel": {"tp": 3}}, "tp 3 does not divide the 32 attention heads; nearest: tp 2"),
        ({"parallel": {"tp": 4, "pp": 4}}, "does not divide the 8 GPUs; nearest product: 8"),
        ({"parallel": {"fsdp": 16}}, "is not the 8 GPUs; nearest: fsdp 8"),
        ({"parallel": {"dp": 3}}, "is not the 8 GPUs; nearest: dp 8"),
        ({"parallel": {"pp": 64}, "gpus": 64}, "more than the 32 layers; nearest: pp 32"),
        ({"parallel": {"pp": 8, "vpp": 8}}, "more than the 32 layers; nearest: vpp 4"),
        ({"parallel": {"ep": 8}}, "needs a model with experts"),
        ({"parallel": {"ep": 3}, "model": "mixtral-8x7b", "gpus": 6}, "ep 3 must divide the 8 experts"),
        ({"parallel": {"cp": 8}, "seq": 2044}, "cp 8 does not divide seq 2044; nearest: cp 7"),
        ({"parallel": {"zero": 4}}, "between 0 and 3, not 4; nearest: 3"),
        ({"parallel": {"pp": 2, "schedule": "sideways"}}, "nearest: 1F1B"),
        ({"parallel": [8]}, "parallel must be a mapping"),
        ({"global_batch": 30}, "nearest: 32"),
        ({"seq": 0}, "seq must be between 1"),
        ({"seq": None}, "seq is missing"),
        ({"micro_batch": 1.5}, "micro_batch must be a whole number"),
        ({"micro_batch": True}, "micro_batch must be a whole number"),
        ({"precision": "int4"}, "nearest: bf16"),
        ({"recompute": "sometimes"}, "nearest: full"),
        ({"optimizer": "magic"}, "nearest: adamw"),
        ({"compile": "perhaps"}, "compile must be true or false"),
        ({"model": None}, "no 'model'"),
        ({"model": {"name": "x", "layers": 2, "hidden": 100, "heads": 3}}, "heads 3 does not divide hidden 100"),
        ({"model": {"name": "x", "layers": 2, "hidden": 64, "heads": 4, "kv_heads": 3}}, "kv_heads 3 does not divide"),
        ({"model": {"layers": 2, "hidden": 64, "heads": 4, "experts": 4, "top_k": 8}}, "nearest: 4"),
    ],
)
def test_what_cannot_be_names_field_reason_and_nearest_value(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError) as error:
        solve(changed(**fields))
    assert words in str(error.value)


@pytest.mark.parametrize("spec", [None, 3, "text", [], {}, {"model": {}}, {"model": 7}])
def test_what_is_no_specification_is_refused(spec: Any) -> None:
    with pytest.raises(SpecError):
        solve(spec)


def test_nearest_divisor() -> None:
    assert [nearest_divisor(32, one) for one in (1, 3, 7, 33, 24)] == [1, 2, 8, 32, 16]


@pytest.mark.parametrize(
    ("parallel", "framework", "zero"),
    [
        ({"fsdp": 8}, "fsdp2", 3),
        ({"fsdp": 8, "strategy": "FULL_SHARD"}, "fsdp1", 3),
        ({"zero": 2}, "deepspeed", 2),
        ({"tp": 8}, "megatron", 1),
        ({"tp": 1, "pp": 1, "fsdp2": "true"}, "fsdp2", 3),
        ({"fsdp": 1, "dp": 8}, "megatron", 1),
        ({"dp": 8, "dist_opt": "false"}, "megatron", 0),
        ({"dp": 8}, "ddp", 0),
        ({"zero": 1, "tp": 2}, "megatron", 1),
        ({}, "ddp", 0),
    ],
)
def test_the_framework_shows_in_the_fields(parallel: dict[str, Any], framework: str, zero: int) -> None:
    work = solve(changed(parallel=parallel)).work
    assert (work.framework, work.parallel.zero) == (framework, zero)


def test_a_named_framework_wins() -> None:
    assert solve(changed(framework="torchtitan", parallel={"tp": 8})).work.framework == "fsdp2"
    for named in ("fsdp1", "FSDP", "fsdp1 transformers", "Transformers with FSDP1"):
        assert solve(changed(framework=named)).work.framework == "fsdp1"
    assert solve(changed(framework="fsdp2 transformers")).work.framework == "fsdp2"


def test_missing_fields_are_derived_and_named() -> None:
    told = solve({"model": "llama-2-7b", "seq": 2048, "gpu": "MI300X", "parallel": {"tp": 2, "pp": 2, "dp": 2}})
    assert told.work.gpus == 8
    said = " ".join(told.derived)
    for word in ("gpus not given: 8", "micro_batch not given: 1", "recompute not given: none", "dist_opt"):
        assert word in said


def test_recompute_that_is_not_given_is_the_least_that_may_fit() -> None:
    roomy, close = changed(recompute=None), changed(recompute=None, micro_batch=24, gpu={"name": "x", "mem_gib": 80})
    assert solve(roomy).work.recompute == "none"
    assert solve(close).work.recompute == "full"
    assert solve(changed(**{**close, "recompute": "none"})).fits == "no"


def test_batches() -> None:
    assert solve(changed(global_batch=64)).work.microbatches == 8
    assert solve(changed(grad_accum=3)).work.microbatches == 3
    piped = solve(changed(micro_batch=None, local_batch=16, parallel={"pp": 4})).work
    assert (piped.micro_batch, piped.microbatches) == (4, 4)
    assert solve(changed(micro_batch=None, global_batch=32)).work.micro_batch == 4


def test_sharding_spans_context_parallel_ranks() -> None:
    assert solve(changed(parallel={"fsdp": 4, "cp": 2})).work.parallel.shard == 8
    assert solve(changed(parallel={"fsdp": 8, "cp": 8})).work.parallel.shard == 8
    assert solve(changed(parallel={"fsdp": 2, "replicate": 4})).work.parallel.shard == 2


@pytest.mark.parametrize(
    ("name", "gib", "wanted"),
    [
        ("h100_80gb", 80, "h100-sxm"),
        ("H100 PCIe", None, "h100-pcie"),
        ("H100-96GB-HBM2e-500W", 96, "h100-sxm"),
        ("a100_40gb", 40, "a100-sxm-40"),
        ("A100-SXM4-80GB", 80, "a100-sxm-80"),
        ("AMD Instinct MI300X", None, "mi300x"),
        ("NVIDIA GeForce RTX 4090", None, "rtx-4090"),
        ("A100-80GB", None, "a100-sxm-80"),
        ("something", 24, None),
    ],
)
def test_names_of_gpus(name: str, gib: float | None, wanted: str | None) -> None:
    gpu = read_gpu({"name": name, "mem_gib": gib}, {}, [])
    assert gpu.profile_id == wanted
    if gib:
        assert 0.9 * gib * GIB < gpu.usable_bytes < gib * GIB


def test_a_power_limit_in_the_name_and_a_card_that_is_two_gpus() -> None:
    limited = read_gpu({"name": "H100-96GB-HBM2e-500W", "mem_gib": 96}, {}, [])
    assert limited.power_share == pytest.approx(500 / 700)
    die = read_gpu("MI250X", {}, [])
    assert (die.memory_bytes / GIB, die.peak) == (64, 191.5e12)


def test_a_desktop_card_has_twice_its_vector_rate_and_says_so() -> None:
    why: list[str] = []
    gpu = read_gpu("RTX 4090", {}, why)
    assert gpu.peak == pytest.approx(165e12, rel=0.01)  # the data sheet's dense 16-bit rate with fp32 sums
    assert "twice" in why[0]


def test_a_gpu_without_a_flash_kernel_keeps_scores() -> None:
    told = solve(changed(gpu={"name": "Tesla V100-SXM2-32GB", "mem_gib": 32}))
    assert not told.work.flash
    assert any("scores are kept" in line for line in told.derived)
    assert solve(changed(gpu={"name": "Tesla V100-SXM2-32GB", "mem_gib": 32}, attention="flash")).work.flash


@pytest.mark.parametrize(
    ("fields", "written_out"),
    [({}, False), ({"method": "full ft"}, True), ({"parallel": {"zero": 3}}, True), ({"framework": "axolotl"}, True)],
)
def test_whose_model_code_runs(fields: dict[str, Any], written_out: bool) -> None:
    assert solve(changed(**fields)).work.transformers is written_out


def test_a_gpu_of_unknown_size_says_so() -> None:
    why: list[str] = []
    assert read_gpu({"name": "mystery"}, {}, why).memory_bytes == 80 * GIB
    assert "80 GiB assumed" in why[0]
    assert read_gpu({"name": "NVIDIA GH200 480GB"}, {}, []).memory_bytes == 96 * GIB
    assert read_gpu({"name": "24GB GPU"}, {}, []).memory_bytes == 24 * GIB


def test_the_kit_itself_is_valid() -> None:
    assert solve(LLAMA_7B).fits == "yes"
