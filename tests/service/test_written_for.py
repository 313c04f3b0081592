"""Which installed programs a plan can be written for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rocdoctor.service.emitting import checked, files_of, written_for
from rocdoctor.service.errors import UsageError
from rocdoctor.train.emit.targets import Order, target
from rocdoctor.train.recommend.advise import recommend
from rocdoctor.train.recommend.fleet.described_fleet import described
from rocdoctor.train.recommend.model.workload import read_workload
from rocdoctor.train.recommend.plan import Plan, Software
from tests.train.emit.plan_kit import plan

_HERE = {"trl": "1.16.0", "llamafactory": "0.9.5", "deepspeed": "0.19.8", "megatron-core": "0.19.2", "torch": "2.13.0"}


def _on(packages: dict[str, str] | None, **fields: Any) -> Plan:
    made = plan(**fields)
    return replace(made, fleet=replace(made.fleet, software=Software(packages=packages)))


def test_each_program_that_can_be_given_the_plan_is_named() -> None:
    (both,) = written_for(_on(_HERE, method="lora", framework="ddp", parallel={"dp": 8}, recompute="none"))
    assert both.startswith("Installed here: trl 1.16.0, llamafactory 0.9.5. ")
    assert "`rocdoctor emit trl` or `rocdoctor emit llamafactory` with the same options" in both
    (other,) = written_for(_on(_HERE, framework="megatron", parallel={"tp": 8}))
    assert "megatron-core 0.19.2" in other and "trl" not in other


def test_what_its_files_cannot_say_is_not_offered() -> None:
    (one,) = written_for(_on(_HERE, method="lora", framework="fsdp2", parallel={"fsdp": 8}, recompute="none"))
    assert "trl" in one and "llamafactory" not in one
    assert written_for(_on(_HERE, framework="fsdp2", parallel={"fsdp": 4, "tp": 2}, fused_ce="liger")) == ()


def test_where_nothing_is_known_to_be_installed_all_that_train_by_themselves_are_named() -> None:
    for packages in (None, {}, {"torch": "2.13.0"}):
        (note,) = written_for(_on(packages, method="lora", framework="ddp", parallel={"dp": 8}, recompute="none"))
        assert note.startswith("`rocdoctor emit trl` or `rocdoctor emit llamafactory` or `rocdoctor emit axolotl` with")
    # Estimated with model code of its own: no plan for that of Hugging Face.
    assert written_for(_on(None, framework="ddp", parallel={"dp": 8}, recompute="none")) == ()
    (note,) = written_for(_on(None, framework="fsdp2", parallel={"fsdp": 8}, recompute="full"))
    assert note.startswith("`rocdoctor emit torchtitan` with")


def test_a_launcher_beside_torchtitan_starts_it() -> None:
    made = plan(framework="fsdp2", parallel={"fsdp": 8}, recompute="full")
    alone, beside = (files_of(names, made, Order())[-1].text for names in (["slurm"], ["torchtitan", "slurm"]))
    assert ("-m torchtitan.train" in beside, "-m torchtitan.train" in alone) == (True, False)
    own = files_of(["torchtitan", "slurm"], made, Order(script="mine.py"))[-1].text
    assert "mine.py" in own and "torchtitan.train" not in own


def test_a_step_in_the_backward_pass_is_left_to_a_program_of_the_user() -> None:
    what = read_workload("llama-3.1-8b", "full", 2048)
    tuned = recommend(described("A6000:48GiB"), what).plan
    assert tuned is not None and tuned.work.step_in_backward
    for name in ("trainer", "trl", "llamafactory", "accelerate"):
        assert "in it" in str(target(name).refuses(tuned.work))
    text = "".join(one.text for one in files_of(["torchrun"], tuned, Order()))
    assert "register_post_accumulate_grad_hook" in text


def test_a_program_that_is_no_longer_developed_is_answered_with_others() -> None:
    with pytest.raises(UsageError, match=r"not been developed since July 2025.*trl"):
        checked(["torchtune"])
