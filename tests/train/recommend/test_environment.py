from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rocdoctor.judging.diagnose import diagnose
from rocdoctor.knowledge.lookup import env_variable
from rocdoctor.model.facts import Machine, Variable
from rocdoctor.model.finding import Verdict
from rocdoctor.train.recommend.environment import (
    POLICIES,
    after_a_test,
    allowed,
    by_node,
    for_diagnosis,
    for_fleet,
    settings,
    version,
    without_visibility,
)
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.fleet.machine_fleet import machine_fleet
from rocdoctor.train.recommend.plan import Fleet, Plan, Setting, Software
from tests.golden.replay import NAMES, judged_fixture, our_checks
from tests.train.emit.plan_kit import fleet, plan


def _values(found: tuple[Setting, ...]) -> dict[str, str]:
    assert len({one.name for one in found}) == len(found)
    assert all(one.reason for one in found)
    return {one.name: one.value for one in found}


def _on(where: Fleet, **fields: Any) -> dict[str, str]:
    return _values(settings(plan(where, **fields)))


def _mi(name: str, gfx: str, hip: str | None, nodes: int = 1, per_node: int = 8) -> Fleet:
    return replace(fleet(name, per_node, nodes), gfx=gfx, software=Software(torch="2.9.0", hip=hip))


def test_threads_are_the_cores_of_a_node_over_its_ranks() -> None:
    assert _on(fleet())["OMP_NUM_THREADS"] == "8"  # 64 cores with 128 threads for 8 ranks
    assert _on(replace(fleet(), cpu_cores=None))["OMP_NUM_THREADS"] == "16"
    # A container may hold fewer threads than the processors have cores.
    assert _on(replace(fleet(), cpu_threads=24))["OMP_NUM_THREADS"] == "3"
    assert _on(replace(fleet(), cpu_threads=4))["OMP_NUM_THREADS"] == "1"
    assert "OMP_NUM_THREADS" not in _on(replace(fleet(), cpu_cores=None, cpu_threads=None))
    assert "OMP_NUM_THREADS" not in _on(fleet(per_node=1))


def test_only_what_is_left_out_is_hidden_and_in_the_order_of_the_ranks() -> None:
    whole = fleet(per_node=2)
    assert "HIP_VISIBLE_DEVICES" not in _on(whole)
    seats = (replace(whole.seats[0], torch_index=2), replace(whole.seats[1], torch_index=1))
    some = replace(whole, seats=seats, left_out=("gpu 0: an integrated GPU",))
    assert _on(some)["HIP_VISIBLE_DEVICES"] == "2,1"
    assert _on(replace(some, vendor="nvidia"))["CUDA_VISIBLE_DEVICES"] == "2,1"
    assert "an integrated GPU" in next(one.reason for one in settings(plan(some)) if "VISIBLE" in one.name)
    unknown = replace(some, seats=(seats[0], replace(seats[1], torch_index=None)))
    assert "HIP_VISIBLE_DEVICES" not in _on(unknown)
    # Ranks 0 and 1 take GPUs 0 and 1 by themselves.
    assert "HIP_VISIBLE_DEVICES" not in _on(replace(whole, left_out=("gpu 2: another kind",)))


@pytest.mark.parametrize("name", ["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "SLURM_JOB_ID"])
def test_gpus_that_somebody_chose_already_stay_chosen(name: str) -> None:
    whole = fleet(per_node=2)
    seats = tuple(replace(seat, torch_index=seat.local_rank + 4) for seat in whole.seats)
    some = replace(whole, seats=seats, left_out=("gpu 0: hidden",), already_set=frozenset((name,)))
    assert not {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"} & set(_on(some))


def test_a_scheduler_hands_gpus_out_by_itself() -> None:
    found = (Setting("HIP_VISIBLE_DEVICES", "1", "x"), Setting("OMP_NUM_THREADS", "1", "x"))
    assert [one.name for one in without_visibility(found)] == ["OMP_NUM_THREADS"]


def _nvidia(torch: str | None) -> Fleet:
    return replace(fleet("H100", vendor="nvidia"), software=Software(torch=torch))


_FULL: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "parallel": {"fsdp": 8},
    "framework": "fsdp2",
    "micro_batch": 4,
    "recompute": "none",
}


def test_growing_segments_where_memory_is_short_under_the_name_that_the_release_reads() -> None:
    made = plan(_nvidia("2.9.1"), **_FULL)
    assert made.result.memory.high > 0.9 * made.work.gpu.usable_bytes
    assert _values(settings(made))["PYTORCH_ALLOC_CONF"] == "expandable_segments:True"
    old = _on(_nvidia("2.8.0"), **_FULL)
    assert old["PYTORCH_CUDA_ALLOC_CONF"] == "expandable_segments:True"
    assert "PYTORCH_ALLOC_CONF" not in old
    for silent in (_nvidia("2.0.1"), _nvidia(None), replace(_nvidia("2.9.1"), container="wsl")):
        assert not [name for name in _on(silent, **_FULL) if "ALLOC" in name]
    # ROCm has them in few builds; plenty of memory needs none; two names would contradict each other.
    amd = replace(fleet(), software=Software(torch="2.9.1", hip="7.2.0"))
    assert not [name for name in _on(amd, **{**_FULL, "micro_batch": 16}) if "ALLOC" in name]
    assert not [name for name in _on(_nvidia("2.9.1"), model="llama-3.2-1b", **_SMALL) if "ALLOC" in name]
    both = replace(_nvidia("2.9.1"), already_set=frozenset(("PYTORCH_CUDA_ALLOC_CONF",)))
    assert not [name for name in _on(both, **_FULL) if "ALLOC" in name]


_SMALL: dict[str, Any] = {"parallel": {"fsdp": 8}, "framework": "fsdp2", "seq": 2048, "recompute": "full"}


def test_megatron_wants_one_queue_on_the_devices_whose_transfers_need_it() -> None:
    tensor = {"framework": "megatron", "parallel": {"tp": 8}}
    name = "CUDA_DEVICE_MAX_CONNECTIONS"
    assert _on(fleet(), **tensor)[name] == "1"
    assert _on(_nvidia(None), **tensor)[name] == "1"
    assert _on(fleet(), framework="megatron", parallel={"cp": 2})[name] == "1"
    assert name not in _on(fleet(), framework="megatron", parallel={"dp": 8})
    assert name not in _on(_nvidia(None), framework="fsdp2", parallel={"tp": 2, "fsdp": 4})
    assert name not in _on(fleet("B200", vendor="nvidia"), **tensor)
    assert name not in _on(replace(fleet("RX 7900 XTX", 2), gfx="gfx1100"), framework="megatron", parallel={"tp": 2})


@pytest.mark.parametrize(
    ("name", "gfx", "hip", "expected"),
    [
        ("MI300X", "gfx942", "6.3.4", True),
        ("MI210", "gfx90a", "6.2.0", True),
        ("MI300X", "gfx942", "6.4.1", False),
        ("MI210", "gfx90a", "7.2.0", False),
        ("MI210", "gfx90a", "7.13.0", True),
        ("MI300X", "gfx942", "7.13.0", False),
        ("MI300X", "gfx942", None, False),
        ("RX 7900 XTX", "gfx1100", "6.3.4", False),
    ],
)
def test_scratch_memory_stays_where_rccl_asks_for_it(name: str, gfx: str, hip: str | None, expected: bool) -> None:
    assert ("HSA_NO_SCRATCH_RECLAIM" in _on(_mi(name, gfx, hip, per_node=2))) is expected
    assert "HSA_NO_SCRATCH_RECLAIM" not in _on(_mi(name, gfx, hip, per_node=1))


def test_what_a_guide_says_of_one_part_is_for_that_part_alone() -> None:
    sharded = {"framework": "fsdp2", "parallel": {"fsdp": 16}}
    pair = {"GPU_MAX_HW_QUEUES", "TORCH_NCCL_HIGH_PRIORITY"}
    assert pair <= set(_on(_mi("MI300X", "gfx942", "7.2.0", nodes=2), **sharded))
    assert not pair & set(_on(_mi("MI210", "gfx90a", "7.2.0", nodes=2), **sharded))
    assert not pair & set(_on(_mi("MI300X", "gfx942", "7.2.0"), framework="fsdp2", parallel={"fsdp": 8}))
    # Primus, AMD's launcher of Megatron-LM, sets them for all Instinct GPUs, and for no others.
    megatron = {"framework": "megatron", "parallel": {"dp": 8}}
    for name, gfx in (("MI300X", "gfx942"), ("MI250X", "gfx90a"), ("MI355X", "gfx950")):
        assert pair <= set(_on(_mi(name, gfx, "7.2.0"), **megatron))
    assert not pair & set(_on(_mi("RX 7900 XTX", "gfx1100", "7.2.0"), **megatron))
    assert not pair & set(_on(_nvidia(None), **megatron))

    assert _on(_mi("MI300X", "gfx942", "6.4.0"))["NCCL_MIN_NCHANNELS"] == "112"
    for other in (_mi("MI300X", "gfx942", "7.0.0"), _mi("MI300X", "gfx942", None), _mi("MI250X", "gfx90a", "6.4.0")):
        assert "NCCL_MIN_NCHANNELS" not in _on(other)
    assert _on(_mi("MI300X", "gfx942", "6.1.2"))["HIP_FORCE_DEV_KERNARG"] == "1"
    assert "HIP_FORCE_DEV_KERNARG" not in _on(_mi("MI300X", "gfx942", "6.2.0"))


def test_fine_grained_memory_over_pcie_is_for_several_amd_cards_without_links() -> None:
    name = "HSA_FORCE_FINE_GRAIN_PCIE"
    assert _on(fleet("RX 7900 XTX", 2))[name] == "1"
    assert name not in _on(fleet("RX 7900 XTX", 1))
    assert name not in _on(fleet())  # XGMI
    assert name not in _on(fleet("RTX 4090", 2, vendor="nvidia"))


def test_the_names_of_interfaces_are_left_to_the_user() -> None:
    several = plan(fleet(nodes=4))
    assert "NCCL_SOCKET_IFNAME" in " ".join(by_node(several))
    assert not [name for name in _values(settings(several)) if "IFNAME" in name or "IB_HCA" in name]
    assert by_node(plan()) == ()
    assert "NCCL" not in " ".join(by_node(plan(fleet("RTX 4090", 2, 2, "cpu"))))


def test_processors_need_threads_alone() -> None:
    assert _values(settings(plan(fleet("RTX 4090", 2, vendor="cpu")))) == {"OMP_NUM_THREADS": "32"}
    assert for_diagnosis(plan(fleet("RTX 4090", 2, vendor="cpu"))) == ()


def test_traces_are_for_diagnosis_alone() -> None:
    names = {one.name for one in for_diagnosis(plan())}
    assert names == {"TORCH_NCCL_DUMP_ON_TIMEOUT", "TORCH_NCCL_TRACE_BUFFER_SIZE"}
    assert not names & set(_values(settings(plan())))


def test_an_override_is_told_as_unsupported_and_never_set() -> None:
    card = replace(fleet("RX 6700 XT", 1), gfx="gfx1031")
    told = {one.name: one for one in after_a_test(plan(card))}
    assert told["HSA_OVERRIDE_GFX_VERSION"].value == "10.3.0"
    assert "not supported" in told["HSA_OVERRIDE_GFX_VERSION"].reason
    assert "HSA_OVERRIDE_GFX_VERSION" not in _on(card)
    assert "HSA_OVERRIDE_GFX_VERSION" not in {one.name for one in after_a_test(plan())}


def test_experimental_attention_is_offered_where_the_plan_counts_on_it() -> None:
    name = "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL"
    card = replace(fleet("RX 7900 XTX", 1), gfx="gfx1100")
    assert name in {one.name for one in after_a_test(plan(card, attention="flash"))}
    assert name not in {one.name for one in after_a_test(plan(card, attention="eager"))}
    assert name not in _on(card, attention="flash")
    assert name not in {one.name for one in after_a_test(plan())}


def test_a_fleet_alone_gets_what_holds_for_any_training() -> None:
    old = _mi("MI300X", "gfx942", "6.1.2")
    found = _values(for_fleet(old))
    assert {"OMP_NUM_THREADS", "NCCL_DEBUG", "HSA_NO_SCRATCH_RECLAIM"} <= set(found)
    assert found.items() <= _on(old).items()


@pytest.mark.parametrize(
    "name",
    [
        "HSA_OVERRIDE_GFX_VERSION",
        "HSA_ENABLE_SDMA",
        "NCCL_SOCKET_IFNAME",
        "NCCL_IB_HCA",
        "TORCH_NCCL_DUMP_ON_TIMEOUT",
        "RANK",
        "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL",
        "NOT_IN_THE_TABLE",
    ],
)
def test_what_the_table_leaves_to_people_is_never_set(name: str) -> None:
    assert not allowed(name, fleet())
    assert allowed("OMP_NUM_THREADS", fleet())


def test_variables_of_one_vendor_are_not_set_for_another() -> None:
    assert allowed("HSA_NO_SCRATCH_RECLAIM", fleet())
    assert not allowed("HSA_NO_SCRATCH_RECLAIM", fleet("H100", vendor="nvidia"))


def test_releases_are_read_as_numbers() -> None:
    assert version("2.13.0+rocm7.2") > version("2.9.0a0+git")
    assert version(None) == version("nightly") == (0, 0)


# What the judge says of a machine with these variables, and did not say without them.


def _with(machine: Machine, found: dict[str, str]) -> Machine:
    merged = {name: Variable(name, value, "env", 1) for name, value in found.items()}
    variables = {**machine.environment.variables, **merged}
    return replace(machine, environment=replace(machine.environment, variables=variables))


def _findings(verdicts: tuple[Verdict, ...]) -> set[tuple[str, str]]:
    return {(one.check, one.finding.message) for one in verdicts if one.finding is not None}


def _new_findings(name: str, found: dict[str, str]) -> set[tuple[str, str]]:
    before = judged_fixture(name)
    after = diagnose(_with(before.machine, found), our_checks())
    return _findings(after.verdicts) - _findings(before.verdicts)


def _plans(where: Fleet) -> list[Plan]:
    """Small and large plans of each framework, so that each rule has its turn."""
    shards = {"fsdp": where.gpus}
    wanted: list[dict[str, Any]] = [
        {"model": "llama-3.2-1b", "framework": "ddp"},
        {"model": "llama-3.1-8b", "framework": "fsdp2", "parallel": shards, "micro_batch": 2},
        {"model": "llama-3.1-70b", "framework": "megatron", "parallel": {"tp": min(2, where.gpus)}},
    ]
    return [plan(where, **one) for one in wanted if where.gpus % 2 == 0 or one["framework"] != "megatron"]


@pytest.mark.parametrize("name", NAMES)
def test_no_check_finds_fault_with_the_environment_of_a_plan(name: str) -> None:
    machine = judged_fixture(name).machine
    try:
        one, several = machine_fleet(machine), machine_fleet(machine, 2)
    except SpecError:
        pytest.skip("the evidence does not tell what to plan for")
    sets = [_values(for_fleet(one))]
    sets += [_values(settings(made)) for where in (one, several) for made in _plans(where)]
    for found in {tuple(sorted(one.items())) for one in sets}:
        assert _new_findings(name, dict(found)) == set()
        for setting in found:
            entry = env_variable(setting[0])
            assert entry is not None
            assert entry.policy in POLICIES


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("mi300x-8gpu", {"OMP_NUM_THREADS": "4096"}),
        ("mi300x-8gpu", {"HIP_VISIBLE_DEVICES": "9"}),
        ("mi300x-8gpu", {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}),
        ("h100-8gpu", {"PYTORCH_ALLOC_CONF": "expandable_segments:true"}),
        ("h100-8gpu", {"NCCL_DEBUG": "WARNING"}),
        ("h100-8gpu", {"NCCL_DEBUGG": "WARN"}),
    ],
)
def test_a_bad_variable_would_have_been_found(name: str, wrong: dict[str, str]) -> None:
    assert _new_findings(name, wrong)
