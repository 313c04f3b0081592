"""A text whose words are like those of reports with a known cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from rocdoctor.insight.texts import likeness as module
from rocdoctor.insight.texts.likeness import features, hinted_causes, is_report, likely_causes
from rocdoctor.knowledge.messages.likeness import Likened, Likeness, weighed
from rocdoctor.model.facts import Machine, Message, Told
from tests.kit import amd_gpu, judge, machine, states

_TROUBLE = Message("sign-trouble", 2, "fails")
_DOMAIN = Message("sign-domain", 2, "torch")
_WEIGHTS = Likeness(
    ("container-device-access", "device-permission", "not-environment", "shm-too-small"),
    (0.0, 0.0, 0.0, 0.0),
    {"podman": "300A40B20C-40", "render": "300B30", "loss": "300C60", "bus": "300D20", "cdi": "300A60B10D5"},
    0.5,
    0.3,
    (Likened(0.5, 12, 9), Likened(0.6, 7, 6)),
)


@pytest.fixture(autouse=True)
def _few_weights(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "likeness", lambda: _WEIGHTS)
    yield


_OWN = ("My job fails here",)


def _machine(words: Mapping[str, int], *messages: Message, sentences: tuple[str, ...] = _OWN) -> Machine:
    told = Told({word: (count, place) for place, (word, count) in enumerate(words.items(), 1)}, sentences)
    return machine(amd_gpu(), gpus_complete=False, messages=messages or (_TROUBLE, _DOMAIN), told=told)


def test_the_likeliest_causes_are_possible_and_show_their_words() -> None:
    verdicts = judge("like-known-reports", _machine({"podman": 1, "render": 1, "other": 2}))
    assert states(verdicts) == ["fail", "fail"]
    found = [one.finding for one in verdicts if one.finding is not None]
    assert [one.cause for one in found] == ["device-permission", "container-device-access"]
    assert {(one.confidence, one.undecided) for one in found} == {("possible", True)}
    assert [(one.value, one.source, one.line) for one in found[1].evidence] == [("podman", "text", 1)]


def test_the_first_says_how_often_that_was_right() -> None:
    """Its share is exp(4) / (exp(4) + exp(2) + exp(-4) + 1), which is 0.87 and so counted in the second row."""
    found = [one.finding for one in judge("like-known-reports", _machine({"podman": 1})) if one.finding is not None]
    assert [one.cause for one in found] == ["container-device-access", "device-permission"]
    assert [
        one.message.endswith("Of 7 earlier reports that resembled one cause this closely, 6 had it.") for one in found
    ] == [
        True,
        False,
    ]
    assert {each.source for one in found for each in one.evidence} == {"text"}, "words alone are at most a warning"
    assert _WEIGHTS.how_often(0.55) == Likened(0.5, 12, 9)
    assert _WEIGHTS.how_often(0.4) is None


def test_a_third_cause_that_is_far_behind_is_not_named() -> None:
    """exp(6), exp(1) and exp(0.5): the second remains beside the first, the third has a word too and is too far."""
    far = _machine({"cdi": 1})
    assert [one.cause for one in likely_causes(far)] == ["container-device-access", "device-permission"]
    assert {one.cause: one.words for one in weighed(_WEIGHTS, features(far))}["shm-too-small"] == ("cdi",)


def test_what_the_text_contradicts_is_not_named() -> None:
    passed = Message("sign-gpu-passed-in", 2, "--device=/dev/kfd")
    unseen = Message("sign-gpu-not-found", 2, "no GPU is found")
    assert likely_causes(_machine({"podman": 1}, _TROUBLE, _DOMAIN, passed)) == ()
    assert likely_causes(_machine({"podman": 1}, _TROUBLE, _DOMAIN, passed, unseen))
    meant = Message("sign-node-has-no-gpu", 2, "the login node has no GPU")
    assert likely_causes(_machine({"podman": 1}, _TROUBLE, _DOMAIN, meant)) == ()
    second = _machine({"podman": 1, "render": 1}, _TROUBLE, _DOMAIN, passed)
    assert [one.cause for one in likely_causes(second)] == ["device-permission"]


def test_below_the_threshold_it_says_nothing() -> None:
    assert likely_causes(_machine({"podman": 1, "loss": 3})) == ()
    assert states(judge("like-known-reports", _machine({"loss": 1}))) == ["not-applicable"]


def test_many_causes_that_are_a_little_likely_are_none() -> None:
    """All of the environment together have nearly everything, and none of them half."""
    three = _machine({"podman": 1, "bus": 2})
    shares = {one.cause: one.share for one in weighed(_WEIGHTS, features(three))}
    assert sum(share for cause, share in shares.items() if cause != "not-environment") > 0.98
    assert likely_causes(three) == ()


def test_between_the_thresholds_causes_are_looked_for_and_not_named() -> None:
    between = _machine({"podman": 1, "bus": 2})
    assert likely_causes(between) == () and states(judge("like-known-reports", between)) == ["not-applicable"]
    assert hinted_causes(between)[0] == "container-device-access"
    assert hinted_causes(_machine({"podman": 1})) == (), "they are named"
    assert hinted_causes(_machine({"podman": 1, "loss": 2})) == (), "the program is likelier"


@pytest.mark.parametrize(
    "sentences",
    [
        (),
        ("You need a newer build when podman fails.",),
        ("It failed last month, since then the counters are still.",),
        ("Is the second line in the log of podman normal?",),
        ("The lines of podman worry us, are they normal?",),
    ],
    ids=["no sentence", "advice", "past", "only asks", "asks whether it is normal"],
)
def test_what_is_no_report_of_trouble_is_not_weighed(sentences: tuple[str, ...]) -> None:
    assert likely_causes(_machine({"podman": 1}, sentences=sentences)) == ()


def test_somebody_who_tells_of_their_own_trouble_may_say_you() -> None:
    assert is_report(_machine({"podman": 1}, sentences=("My job fails, can you help?", "It is podman here.")))


@pytest.mark.parametrize(
    "messages",
    [
        (_TROUBLE,),
        (_DOMAIN,),
        (_TROUBLE, _DOMAIN, Message("told-mended", 3, "fixed it")),
        (_TROUBLE, _DOMAIN, Message("prose-is-request", 3, "please add")),
    ],
    ids=["not of this domain", "no trouble", "over", "a wish"],
)
def test_what_speaks_against_the_machine_silences_it(messages: tuple[Message, ...]) -> None:
    of = machine(gpus_complete=False, messages=messages, told=Told({"podman": (1, 1)}, ("My job fails here",)))
    assert likely_causes(of) == ()


def test_a_symptom_goes_before_words() -> None:
    of = _machine(
        {"podman": 1},
        Message("sign-crash", 3, "crashes"),
        Message("sign-processor-with-graphics", 1, "Ryzen 9 7900X"),
        Message("sign-amd", 1, "ROCm"),
        _DOMAIN,
    )
    assert likely_causes(of)
    assert states(judge("like-known-reports", of)) == ["not-applicable"]
    assert judge("known-symptom", of)[0].finding is not None


def test_signs_and_vendors_are_weighed_too() -> None:
    assert features(_machine({"podman": 2})) == {"podman": 2, "sign-trouble": 1, "sign-domain": 1, "vendor-amd": 1}


def test_no_text_nothing_to_weigh() -> None:
    assert states(judge("like-known-reports", machine(amd_gpu()))) == ["not-applicable"]


def test_a_name_that_a_module_lacks_is_a_matter_of_its_code() -> None:
    name = Message("python-name-absent", 3, "cannot import name")
    of = _machine({"podman": 1}, _TROUBLE, _DOMAIN, name)
    assert likely_causes(of) and states(judge("like-known-reports", of)) == ["not-applicable"]


def test_what_works_beside_the_program_speaks_for_the_machine() -> None:
    others = Message("said-others-work-on-gpu", 3, "works in other programs")
    of = _machine({"podman": 1}, _TROUBLE, _DOMAIN, others)
    assert likely_causes(of) and states(judge("like-known-reports", of)) == ["not-applicable"]
