"""A text whose words are like those of reports with a known cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from rocdoctor.insight.texts import likeness as module
from rocdoctor.insight.texts.likeness import features, hinted_causes, is_report, likely_causes
from rocdoctor.knowledge.messages.likeness import Likeness
from rocdoctor.model.facts import Machine, Message, Told
from tests.kit import amd_gpu, judge, machine, states

_TROUBLE = Message("sign-trouble", 2, "fails")
_DOMAIN = Message("sign-domain", 2, "torch")
_WEIGHTS = Likeness(
    ("container-device-access", "device-permission", "not-environment", "shm-too-small"),
    (0.0, 0.0, 0.0, 0.0),
    {"podman": "300A40B20C-40", "render": "300B30", "loss": "300C60", "bus": "300D20"},
    0.9,
    0.7,
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
    verdicts = judge("like-known-reports", _machine({"podman": 1, "other": 2}))
    assert states(verdicts) == ["fail", "fail"]
    found = [one.finding for one in verdicts if one.finding is not None]
    assert [one.cause for one in found] == ["container-device-access", "device-permission"]
    assert {(one.confidence, one.undecided) for one in found} == {("possible", True)}
    assert [(one.value, one.source, one.line) for one in found[0].evidence] == [("podman", "text", 1)]


def test_below_the_threshold_it_says_nothing() -> None:
    assert likely_causes(_machine({"podman": 1, "loss": 3})) == ()
    assert states(judge("like-known-reports", _machine({"loss": 1}))) == ["not-applicable"]


def test_between_the_thresholds_causes_are_looked_for_and_not_named() -> None:
    between = _machine({"podman": 1, "loss": 1, "other": 1})
    assert likely_causes(between) == () and states(judge("like-known-reports", between)) == ["not-applicable"]
    assert hinted_causes(between) == ("container-device-access", "device-permission")
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
        (_TROUBLE, _DOMAIN, Message("sign-of-code", 3, "TypeError")),
        (_TROUBLE, _DOMAIN, Message("prose-is-request", 3, "please add")),
    ],
    ids=["not of this domain", "no trouble", "an exception of the program", "a wish"],
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
