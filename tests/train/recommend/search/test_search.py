"""Candidates: what is tried, and that each is what the estimate says of it."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice

import pytest

from rocdoctor.train.emit import megatron_limits
from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.model.specification import spec_of
from rocdoctor.train.recommend.plan import Software
from rocdoctor.train.recommend.search.candidates import Candidate, Search, host_bytes, usual_frameworks
from rocdoctor.train.recommend.search.forms import step_level
from rocdoctor.train.recommend.search.layouts import layouts
from rocdoctor.train.recommend.search.savers import PLAIN, SAVERS, savers_of
from tests.plans_once import recommend
from tests.train.recommend.fleet_kit import FLEETS, fleet, work


@pytest.mark.parametrize(("gpus", "nodes"), FLEETS)
@pytest.mark.parametrize("method", ["pretrain", "full", "lora", "qlora"])
def test_a_candidate_is_what_the_estimate_says_of_its_specification(gpus: str, nodes: int, method: str) -> None:
    where, what = fleet(gpus, nodes), work("llama-3.2-1b", method=method, seq=1024)
    search = Search(where, what)
    found: list[Candidate] = []
    for saver in (PLAIN, *SAVERS):  # each seventh of the first ones: they are made as they are taken
        most = 40 if saver is PLAIN else 4
        found += islice(search.candidates(usual_frameworks(where, what), saver), 0, 7 * most, 7)
    assert found
    for one in found:
        again = solve(spec_of(where, what, one.work))
        assert (again.work, again.fits) == (one.work, one.fits)
        assert again.memory == one.memory
        assert again.speed == one.speed


@pytest.mark.parametrize("framework", ["megatron", "deepspeed", "fsdp1"])
def test_other_frameworks_round_trip_too(framework: str) -> None:
    where, what = fleet("8xH100-SXM", 2), work("mixtral-8x7b", seq=4096)
    for one in list(Search(where, what).candidates((framework,)))[::5][:30]:  # type: ignore[arg-type]
        again = solve(spec_of(where, what, one.work))
        assert (again.work, again.memory, again.speed) == (one.work, one.memory, one.speed)


def test_every_kind_of_parallelism_is_tried() -> None:
    where, what = fleet("8xMI300X", 4), work("mixtral-8x7b", seq=65_536)
    tried = [raw for raw, _ in layouts(where, what, "fsdp2")]
    for key in ("tp", "pp", "cp", "ep", "fsdp", "replicate", "vpp"):
        assert any(raw.get(key, 1) > 1 for raw in tried), key
    assert {str(raw.get("schedule")) for raw in tried} >= {"1F1B", "Interleaved1F1B", "ZBVZeroBubble"}


def test_tensor_parallelism_stays_inside_an_island() -> None:
    where = replace(fleet("8xMI300X", 2), islands=((0, 1, 2, 3), (4, 5, 6, 7)))
    sizes = {int(raw.get("tp", 1)) for raw, _ in layouts(where, work("llama-3.1-70b"), "fsdp2")}
    assert max(sizes) == 4


def test_sizes_that_do_not_divide_the_heads_are_not_tried() -> None:
    # 14 heads with 2 groups of keys: tensor parallelism over 4 would cut a group.
    sizes = {int(raw.get("tp", 1)) for raw, _ in layouts(fleet(), work("qwen2.5-0.5b"), "fsdp2")}
    assert max(sizes) == 2


@pytest.mark.parametrize("total", [64, 96, 24])
def test_a_global_batch_is_kept_exactly(total: int) -> None:
    what = work("llama-3.2-1b", global_batch=total)
    found = list(Search(fleet(), what).candidates(("ddp", "fsdp2")))
    assert found
    assert {one.work.micro_batch * one.work.microbatches * one.work.parallel.dp for one in found} == {total}


def test_a_pipeline_has_work_for_every_stage() -> None:
    what = work("llama-3.1-8b", global_batch=16)
    staged = [one for one in Search(fleet(), what).candidates(("fsdp2",)) if one.work.parallel.pp > 1]
    assert staged
    assert all(one.work.microbatches >= one.work.parallel.pp for one in staged)


def test_what_a_format_cannot_express_is_not_proposed() -> None:
    def refuses(one: Work) -> str | None:
        return "no recompute here" if one.recompute != "none" else None

    search = Search(fleet(), work("llama-3.1-8b"), (refuses,))
    found = list(search.candidates(("fsdp2",)))
    assert found
    assert {one.work.recompute for one in found} == {"none"}
    assert search.refused["no recompute here"] > 0


def test_states_move_to_main_memory_only_where_it_is_known_and_holds_them() -> None:
    what = work("llama-3.1-8b", method="full", seq=2048)
    offload = next(one for one in SAVERS if one.offload == "optimizer")

    def tried(ram: float | None) -> list[Candidate]:
        where = fleet("2xRX 7900 XTX", 1, ram)
        where = where if ram is not None else replace(where, host_memory_bytes=None)
        return list(Search(where, replace(what, seq=512)).candidates(("ddp", "fsdp2"), offload))

    assert not tried(None)
    assert not tried(32)
    big = Search(fleet("8xMI210", 1, 2000), what)
    one = next(iter(big.candidates(("ddp", "fsdp2"), offload)))
    # Adam's moments, fp32 master weights and gradients: 16 B a parameter over 8 ranks, half as much again for buffers.
    assert host_bytes(one.work, big.rows) == pytest.approx(1.5 * 16 * 8.03e9 / 8, rel=0.02)


def test_states_move_to_main_memory_with_plain_sharding_alone() -> None:
    where, what = fleet("2xRTX 4090", 1, 500), work("llama-3.1-8b", seq=2048)
    moved = [
        one for saver in SAVERS if saver.offload for one in Search(where, what).candidates(("ddp", "fsdp2"), saver)
    ]
    assert moved
    assert all(one.work.parallel.tp == one.work.parallel.pp == 1 for one in moved)


def test_an_integrated_gpu_has_no_memory_beside_it() -> None:
    where = replace(fleet("RX 7900 XTX", 1, 500), integrated=True)
    what = work("llama-3.2-3b", method="full", seq=512)
    assert not [one for saver in SAVERS if saver.offload for one in Search(where, what).candidates(("ddp",), saver)]


def test_deepspeed_joins_only_to_move_states() -> None:
    where, what = fleet("2xRX 7900 XTX", 1, 500), work("llama-3.2-3b", method="full", seq=512)
    for saver in (PLAIN, *SAVERS):
        used = {one.work.framework for one in Search(where, what).candidates(usual_frameworks(where, what), saver)}
        assert ("deepspeed" in used) == (saver.offload in ("optimizer", "all")), saver.name


def test_each_thing_more_to_set_up_must_pay() -> None:
    found = list(Search(fleet(), work("llama-3.2-1b")).candidates(("ddp", "fsdp2")))
    plain = next(one for one in found if one.level == 0)
    assert plain.speed is not None
    same = replace(plain, level=2.0)
    assert same.score < plain.score
    assert same.score == pytest.approx(0.95**2 * plain.score)


@pytest.mark.parametrize(
    ("gpus", "model"),
    [
        ("8xH100-SXM", "llama-3.1-8b"),
        ("4xRTX 3090", "llama-3.2-1b"),
        ("8xRTX 4090", "llama-3.2-1b"),
        ("8xA100-80GB", "qwen2.5-14b"),
    ],
)
def test_a_small_model_that_fits_sharded_is_not_cut_into_stages_or_columns(gpus: str, model: str) -> None:
    plan = recommend(fleet(gpus), work(model)).plan
    assert plan is not None
    sizes = plan.work.parallel
    assert (sizes.tp, sizes.pp, sizes.shard) == (1, 1, plan.fleet.gpus)


def test_stages_of_plain_pytorch_cannot_share_the_embedding_with_the_head() -> None:
    tied, own = work("llama-3.2-1b"), work("llama-3.1-8b")
    assert tied.model.tied
    assert not own.model.tied
    assert not any("pp" in sizes for sizes, _ in layouts(fleet("8xMI300X"), tied, "fsdp2"))
    assert any("pp" in sizes for sizes, _ in layouts(fleet("8xMI300X"), own, "fsdp2"))
    assert any("pp" in sizes for sizes, _ in layouts(fleet("8xMI300X"), tied, "megatron"))


def test_eight_bit_optimizers_are_for_whole_states_alone() -> None:
    search = Search(fleet("8xMI300X"), work("llama-3.1-8b", method="full"))
    saver = next(one for one in SAVERS if one.optimizer == "adam8bit")
    frameworks: tuple[Framework, ...] = ("ddp", "fsdp2", "deepspeed", "megatron")
    assert {one.work.framework for one in search.candidates(frameworks, saver)} == {"ddp"}


def test_every_micro_batch_that_divides_the_batch_is_tried() -> None:
    what = work("llama-3.2-1b", global_batch=8 * 6)
    sizes = {one.work.micro_batch for one in Search(fleet(), what).candidates(("fsdp2",))}
    assert {1, 2, 3, 6} <= sizes
    free = {one.work.micro_batch for one in Search(fleet(), work("llama-3.2-1b")).candidates(("fsdp2",))}
    assert {1, 2, 3, 5, 6, 7} <= free


def test_without_a_batch_nothing_or_a_usual_batch_is_accumulated() -> None:
    def counts(**options: object) -> set[int]:
        found = Search(fleet(), work("llama-3.2-1b", **options)).candidates(("ddp",))
        return {one.work.microbatches for one in found if one.work.micro_batch == 1}

    assert counts(method="lora") == {1, 2}  # 16 sequences over eight ranks
    assert counts(seq=8192) == {1, 16}  # 2**20 tokens over eight ranks
    cpu = Search(replace(fleet("RX 7900 XTX"), vendor="cpu"), work("smollm2-135m", seq=1024))
    assert {one.work.microbatches for one in cpu.candidates(("ddp",))} == {1}
    tuned = cpu.like(workload=work("smollm2-135m", method="lora", seq=512))
    assert {one.work.microbatches for one in tuned.candidates(("ddp",)) if one.work.micro_batch == 1} == {1, 16}


def test_a_short_step_of_fine_tuning_must_pay() -> None:
    def levels(**options: object) -> dict[int, float]:
        found = Search(fleet("MI300X"), work("llama-3.2-1b", method="full", seq=1024, **options)).candidates(("ddp",))
        return {one.sequences: one.level for one in found if one.work.recompute == "none" and not one.work.compile}

    free = levels()
    assert free[1] == free[7] == free[8] + 3 == free[16] + 3
    assert set(levels(global_batch=4).values()) == {free[16]}  # asked for


def test_steps_of_pretraining_are_compared_at_usual_lengths() -> None:
    where, what = fleet("8xMI300X"), work("llama-3.1-70b", seq=8192)
    # A million tokens are 128 sequences, 16 million 2,048.
    assert [step_level(where, what, n) for n in (1, 63, 64, 2048, 2049)] == [1.0, 1.0, 0.0, 0.0, 10.0]
    asked = replace(what, global_batch=1)
    assert step_level(where, asked, 1) == step_level(where, asked, 4096) == 0.0
    assert step_level(replace(where, vendor="cpu"), what, 1) == 0.0  # a usual step would take hours
    plan = recommend(where, what)
    assert plan.plan is not None
    short = 2 * plan.plan.global_batch < 128
    assert any("few for pretraining. With --global-batch" in line for line in plan.notes) is short
    asked_for = recommend(where, replace(what, global_batch=128))
    assert not any("few for pretraining" in line for line in asked_for.notes)


def test_no_step_of_pretraining_is_longer_than_any_published_one() -> None:
    plan = recommend(fleet("8xH100-SXM", 1024), work("llama-3.1-8b", seq=8192)).plan
    assert plan is not None and plan.global_batch * 8192 <= 2**24
    assert plan.why("micro_batch") == "a larger one would make steps larger than usual"


def test_a_micro_batch_that_only_a_whole_graph_holds_says_so() -> None:
    plan = recommend(fleet("RTX 4090"), work("qwen2.5-7b", method="full", seq=1024)).plan
    assert plan is not None and plan.work.compile
    # The next size fits compiled, and not as it is.
    larger = replace(plan.work, micro_batch=plan.work.micro_batch + 1)
    fit = [solve(spec_of(plan.fleet, plan.workload, one)).fits for one in (larger, replace(larger, compile=False))]
    assert fit[0] == "yes" != fit[1]
    assert "only if torch.compile meets no graph break" in plan.why("micro_batch")


def test_model_code_of_hugging_face_is_compiled_where_it_fits_without_too() -> None:
    def tuned(gpus: str, **options: object) -> list[Candidate]:
        return list(Search(fleet(gpus), work("llama-3.1-8b", seq=2048, **options)).candidates(("ddp",)))

    for options, used in (
        ({"method": "lora"}, {False, True}),
        ({"method": "qlora"}, {False}),  # 4-bit weights break the graph
        ({"method": "lora", "model": "gpt-oss-20b"}, {False}),
    ):
        model = str(options.pop("model", "llama-3.1-8b"))
        found = Search(fleet("8xH100-SXM"), work(model, seq=2048, **options)).candidates(("ddp",))
        assert {one.work.compile for one in found} == used, (model, options)
    assert not any(one.work.compile for one in tuned("RX 7900 XTX", method="lora"))  # no attention kernel there
    for one in tuned("RTX A6000", method="lora"):
        if one.work.compile:
            bare = replace(one.work, compile=False)
            assert solve(spec_of(fleet("RTX A6000"), work("llama-3.1-8b", method="lora"), bare)).fits == "yes"


def test_layers_and_loss_are_compiled_where_kernels_are_generated() -> None:
    def compiled(gpus: str, **options: object) -> set[bool]:
        found = Search(fleet(gpus), work("llama-3.2-1b", seq=1024, **options)).candidates(("fsdp2",))
        return {one.work.compile for one in found}

    assert compiled("8xMI300X") == {False, True}
    assert compiled("8xMI100") == {False}  # no flash kernel was built for it
    assert compiled("8xMI300X", method="full") == {False}  # the formats of Hugging Face compile before they shard


def test_some_layers_alone_are_recomputed() -> None:
    found = list(Search(fleet(), work("llama-3.1-8b", seq=8192)).candidates(("fsdp2", "megatron")))
    assert {one.work.recompute_layers for one in found if one.work.recompute == "full"} >= {None, 8, 16, 24}
    part = next(one for one in found if one.work.recompute_layers == 16)
    assert part.work.recompute == "full"


def test_megatron_is_compared_where_its_code_computes_the_model() -> None:
    where = fleet("8xMI300X")
    assert "megatron" in usual_frameworks(where, work("llama-3.1-8b"))
    assert "megatron" not in usual_frameworks(where, work("llama-3.1-8b", method="full"))
    assert "megatron" not in usual_frameworks(where, work("gemma-7b"))
    assert "megatron" not in usual_frameworks(fleet("MI300X"), work("llama-3.1-8b"))


def test_megatron_that_is_installed_is_no_extra_program() -> None:
    bare, what = fleet("8xH100-SXM"), work("llama-3.1-8b")
    levels = []
    for packages in ({"peft": "0.21"}, {"megatron-core": "0.19.2"}):
        where = replace(bare, software=Software(packages=packages))
        levels.append(min(one.level for one in Search(where, what).candidates(("megatron",))))
    assert levels[0] - levels[1] == 4.0


def test_recomputed_layers_are_compiled_on_several_gpus_with_a_torch_that_can() -> None:
    bare, what = fleet("4xRTX-4090"), work("llama-3.1-8b", method="lora")
    found = []
    for torch in ("2.6.0+cu124", "2.13.0", None):
        where = replace(bare, software=Software(torch=torch))
        plans = list(Search(where, what).candidates(("ddp",), SAVERS[0]))
        assert any(one.work.recompute == "full" for one in plans)
        found.append(any(one.work.recompute == "full" and one.work.compile for one in plans))
    assert found == [False, True, True]


def test_one_fast_node_gets_no_pipeline_of_plain_pytorch() -> None:
    for model in ("llama-3.1-8b", "llama-2-7b", "qwen3-14b"):
        plan = recommend(fleet("4xMI250X"), work(model)).plan
        assert plan is not None
        assert plan.work.parallel.pp == 1, model


def test_sixteen_bit_states_come_before_eight_bit_ones_and_both_before_main_memory() -> None:
    savers = savers_of(fleet("8xMI300X"), work("llama-3.1-8b", method="full"))
    kinds = ["moved" if one.offload else one.optimizer if one.optimizer != "adam" else "" for one in savers]
    assert kinds == sorted(kinds, key=["", "adam8bit", "moved"].index)
    assert not any(one.pure_bf16 for one in savers_of(fleet("8xMI300X"), work("llama-3.1-8b")))
    where, what = fleet("8xMI300X"), work("llama-3.1-8b", method="full")
    pure = next(one for one in savers if one.pure_bf16)
    one = next(iter(Search(where, what).candidates(("fsdp2",), pure)))
    assert solve(spec_of(where, what, one.work)).work == one.work


def test_states_stay_on_the_gpus_where_16_bit_moments_let_them() -> None:
    """405 B parameters on 32 GPUs of 192 GiB: 18 B each are 212 GiB a GPU, 12 B with bf16 moments 142 GiB."""
    where, what = fleet("8xMI300X", 4), work("llama-3.1-405b")
    plan = recommend(where, what).plan
    assert plan is not None and plan.result.fits == "yes"
    assert plan.work.optimizer == "adam16bit" and not plan.work.parallel.offload_optimizer
    assert solve(spec_of(where, what, plan.work)).work == plan.work
    # Beside fp32 weights, gradients and moments nothing is changed where they fit.
    roomy = recommend(fleet("8xMI300X", 8), what).plan
    assert roomy is not None and roomy.work.optimizer == "adam"
    assert not any(one.optimizer == "adam16bit" for one in savers_of(where, work("llama-3.1-405b", method="full")))


def test_experts_beyond_a_node_must_pay_for_the_network() -> None:
    def level(size: int) -> float:
        found = layouts(fleet("8xH100-SXM", 4), work("qwen3-30b-a3b"), "megatron")
        return next(level for sizes, level in found if sizes.get("ep", 1) == size and set(sizes) <= _DATA_AND_EXPERTS)

    assert level(8) == level(4) == level(2) < level(16) == level(32)


_DATA_AND_EXPERTS = {"ep", "dp", "dist_opt"}


def test_main_memory_that_is_short_by_less_than_a_gibibyte_is_not_called_enough() -> None:
    answer = recommend(fleet("V100"), work("qwen3-1.7b", method="full", seq=2048))  # 48 GiB are assumed
    (said,) = (one.text for one in answer.needed if "of main memory per node" in one.text)
    wanted, there = (float(one) for one in re.findall(r"(\d+) GiB", said))
    assert wanted > there == 48


def test_seven_nodes_may_be_seven_stages() -> None:
    where, what = fleet("8xMI300X", 7), work("llama-3.1-405b", framework="megatron")
    stages = {int(sizes.get("pp", 1)) for sizes, _ in layouts(where, what, "megatron")}
    assert {7, 14} <= stages
    assert all(where.gpus % one == 0 for one in stages)
    # 405.85 B parameters of 18 bytes on 56 GPUs are 122 GiB each: a plan that divides them by all fits 192 GB.
    plan = recommend(where, what).plan
    assert plan is not None
    assert plan.work.parallel.tp * plan.work.parallel.pp == where.gpus


def test_the_last_stage_of_megatron_may_have_fewer_layers() -> None:
    # 126 layers on a power of two of GPUs: equal stages are two at most.
    where, what = fleet("8xMI300X", 16), work("llama-3.1-405b")

    def stages(framework: Framework) -> set[int]:
        return {int(sizes.get("pp", 1)) for sizes, _ in layouts(where, what, framework)}

    assert stages("fsdp2") == {1, 2}
    assert stages("megatron") == {1, 2, 4, 8, 16, 32}  # 63 stages of two layers leave none for the 64th
    plan = recommend(where, replace(what, framework="megatron")).plan
    assert plan is not None
    assert plan.work.parallel.pp > 2
    assert megatron_limits.refuses(plan.work) is None


@pytest.mark.parametrize("gpus", ["8xT4:16GiB", "RX 580"])
def test_without_known_rates_plans_are_ordered_by_nominal_ones(gpus: str) -> None:
    where = fleet(gpus if ":" in gpus else f"{gpus}:64GiB")
    assert where.gpu.peak is None
    found = list(Search(where, work("qwen2.5-0.5b", method="lora", seq=512)).candidates(("ddp",)))
    assert all(one.speed is None and one.pace > 0 for one in found)
    again = {one.work.recompute: one.pace for one in found if (one.work.micro_batch, one.work.microbatches) == (1, 1)}
    assert again["none"] > again["full"]


def test_a_deeper_pipeline_takes_more_to_set_up_than_a_shallow_one() -> None:
    where, what = fleet("8xMI300X", 16), work("llama-3.1-405b", seq=8192)
    levels = {
        sizes["pp"]: level
        for sizes, level in layouts(where, what, "megatron")
        if sizes.get("tp") == 8 and sizes.get("pp", 1) > 1 and "vpp" not in sizes
    }
    assert levels[2] < levels[4] < levels[8] < levels[16]
    # Eight stages and sixteen are as fast by the estimate, and AMD's recipe for this model has eight.
    plan = recommend(where, what).plan
    assert plan is not None
    assert (plan.work.parallel.tp, plan.work.parallel.pp) == (8, 8)


def test_many_gpus_divide_a_model_no_further_than_it_needs() -> None:
    def parts(nodes: int, name: str) -> set[tuple[int, int]]:
        found = layouts(fleet("8xMI300X", nodes), work(name, seq=8192), "megatron")
        return {(int(sizes.get("tp", 1)), int(sizes.get("pp", 1))) for sizes, _ in found}

    assert max(tp * pp for tp, pp in parts(128, "qwen3-30b-a3b")) == 8
    assert max(tp * pp for tp, pp in parts(16, "qwen3-30b-a3b")) > 8
    assert {(8, 8), (4, 16)} <= parts(128, "llama-3.1-405b")
