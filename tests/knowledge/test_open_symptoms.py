"""Signs, symptoms, causes that remain and weights of words: the rows hold together."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from rocdoctor.insight.texts.answers import fill
from rocdoctor.insight.texts.traits import TRAITS
from rocdoctor.knowledge.load import knowledge_folder, load_table, words
from rocdoctor.knowledge.lookup import causes
from rocdoctor.knowledge.messages.answers import MessageAnswer, When
from rocdoctor.knowledge.messages.likeness import LETTERS, likeness, weighed
from rocdoctor.knowledge.messages.open_symptoms import (
    Symptom,
    last_sign_rows,
    of_the_domain,
    of_trouble,
    sign_rows,
    sign_signatures,
    speaking_against,
    symptoms,
)
from rocdoctor.knowledge.messages.program_errors import message_kinds
from rocdoctor.knowledge.messages.remaining import remaining_causes
from rocdoctor.model.shell_command import shell_of_table
from rocdoctor.parsers.logs.message_match import find_messages

_SOFTWARE = "not-environment"
_SYMPTOMS = [pytest.param(one, id=one.name) for one in symptoms()]


def _kinds(text: str) -> set[str]:
    return {one.kind for one in find_messages(sign_signatures(), text) if one.role == "now"}


def test_every_sign_is_found_in_its_example_and_not_in_its_counter_example() -> None:
    wrong = []
    for row in sign_rows():
        assert row["means"].endswith(".") and row["source"], row["kind"]
        for text in row["texts"]:
            wrong += [(row["kind"], text["example"])] if row["kind"] not in _kinds(text["example"]) else []
            wrong += [(row["kind"], one) for one in words(text["counter"]) if row["kind"] in _kinds(one)]
    assert wrong == []


def test_signs_have_names_of_their_own() -> None:
    names = [row["kind"] for row in sign_rows()]
    assert len(names) == len(set(names))
    assert all(name.startswith("sign-") for name in names)
    assert not set(names) & set(message_kinds())


def test_what_speaks_for_and_against_exists() -> None:
    known = {row["kind"] for row in sign_rows()} | set(message_kinds())
    assert speaking_against() | of_trouble() | of_the_domain() <= known
    assert not speaking_against() & of_trouble()
    assert {row.get("speaks", "of trouble") for row in sign_rows()} <= {"against", "of trouble"}


def _conditions(symptom: Symptom) -> list[When]:
    return [symptom.when, *(one.when for one in symptom.answers)]


def _hold_together(when: When) -> None:
    known = {row["kind"] for row in (*sign_rows(), *last_sign_rows())} | set(message_kinds())
    assert {*when.together, *when.every, *when.without} <= known
    assert {name.removeprefix("not-") for name in when.traits} <= set(TRAITS)
    assert {*when.inside, *when.outside} <= {"container", "slurm", "wsl"}


def _is_whole(answer: MessageAnswer) -> None:
    assert answer.cause in causes()
    assert answer.confidence == "possible"
    assert answer.text.endswith(".")
    assert not answer.fix.endswith(".")
    assert not set("{}") & set(fill(answer.text, {}) + fill(answer.fix, {}))
    assert "  " not in fill(answer.text, {}) and " ." not in fill(answer.text, {})
    shell_of_table(answer.command)


@pytest.mark.parametrize("symptom", _SYMPTOMS)
def test_a_symptom_names_what_exists_and_its_reason(symptom: Symptom) -> None:
    known = {row["kind"] for row in sign_rows()} | set(message_kinds())
    assert symptom.seen and {*symptom.seen, *symptom.despite} <= known
    assert set(symptom.despite) <= speaking_against()
    assert symptom.means.endswith(".") and symptom.why and symptom.source
    for when in _conditions(symptom):
        _hold_together(when)
    for answer in symptom.answers:
        _is_whole(answer)


@pytest.mark.parametrize("symptom", _SYMPTOMS)
def test_a_symptom_leaves_several_causes_and_its_commands_tell_them_apart(symptom: Symptom) -> None:
    said = {one.cause for one in symptom.answers}
    shown = [cause for question in symptom.questions for _, cause in question.outcomes if cause]
    assert len(said) >= 2
    assert said == set(shown), "each cause looks like something, and nothing else does"
    for question in symptom.questions:
        assert shell_of_table(question.command) and question.why
        assert all(shows and not shows.endswith(".") for shows, _ in question.outcomes)


def test_symptoms_are_named_once() -> None:
    assert [name for name, count in Counter(one.name for one in symptoms()).items() if count > 1] == []


def test_every_cause_in_the_environment_may_remain() -> None:
    assert set(remaining_causes()) == set(causes()) - {_SOFTWARE}


@pytest.mark.parametrize("cause", sorted(set(causes()) - {_SOFTWARE}))
def test_a_cause_that_remains_always_has_an_answer_and_a_command(cause: str) -> None:
    one = remaining_causes()[cause]
    assert one.answers[-1].when == When(), "the last one holds always"
    for answer in one.answers:
        _hold_together(answer.when)
        _is_whole(answer)
        assert answer.cause == cause
    assert shell_of_table(one.command) and one.why and one.shows
    for when in one.unless:
        _hold_together(when)
        assert when != When(), "it would always hold"


def test_the_weights_are_of_known_causes_and_small() -> None:
    known = likeness()
    assert set(known.causes) <= set(causes()) and _SOFTWARE in known.causes
    assert len(known.causes) == len(known.bias) <= len(LETTERS)
    assert 0.2 <= known.hints < known.threshold < 1
    assert (knowledge_folder() / "likeness.yaml").stat().st_size < 200_000
    form = re.compile(rf"\d{{2,4}}(?:[{LETTERS[: len(known.causes)]}]-?\d{{1,4}})+")
    assert [word for word, row in load_table("likeness")["words"].items() if not form.fullmatch(row)] == []


def test_shares_are_those_of_a_softmax_over_the_weights() -> None:
    """Counted by hand for a table of two causes: 2.0 * (1 + ln 1) / length, with one word alone a length of its own."""
    known = type(likeness())(("a-cause", _SOFTWARE), (0.0, 0.0), {"kfd": "200A20", "loss": "300B10"}, 0.5)
    first, second = weighed(known, {"kfd": 1, "unknown": 3})
    assert (first.cause, second.cause) == ("a-cause", _SOFTWARE)
    assert first.words == ("kfd",) and second.words == ()
    assert first.share == pytest.approx(0.880797, abs=1e-6)  # 1 / (1 + exp(-2))
    both = {one.cause: one.share for one in weighed(known, {"kfd": 1, "loss": 1})}
    assert both["a-cause"] == pytest.approx(0.568896, abs=1e-5)  # 1 / (1 + exp(-(4 - 3 * 1) / sqrt(13)))


def test_how_often_it_was_right_is_told_for_every_share_that_is_named() -> None:
    known = likeness()
    assert min(one.share for one in known.counted) == known.threshold
    assert all(0 < one.right <= one.answered for one in known.counted)
    answered = [one.answered for one in sorted(known.counted, key=lambda one: one.share)]
    assert answered == sorted(answered, reverse=True), "fewer have a greater share"


@pytest.mark.parametrize(
    ("word", "cause"),
    [
        ("dkms", "dkms-kernel-mismatch"),
        ("nvcc", "cuda-toolkit-mismatch"),
        ("hsa_override_gfx_version", "hsa-override-wrong"),
        ("xid", "gpu-hardware-fault"),
        ("torchvision", "python-package-mismatch"),
    ],
)
def test_words_point_to_what_they_name(word: str, cause: str) -> None:
    """As anybody would expect: a table that lost rows, or mixed up its letters, fails."""
    blamed = [one.cause for one in weighed(likeness(), {word: 1}) if one.cause != _SOFTWARE]
    assert blamed[0] == cause
