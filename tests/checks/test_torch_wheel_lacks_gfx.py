from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import TorchBuild
from tests.kit import amd_gpu, environment, judge, k, machine, severities, states, u

NAME = "torch-wheel-lacks-gfx"
LIST = ("gfx900", "gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100")
BARE = environment({})


def build(*targets: str, complete: bool = True, **more: Any) -> TorchBuild:
    facts: dict[str, Any] = {"version": k("2.5.1+rocm6.2"), "hip": k("6.2.41133"), "cuda": k(None)}
    return TorchBuild(**(facts | {"arch_list": k(targets or LIST), "arch_list_complete": complete} | more))


def test_a_target_that_is_in_the_list_passes() -> None:
    assert states(judge(NAME, machine(amd_gpu(), torch=build()))) == ["pass"]
    assert states(judge(NAME, machine(amd_gpu(gfx="gfx1102"), torch=build("gfx11-generic")))) == ["pass"]


def test_a_target_without_code_is_an_error_that_names_both() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(gfx="gfx1201"), torch=build(), environment=BARE))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert verdict.finding.confidence == "certain"
    assert verdict.finding.message == (
        "torch 2.5.1+rocm6.2 has no code for gfx1201. It has gfx900, gfx906, gfx90a, gfx942, gfx1030, gfx1100."
    )


def test_where_only_its_group_has_code_the_override_is_named_as_a_last_resort() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(gfx="gfx1031"), torch=build(), environment=BARE))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert verdict.finding.severity == "error"
    assert "HSA_OVERRIDE_GFX_VERSION=10.3.0" in verdict.finding.fix.text
    # An override may be set where this evidence does not reach.
    assert severities(judge(NAME, machine(amd_gpu(gfx="gfx1031"), torch=build()))) == ["info"]


def test_an_override_within_the_group_is_no_fault_of_the_wheel() -> None:
    override = environment({"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})
    assert states(judge(NAME, machine(amd_gpu(gfx="gfx1031"), torch=build(), environment=override))) == ["pass"]
    by_node = environment({"HSA_OVERRIDE_GFX_VERSION_2": "10.3.0"})
    gpu = amd_gpu(gfx="gfx1031", kfd_node=2)
    assert states(judge(NAME, machine(gpu, torch=build(), environment=by_node))) == ["pass"]


def test_an_override_to_another_group_is_judged_elsewhere() -> None:
    override = environment({"HSA_OVERRIDE_GFX_VERSION": "11.0.0"})
    assert states(judge(NAME, machine(amd_gpu(gfx="gfx1031"), torch=build(), environment=override))) == [
        "not-applicable"
    ]


def test_a_second_card_or_an_integrated_gpu_is_less_than_an_error() -> None:
    pair = machine(amd_gpu(), amd_gpu(1, gfx="gfx803"), torch=build(), environment=BARE)
    assert severities(judge(NAME, pair)) == ["warning"]
    assert severities(judge(NAME, machine(amd_gpu(gfx="gfx1103", integrated=True), torch=build()))) == ["info"]


def test_an_override_to_a_target_without_code_is_named() -> None:
    override = environment({"HSA_OVERRIDE_GFX_VERSION": "10.3.2"})
    (verdict,) = judge(NAME, machine(amd_gpu(gfx="gfx1031"), torch=build("gfx1100"), environment=override))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert "no code for gfx1031, run as gfx1032" in verdict.finding.message
    assert "10.3.0" not in verdict.finding.fix.text


def test_a_target_that_the_tables_lack_is_unknown() -> None:
    assert states(judge(NAME, machine(amd_gpu(gfx="gfx1399"), torch=build()))) == ["unknown"]


def test_the_list_of_the_official_wheel_stands_in_where_nothing_was_read() -> None:
    unread = build(arch_list=u())
    (verdict,) = judge(NAME, machine(amd_gpu(gfx="gfx1201"), torch=unread, environment=BARE))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.confidence) == ("warning", "likely")
    assert states(judge(NAME, machine(amd_gpu(), torch=unread))) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu(gfx="gfx1201"), torch=build(complete=False)))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(gfx=u()), torch=build()))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(gfx="gfx1201"), torch=build(arch_list=u(), version=k("2.5.1"))))) == [
        "unknown"
    ]
    cuda = TorchBuild(version=k("2.9.0"), hip=k(None), cuda=k("12.8"))
    assert states(judge(NAME, machine(amd_gpu(), torch=cuda))) == ["not-applicable"]
    assert states(judge(NAME, machine(amd_gpu(gfx="gfx803", driver=None), torch=build()))) == ["not-applicable"]
    assert states(judge(NAME, machine(torch=build()))) == ["not-applicable"]
