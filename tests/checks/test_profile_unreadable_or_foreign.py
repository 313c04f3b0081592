from __future__ import annotations

from dataclasses import replace

from tests.kit import judge, k, machine, nvidia_gpu, severities, states
from tests.profile_kit import CHECKS, against, verdicts, whole

NAME = "profile-unreadable-or-foreign"


def test_without_a_profile_and_with_its_own() -> None:
    assert states(judge(NAME, whole())) == ["not-applicable"]
    assert states(verdicts(NAME, whole(), whole())) == ["pass"]


def test_lines_that_make_no_sense_are_named_with_their_lines() -> None:
    odd = against(whole(), whole(), ("  kernel:", "  kernal:"))
    found = judge(NAME, odd)
    assert severities(found) == ["warning"]
    assert found[0].finding is not None
    assert "1 line of the profile then.yaml" in found[0].finding.message
    assert "'kernal'" in found[0].finding.message
    where = found[0].finding.evidence[0]
    assert where.source == "profile then.yaml"
    assert where.line is not None


def test_a_profile_of_another_machine_is_said_once_and_compared_with_nothing() -> None:
    other = whole(nvidia_gpu(0), cpus=replace(whole().cpus, model=k("Intel Xeon")))
    now = against(other, whole())
    found = judge(NAME, now)
    assert severities(found) == ["warning"]
    assert found[0].finding is not None
    assert "2 x AMD Instinct MI210 and AMD EPYC 7763" in found[0].finding.message
    assert "1 x NVIDIA H100 80GB HBM3 and Intel Xeon" in found[0].finding.message
    for name in CHECKS:
        if name != NAME:
            assert states(judge(name, now)) == ["not-applicable"], name


def test_new_gpus_in_the_same_machine_or_none_in_an_excerpt_are_not_another_machine() -> None:
    assert states(verdicts(NAME, whole(nvidia_gpu(0)), whole())) == ["pass"]
    assert states(verdicts(NAME, replace(machine(), gpus_complete=False), whole())) == ["pass"]
    no_gpus = replace(machine(), cpus=whole().cpus)
    assert states(verdicts(NAME, no_gpus, whole())) == ["pass"]
    upgraded = whole(cpus=replace(whole().cpus, model=k("AMD EPYC 9654")))
    assert states(verdicts(NAME, upgraded, whole())) == ["pass"]
