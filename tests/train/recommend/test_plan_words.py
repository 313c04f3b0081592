"""Sentences of a plan and of the overview: the first line names what a plan needs, figures agree, units are right."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from rocdoctor.collect import collect
from rocdoctor.report.plan import overview_document
from rocdoctor.report.plan.recommend_document import document, headline, kind
from rocdoctor.report.text import render
from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.fleet.described_fleet import described
from rocdoctor.train.recommend.fleet.machine_fleet import machine_fleet
from rocdoctor.train.recommend.model.workload import read_workload
from rocdoctor.train.recommend.plan import Fleet, Method, Plan
from rocdoctor.train.recommend.search.overview import overview
from rocdoctor.train.recommend.search.savers import savers_of
from tests.golden.replay import host_of
from tests.plans_once import recommend


def _laptop() -> Fleet:
    return machine_fleet(collect(host_of("cpu-only-laptop")), 1)


def _plan(gpus: str, model: str, method: Method) -> Plan:
    found = recommend(described(gpus), read_workload(model, method)).plan
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("gpus", "model", "method", "words"),
    [("H100", "qwen2.5-7b", "full", "16-bit states"), ("RX 6600", "llama-3.2-1b", "lora", "fused loss")],
)
def test_the_first_line_names_what_a_plan_fits_with_only(gpus: str, model: str, method: Method, words: str) -> None:
    answer = recommend(described(gpus), read_workload(model, method))
    assert answer.plan is not None
    saved = {"16-bit states": answer.plan.work.pure_bf16, "fused loss": answer.plan.work.loss == "fused"}
    assert (words in headline(answer)) == saved[words]
    assert any(saved.values())


@pytest.mark.parametrize("method", ["lora", "qlora"])
def test_frozen_weights_move_to_main_memory_only_where_they_are_sharded(method: Method) -> None:
    # FSDP2 moves whole states; the small ones of adapters alone are not worth a way of their own.
    assert {one.offload for one in savers_of(described("H100"), read_workload("llama-3.1-8b", method))} <= {"", "all"}
    tight = recommend(described("RX 7900 XTX"), read_workload("llama-3.1-8b", "lora"))
    assert tight.plan is not None
    assert not tight.plan.work.parallel.offload_optimizer
    two = recommend(described("2xRTX 3090", 1, 128), read_workload("llama-2-70b", method))
    assert (two.plan is not None) == (method == "qlora")  # 16-bit weights of 70B are more than the main memory
    if two.plan is not None:
        assert two.plan.work.parallel.offload_weights
        assert two.plan.result.memory.states == 0
        assert "main memory" in headline(two)


def test_a_gpu_in_main_memory_may_need_no_more_than_a_larger_limit() -> None:
    halo = machine_fleet(collect(host_of("strix-halo")), 1)
    workload = read_workload("qwen2.5-14b", "full")
    (first, *_) = [one.text for one in recommend(halo, workload).needed[1:]]
    size = re.match(r"([\d.]+) GiB of main memory for the GPU would be enough", first)
    assert size is not None
    assert "It may use 56.1 GiB now" in first
    wide = replace(halo, spec_gpu={**halo.spec_gpu, "mem_gib": float(size[1]), "usable_gib": float(size[1])})
    assert recommend(wide, workload).plan is not None
    # What works in HBM of its own gets no more of it.
    apu = machine_fleet(collect(host_of("mi300a-4apu")), 1)
    assert not any("of main memory" in one.text for one in recommend(apu, read_workload("llama-3.1-70b")).needed)


def test_what_lies_in_main_memory_is_not_counted_as_divided() -> None:
    plan = recommend(described("MI250", 1, 1000), read_workload("qwen2.5-14b", "full")).plan
    assert plan is not None
    assert plan.work.parallel.offload_optimizer
    shard = next(one for one in plan.choices if one.key == "shard")
    assert "whole" not in shard.figure


def test_one_sequence_is_no_plural_and_a_processor_is_no_gpu() -> None:
    answer = recommend(_laptop(), read_workload("qwen2.5-0.5b", "pretrain", 2048))
    text = render(document(answer), 100)
    assert "you gave no batch size, so a step has 1 sequence (2048 tokens)" in text
    assert "this CPU's peak rate" in text
    assert "smoke --figures" not in text


def test_a_step_on_processors_is_told_by_what_it_computes() -> None:
    answer = recommend(_laptop(), read_workload("qwen2.5-0.5b", "lora"))
    assert answer.plan is not None
    assert (answer.plan.global_batch, answer.plan.work.recompute) == (16, "full")
    # Forward twice and backward to the inputs: 6 FLOP for each of 494 M weights that a token meets, 32,768 tokens.
    assert pytest.approx(97.1e12, rel=0.01) == 6 * 494e6 * 32768
    (told,) = (one for one in answer.plan.notes if "TFLOP" in one)
    assert told.startswith("A step takes 97.1 TFLOP of matrix products. ")
    assert "1,000 steps take 27 hours" in told
    assert "32-bit weights" in next(one.reason for one in answer.plan.choices if one.key == "method")


def test_experimental_kernels_are_named_with_what_they_change_alone() -> None:
    answer = recommend(described("RX 7900 XTX"), read_workload("llama-3.1-8b", "lora"))
    assert answer.plan is not None
    (told,) = (one for one in answer.plan.notes if "AOTRITON" in one)
    for one in re.findall(r"at most ([\d.]+) in place of ([\d.]+)", told):
        assert one[0] != one[1]


def test_the_overview_names_the_largest_model_and_marks_tight_ones_whole() -> None:
    text = render(overview_document.document(overview(described("MI300X"))), 100)
    assert text.startswith("1 x MI300X: QLoRA up to llama-3.1-70b; LoRA up to llama-3.1-70b;")
    text = render(overview_document.document(overview(described("T4:16GiB"))), 100)
    assert re.search(r"^ +tight$", text, re.MULTILINE)
    assert "(ti" not in text.replace("(tight", "")
    assert "one process" in render(overview_document.document(overview(_laptop())), 100)


def test_a_batch_that_ranks_cannot_share_is_answered_with_one_that_they_can() -> None:
    answer = recommend(described("3xH100"), read_workload("llama-3.1-8b", "full", global_batch=100))
    assert answer.plan is None
    assert answer.needed[0].text.endswith("cannot be shared by 3 ranks; the nearest is 99.")
    assert (answer.needed[1].option, answer.needed[1].value) == ("--global-batch", "99")
    assert answer.needed[1].text.startswith("--global-batch 99: ")
    assert recommend(described("3xH100"), read_workload("llama-3.1-8b", "full", global_batch=99)).plan is not None


def test_one_gpu_with_megatron_is_not_plain_pytorch_and_has_no_adapters() -> None:
    answer = recommend(described("MI300X"), read_workload("qwen2.5-3b", "full", framework="megatron"))
    assert "with Megatron-LM" in headline(answer)
    assert "plain PyTorch" not in headline(answer)
    for name in ("megatron", "torchtitan"):
        refused = recommend(described("MI300X"), read_workload("qwen2.5-3b", "lora", framework=name))
        assert refused.plan is None
        assert "has no adapters" in refused.needed[0].text


def test_a_processor_has_no_fused_loss() -> None:
    assert not any(one.loss == "fused" for one in savers_of(_laptop(), read_workload("llama-3.2-1b", "lora")))
    assert any(one.loss == "fused" for one in savers_of(described("H100"), read_workload("llama-3.2-1b", "lora")))


def test_beside_a_divided_model_the_ranks_are_not_read_as_all_gpus() -> None:
    sizes = {"tp": 8, "pp": 2}
    spec = {"model": "llama-3.1-70b", "gpu": "mi300x", "gpus": 32, "seq": 4096, "micro_batch": 1, "grad_accum": 8}
    plan = _plan("8xMI300X", "llama-3.2-1b", "pretrain")

    def words(framework: str, **parallel: object) -> str:
        told = solve({**spec, "framework": framework, "parallel": {**sizes, **parallel}})
        return kind(replace(plan, result=told)).partition(", micro-batch")[0]

    divided = "Megatron-LM, states divided over 2 GPUs, tensor parallel 8, pipeline parallel 2"
    assert words("megatron", dp=2, dist_opt=True) == divided
    assert words("megatron", dp=2, dist_opt=False) == "Megatron-LM, 2 copies, tensor parallel 8, pipeline parallel 2"
    whole = solve({**spec, "framework": "fsdp2", "parallel": {"fsdp": 32}})
    assert " over 32 GPUs" in kind(replace(plan, result=whole))


def test_the_next_best_names_what_it_goes_without() -> None:
    answer = recommend(described("1xRX 7900 XTX"), read_workload("llama-3.1-8b", "qlora"))
    assert answer.plan is not None and answer.runner_up is not None
    assert (answer.plan.work.loss, answer.runner_up.work.loss) == ("fused", "plain")
    assert kind(answer.runner_up, answer.plan).endswith(", plain loss")
    assert kind(answer.plan, answer.runner_up) == kind(answer.plan)
    batch = next(one for one in answer.plan.choices if one.key == "micro_batch")
    assert batch.figure.startswith(f"{answer.plan.work.micro_batch} needs at most ")
    assert "(" not in batch.reason
