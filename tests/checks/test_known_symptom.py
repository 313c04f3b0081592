"""A symptom that several causes have."""

from __future__ import annotations

from typing import Any

from rocdoctor.insight.texts.open_symptoms import remaining, telling_apart
from rocdoctor.model.facts import Machine, Message
from tests.kit import amd_gpu, environment, judge, k, machine, states

_CRASH = Message("sign-crash", 3, "crashes while the model is loaded", narrated=True)
_AMD = Message("sign-amd", 1, "ROCm")
_OVERRIDE = environment({"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}, complete=False)


def _machine(*messages: Message, **more: Any) -> Machine:
    return machine(amd_gpu(gfx=k("gfx1151")), gpus_complete=False, messages=messages, **more)


def _causes(of: Machine) -> list[str]:
    return [one.finding.cause for one in judge("known-symptom", of) if one.finding is not None]


def test_a_crash_with_an_override_leaves_two_causes() -> None:
    verdicts = judge("known-symptom", _machine(_CRASH, _AMD, environment=_OVERRIDE))
    assert states(verdicts) == ["fail", "fail"]
    first = verdicts[0].finding
    assert first is not None
    assert (first.cause, first.confidence, first.undecided) == ("hsa-override-wrong", "possible", True)
    assert first.evidence[0].value == "crashes while the model is loaded"
    assert _causes(_machine(_CRASH, _AMD, environment=_OVERRIDE)) == ["hsa-override-wrong", "gpu-arch-not-built"]


def test_without_the_override_the_condition_does_not_hold() -> None:
    assert states(judge("known-symptom", _machine(_CRASH, _AMD))) == ["not-applicable"]


def test_what_speaks_against_the_machine_silences_it() -> None:
    for kind in ("sign-of-code", "sign-of-release", "sign-of-wish", "prose-hang-in-code"):
        against = Message(kind, 5, "AttributeError")
        assert _causes(_machine(_CRASH, _AMD, against, environment=_OVERRIDE)) == [], kind


def test_what_is_only_quoted_or_advice_is_no_symptom() -> None:
    for role in ("quoted", "advice"):
        said = Message("sign-crash", 3, "crashes", role=role)
        assert _causes(_machine(said, _AMD, environment=_OVERRIDE)) == []


def test_no_text_no_symptom() -> None:
    assert states(judge("known-symptom", machine(amd_gpu()))) == ["not-applicable"]


def test_the_commands_tell_only_of_causes_that_remain() -> None:
    of = _machine(
        Message("sign-hang", 2, "hangs"),
        Message("sign-collective", 2, "all_reduce"),
        Message("prose-several-nodes", 1, "two nodes"),
        Message("sign-at-start-of-job", 2, "at once"),
    )
    found = remaining(of)
    assert found is not None
    assert [one.answer.cause for one in found.causes] == ["network-interface-wrong", "rendezvous-name-resolution"]
    (step,) = telling_apart(of, [one.answer.cause for one in found.causes])
    # A limit of locked memory is a matter of RDMA adapters, of which this text names none.
    assert [one.cause for one in step.outcomes] == ["network-interface-wrong", "rendezvous-name-resolution"]
