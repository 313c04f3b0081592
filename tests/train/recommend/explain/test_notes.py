"""What a plan says beside its values."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from rocdoctor.train.recommend.explain.notes import notes
from rocdoctor.train.recommend.plan import Plan
from rocdoctor.train.recommend.plan import Software as Installed
from tests.plans_once import recommend
from tests.train.recommend.fleet_kit import fleet, work


@cache
def _plan(gpus: str, model: str = "llama-3.2-1b", **options: object) -> Plan:
    answer = recommend(fleet(gpus), work(model, **options))
    assert answer.plan is not None
    return answer.plan


def test_kernels_that_torch_holds_back_are_offered_with_what_they_change() -> None:
    plan = _plan("RX 7900 XTX", method="lora")
    assert not plan.work.flash
    assert any("TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1" in line for line in plan.notes)
    told = recommend(replace(plan.fleet, experimental_kernels=True), plan.workload).plan
    assert told is not None
    assert told.work.flash
    assert not any("TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1" in line for line in told.notes)


def test_a_speed_that_no_run_stands_behind_is_called_a_guess() -> None:
    assert any("is a guess" in line for line in _plan("8xMI210").notes)
    assert not any("is a guess" in line for line in _plan("8xH100-SXM").notes)
    assert not any("is a guess" in line for line in _plan("8xMI300X").notes)  # six runs of AMD's


def test_the_speed_of_experts_is_called_rough() -> None:
    assert any("rough for a mixture of experts" in line for line in _plan("2xMI300X", "qwen3-30b-a3b").notes)
    assert not any("mixture of experts" in line for line in _plan("2xMI300X").notes)


def test_a_package_that_is_missing_is_named_only_where_packages_are_known() -> None:
    where = fleet("8xMI300X")
    what = work("llama-3.2-1b", method="lora")
    for packages, named in ((None, False), ({"peft": "0.20"}, False), ({"torch": "2.13"}, True)):
        answer = recommend(replace(where, software=Installed(packages=packages)), what)
        assert answer.plan is not None
        assert any("peft" in line and "not in the interpreter" in line for line in answer.plan.notes) is named


def test_all_that_a_plan_needs_is_looked_for() -> None:
    where = replace(fleet("RTX 4090"), software=Installed(packages={"transformers": "5.1"}))
    answer = recommend(where, work("llama-3.1-8b", method="qlora", seq=4096))
    assert answer.plan is not None and answer.plan.work.loss == "fused"
    line = next(line for line in answer.plan.notes if "interpreter that was examined" in line)
    assert line.startswith("The packages peft, bitsandbytes, liger-kernel are not in")


def test_a_tight_plan_says_so_first() -> None:
    # RDNA 3 without experimental kernels keeps all scores.
    answer = recommend(fleet("RX 7900 XTX"), work("llama-3.1-8b", method="lora", seq=3584))
    assert answer.plan is not None
    assert answer.plan.result.fits == "tight"
    assert answer.plan.notes[0].startswith("This plan is tight")
    assert len(answer.needed) > 1


def test_a_model_that_all_ranks_cannot_load_at_once_is_loaded_by_one() -> None:
    told = []
    for ram in (1024.0, 2048.0):
        plan = recommend(fleet("8xMI300X", ram=ram), work("llama-3.1-70b", method="lora", framework="fsdp")).plan
        assert plan is not None
        assert plan.work.framework == "fsdp2"
        told.append(any("1051 GiB in all" in line and "cpu_ram_efficient_loading" in line for line in plan.notes))
    assert told == [True, False]  # 70.55 B weights of 2 bytes, eight times


def test_main_memory_that_gpus_share_is_free_while_a_model_is_loaded() -> None:
    plan = _plan("4xMI300A", "qwen3-30b-a3b", method="full")
    assert plan.work.framework == "fsdp2"
    assert not any("cpu_ram_efficient_loading" in line for line in plan.notes)


def test_nvlink_beyond_a_node_is_told_as_an_assumption() -> None:
    plan, told = _plan("4xGB200"), {}
    for nodes in (1, 4, 36):
        lines = notes(replace(plan, fleet=replace(plan.fleet, nodes=nodes)))
        told[nodes] = [line for line in lines if "NVL72 rack" in line]
    assert told[1] == []
    assert "This plan assumes that NVLink joins 4 nodes" in told[4][0]
    assert "This plan assumes that NVLink joins 18 nodes" in told[36][0]


def test_a_step_in_the_backward_pass_names_who_does_it() -> None:
    plan = _plan("RTX 4090", "llama-3.1-8b", method="full")
    assert plan.work.step_in_backward
    assert any("torchtune" in line and "nor clip gradients" in line for line in plan.notes)


def test_stages_that_layers_do_not_fill_evenly_are_counted_as_they_are_written() -> None:
    answer = recommend(fleet("8xH100-SXM", 32), work("llama-3.1-405b", seq=4096))
    plan = answer.plan
    assert plan is not None
    assert (plan.work.framework, plan.work.parallel.pp) == ("megatron", 32)
    figures = {one.key: one.figure for one in plan.choices}
    assert figures["pipeline_parallel"] == "4 layers per stage, 2 in the last"  # 126 layers
    assert "instead of" not in answer.margin  # both hold as much


def test_only_programs_that_can_divide_as_the_plan_does_are_offered() -> None:
    plan = recommend(fleet("8xH200", 2), work("glm-4.5-air", seq=4096)).plan
    assert plan is not None
    assert (plan.work.framework, plan.work.parallel.ep > 1) == ("fsdp2", True)
    assert "emit trainer" not in plan.why("framework")
    assert "--framework megatron" in plan.why("framework")


def test_where_states_in_fp32_would_fit_too_the_plan_says_at_what_cost() -> None:
    told = {}
    for gpu in ("MI300X", "H100-SXM"):  # 8.19 B parameters of 16 bytes are 122 GiB: room on 192 GB, none on 80 GB
        plan = _plan(gpu, "qwen3-8b", method="full", seq=4096)
        assert plan.work.pure_bf16
        told[gpu] = next(one.instead for one in plan.choices if one.key == "optimizer")
    assert told["MI300X"].startswith("fp32 with recompute full would be ")
    assert "slower" in told["MI300X"]
    assert told["H100-SXM"] == ""
