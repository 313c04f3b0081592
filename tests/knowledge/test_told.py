"""The rows of what people tell: words are used, names exist, examples are found and counter-examples are not."""

from __future__ import annotations

from functools import cache

from rocdoctor.insight.texts.traits import TRAITS
from rocdoctor.knowledge.load import load_table
from rocdoctor.knowledge.lookup import causes
from rocdoctor.knowledge.messages.open_symptoms import speaking_against
from rocdoctor.knowledge.messages.remaining import remaining_causes
from rocdoctor.knowledge.messages.told import (
    ToldKind,
    report_marks,
    told_grammar,
    told_kinds,
    told_topics,
    topic_names,
)
from rocdoctor.parsers.prose.claims import claims_in
from rocdoctor.parsers.prose.phrases import forms_of
from rocdoctor.parsers.prose.sentences import sentences_in
from rocdoctor.parsers.prose.statements import Account, place_of, told_by

_OF_THE_CODE = {"good", "bad", "same", "not", "without", "why", "first-person"}


@cache
def _told(text: str) -> Account:
    claims = claims_in(told_grammar(), sentences_in([(1, text)]))
    return told_by(claims, told_grammar().opposites)


def _holds(kind: ToldKind, text: str) -> bool:
    return any(place_of(one, _told(text)) is not None for one in kind.patterns)


def _asked(kind: ToldKind) -> set[str]:
    found: set[str] = set()
    for one in kind.patterns:
        found.update(*one.here, *one.near, *one.text, one.not_here, one.not_text, (name for _, name in one.compared))
    return found


def _meanings() -> set[str]:
    return set(told_grammar().phrases.names)


def test_each_kind_is_found_in_its_examples_and_not_in_its_counter_examples() -> None:
    assert [one.kind for one in told_kinds() if not one.examples or not one.counters] == []
    assert [(one.kind, text) for one in told_kinds() for text in one.examples if not _holds(one, text)] == []
    assert [(one.kind, text) for one in told_kinds() for text in one.counters if _holds(one, text)] == []


def test_kinds_are_named_once_and_say_what_they_mean() -> None:
    names = [one.kind for one in told_kinds()]
    assert len(names) == len(set(names))
    assert all(one.kind.startswith("told-") and one.means.endswith(".") for one in told_kinds())


def test_every_name_has_words_and_every_meaning_a_reader() -> None:
    conditions = set(told_grammar().opposites)
    asked = set().union(*(_asked(one) for one in told_kinds()))
    voices = set().union(*told_grammar().voices.values())
    marks = report_marks()
    used = asked | topic_names() | voices | marks.trouble | marks.fault | marks.resolved | marks.reader | marks.writer
    assert used - _meanings() - conditions == set()
    assert _meanings() - used - conditions - _OF_THE_CODE == set()


def test_a_condition_has_one_opposite() -> None:
    pairs = load_table("told_words")["conditions"]
    sides = [*pairs, *pairs.values()]
    assert len(sides) == len(set(sides))
    assert all(one in _meanings() or other in _meanings() for one, other in pairs.items())


def test_phrases_are_written_as_words_are_read() -> None:
    """A phrase that no sentence can hold: capitals, or signs that stand apart."""
    odd = []
    for name, phrases in load_table("told_words")["words"].items():
        for phrase in map(str, phrases):
            odd += [(name, phrase)] if not forms_of(phrase) or phrase != phrase.lower() or ", " in phrase else []
    assert odd == []


def test_causes_are_known_and_have_general_words() -> None:
    for kind in told_kinds():
        for one in kind.answers:
            assert one.cause in remaining_causes(), kind.kind
            assert bool(one.text) == bool(one.fix), kind.kind
            assert not one.text or (one.text.endswith(".") and not one.fix.endswith(".")), kind.kind
            assert set(one.explains) <= set(causes()), kind.kind
            assert {name.removeprefix("not-") for name in one.when.traits} <= set(TRAITS)
        assert set(kind.despite) <= speaking_against(), kind.kind
    assert set(told_topics()) <= set(remaining_causes())


def test_a_kind_without_an_answer_is_a_condition_of_another() -> None:
    wanted = {name for kind in told_kinds() for one in kind.answers for name in (*one.when.every, *one.when.together)}
    assert {one.kind for one in told_kinds() if not one.answers} <= wanted


def test_no_single_mention_suffices() -> None:
    """Words alone are weak: two things have to be named, or one that nothing else calls so."""
    alone = {
        (cause, name) for cause, weights in told_topics().items() for name, weight in weights.items() if weight > 3
    }
    assert alone == {("pcie-atomics-missing", "atomics")}
