"""Which plans the ranks can run, how deep, and on which machines."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.smoke.plan.depths import BUDGET_S, STEPS, WARM, depths, guess, seconds
from rocdoctor.train.smoke.plan.order import cut, order, refusal
from rocdoctor.train.smoke.plan.perform import run_plan, setting_of, share_of
from rocdoctor.train.smoke.run.pool import Pool
from rocdoctor.train.smoke.run.rank_sets import PlanError
from rocdoctor.train.smoke.run.request import Request, plan_word, request_of
from rocdoctor.train.smoke.run.runner import RunSetting

GIB = 2.0**30
SPEC: dict[str, Any] = {
    "model": "llama-3-70b",
    "gpu": "MI300X",
    "gpus": 8,
    "seq": 4096,
    "micro_batch": 2,
    "parallel": {"fsdp": 8},
    "framework": "fsdp2",
    "recompute": "full",
    "precision": "bf16",
}
HELLO = {"gloo": True, "nccl": True, "hip": "6.4"}


def _gpus(count: int, gib: float = 192) -> list[dict[str, Any]]:
    return [{"index": one, "name": "a GPU", "memory_bytes": gib * GIB} for one in range(count)]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"parallel": {"tp": 2, "fsdp": 4}}, None),
        ({"method": "lora", "framework": "ddp", "parallel": {"dp": 8}}, None),
        ({"framework": "megatron", "parallel": {"tp": 8}}, "Megatron-LM keeps memory of its own"),
        ({"framework": "deepspeed", "parallel": {"zero": 2}}, "DeepSpeed keeps memory of its own"),
        ({"framework": "ddp", "parallel": {"dp": 8, "zero": 2}}, "torch has no ZeRO 2"),
        ({"parallel": {"pp": 2, "fsdp": 4}}, "pipeline parallelism"),
        ({"parallel": {"cp": 2, "fsdp": 4}}, "context parallelism"),
        ({"method": "qlora", "framework": "ddp", "parallel": {"dp": 8}}, "bitsandbytes"),
        ({"method": "lora"}, "adapters"),
        ({"optimizer": "adamw_8bit"}, "8-bit Adam"),
        ({"precision": "fp8"}, "8-bit products"),
        ({"precision": "fp16"}, "scaler"),
        ({"parallel": {"fsdp": 8, "offload": True}}, "offload"),
        ({"model": "mixtral-8x7b"}, "experts"),
        ({"parallel": {"tp": 2, "fsdp": 2, "replicate": 2}}, "copies"),
    ],
)
def test_what_is_refused_says_why(changes: dict[str, Any], words: str | None) -> None:
    why = refusal(solve({**SPEC, **changes}).work)
    assert (why is None) if words is None else (why is not None and words in why)


def test_a_cut_plan_differs_in_depth_alone() -> None:
    work = solve({**SPEC, "grad_accum": 16, "recompute_layers": 40}).work
    one = cut(work, 4)
    assert (one.model.layers, one.recompute_layers, one.microbatches) == (4, 2, 2)
    assert (one.model.hidden, one.model.vocab, one.micro_batch, one.parallel) == (
        work.model.hidden,
        work.model.vocab,
        work.micro_batch,
        work.parallel,
    )


def test_a_plan_too_slow_to_run_whole_runs_at_two_depths_within_the_time() -> None:
    first, second = depths(solve(SPEC).work, 170 * GIB)
    assert 1 <= first.model.layers < second.model.layers < 80
    assert (WARM + STEPS) * seconds(second) <= BUDGET_S


SMALL: dict[str, Any] = {
    "model": {"layers": 16, "hidden": 2048, "heads": 16, "ffn": 8192, "vocab": 32768},
    "gpu": "MI300X",
    "gpus": 1,
    "seq": 4096,
    "micro_batch": 4,
    "framework": "ddp",
    "parallel": {"dp": 1},
}
# A layer's matrices, each met forward and twice backward by two operations; no core multiplies as fast as 4e11 FLOP/s.
_LAYER_S = 6 * (4 * 2048 * 2048 + 3 * 2048 * 8192) * 4 * 4096 / 4e11


class _Started(Exception):
    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s


class _NoPool:
    """Ranks that are never started: who starts them learns with which limit."""

    def __init__(self) -> None:
        self.hello = {"torch": "2.13.0"}
        self.peak_memory_bytes = 0

    def start(self, world: int, backend: str, device: str, limit_s: float, life_s: float) -> None:
        raise _Started(limit_s)

    def stop_ranks(self) -> None:
        pass


def test_on_the_cpu_a_plan_for_gpus_gets_the_depth_and_the_time_of_a_cpu() -> None:
    work = solve({**SMALL, "seq": 128}).work
    on_gpus, on_cpu = (depths(work, 60 * GIB, share)[-1] for share in (None, 1.0))
    assert on_gpus.model.layers == 16 > on_cpu.model.layers
    with pytest.raises(_Started) as told:
        run_plan(cast(Pool, _NoPool()), work, RunSetting(1, "gloo", "cpu"))
    first = depths(work, 60 * GIB, 1.0)[0]
    assert told.value.limit_s - 60.0 > (WARM + STEPS) * first.model.layers * _LAYER_S * 128 / 4096


def test_what_a_cpu_cannot_do_in_time_is_not_tried_instead_of_ended_as_hanging() -> None:
    work = solve(SMALL).work
    setting = RunSetting(1, "gloo", "cpu")
    (found,) = run_plan(cast(Pool, _NoPool()), work, setting).modes
    assert found.state == "not-applicable"
    assert "8 steps of 2 layers would take about" in found.message
    assert "on the CPU: try it on its GPUs" in found.message
    with pytest.raises(_Started) as told:
        run_plan(cast(Pool, _NoPool()), work, setting, limit_s=40_000.0)
    assert told.value.limit_s == 40_000.0
    assert "--deadline" not in found.message  # it takes an hour at most
    (found,) = run_plan(cast(Pool, _NoPool()), solve({**SMALL, "seq": 512}).work, setting).modes
    assert found.message.endswith("or give --deadline 3600")
    with pytest.raises(_Started):
        run_plan(cast(Pool, _NoPool()), work, RunSetting(1, "nccl", "cuda"))


def test_ranks_share_the_cores() -> None:
    assert share_of(RunSetting(8, "gloo", "cpu"), cores=2) == 0.25
    assert share_of(RunSetting(2, "gloo", "cpu"), cores=16) == 1.0
    assert share_of(RunSetting(8, "nccl", "cuda"), cores=2) is None
    work = solve(SMALL).work
    assert seconds(work, 0.25) == pytest.approx(4 * seconds(work, 1.0))


def test_a_small_plan_runs_whole() -> None:
    (one,) = depths(solve({**SPEC, "model": "llama-3.2-1b", "seq": 1024}).work, 170 * GIB)
    assert one.model.layers == 16


def test_words_are_cut_only_where_two_layers_do_not_fit() -> None:
    work = solve(SPEC).work
    least = guess(cut(work, 2)).memory.low
    first, *_ = depths(work, least)
    assert first.model.vocab == work.model.vocab
    first, *_ = depths(work, 0.9 * least)
    assert first.model.vocab < work.model.vocab
    assert depths(work, 1e6) == ()


@pytest.mark.parametrize("layers", [1, 2, 3, 80])
def test_one_depth_speaks_for_the_whole_plan_only_where_it_is_the_whole_plan(layers: int) -> None:
    work = solve({**SPEC, "model": {"name": "llama-3-70b", "layers": layers}}).work
    for room in (guess(cut(work, 1, words)).memory.low for words in (None, 32_000, 8_000)):
        found = [one.model.layers for one in depths(work, 1.001 * room)]
        assert len(found) == 2 or found in ([], [layers]), (room, found)


def test_the_order_names_all_that_a_rank_builds() -> None:
    told = order(cut(solve({**SPEC, "parallel": {"tp": 2, "fsdp": 4}}).work, 3), 1, 2)
    assert (told["layers"], told["tp"], told["shard"], told["sequence"], told["recompute"]) == (3, 2, 4, True, "full")
    assert (told["mixed"], told["autocast"], told["fused_step"], told["reshard"]) == (True, False, True, True)


@pytest.mark.parametrize(
    ("gpus", "world", "device", "words"),
    [
        (_gpus(2), None, "auto", "the plan is for 8 GPUs and torch sees 2 here: try it there, or plan for this"),
        ([], None, "auto", "torch sees none here"),
        (_gpus(8, 64), None, "auto", "has 64 GiB: try it there"),
        (_gpus(8), 4, "auto", "cannot be used with --world 4"),
    ],
)
def test_another_machine_than_the_plans_is_refused_with_what_to_do(
    gpus: list[dict[str, Any]], world: int | None, device: str, words: str
) -> None:
    with pytest.raises(PlanError, match=words):
        setting_of(solve(SPEC).work, HELLO, gpus, world, device)


def test_a_plan_for_many_nodes_is_refused() -> None:
    with pytest.raises(PlanError, match="for 128 ranks"):
        setting_of(solve({**SPEC, "gpus": 128, "parallel": {"fsdp": 128}}).work, HELLO, _gpus(8), None, "auto")


def test_the_plans_own_machine_takes_a_gpu_a_rank() -> None:
    found = setting_of(solve(SPEC).work, HELLO, _gpus(8, 191.7), None, "auto")
    assert (found.world, found.backend, found.device) == (8, "nccl", "cuda")
    found = setting_of(solve(SPEC).work, HELLO, [], None, "cpu")
    assert (found.world, found.backend, found.device) == (8, "gloo", "cpu")


def test_a_question_holds_the_whole_plan() -> None:
    given = {**SPEC, "model": {"name": "my own model", "layers": 2, "hidden": 64}}
    asked = Request(no_modes=True, plan=plan_word(given), device="cpu")
    again = request_of(asked.question())
    assert again == asked
    assert json.loads(again.plan) == given
