"""Phrases with a meaning in the words of a sentence."""

from __future__ import annotations

from rocdoctor.parsers.prose.phrases import forms_of, mentions_in, phrases_of
from rocdoctor.parsers.prose.sentences import words_in


def _found(sentence: str, *phrases: str) -> list[tuple[int, int]]:
    return [(one.first, one.end) for one in mentions_in(phrases_of({"it": phrases}), words_in(sentence))]


def test_forms_of_a_verb() -> None:
    assert [one[0] for one in forms_of("crash~")] == ["crash", "crashes", "crashed", "crashing"]
    assert [one[0] for one in forms_of("freeze~")] == ["freeze", "freezes", "freezed", "freezing"]
    assert [one[0] for one in forms_of("stop~")] == ["stop", "stops", "stopped", "stopping"]
    assert [one[0] for one in forms_of("deny~")] == ["deny", "denies", "denied", "denying"]
    assert [one[0] for one in forms_of("need~")] == ["need", "needs", "needed", "needing"]


def test_alternatives_and_words_that_may_be_missing() -> None:
    assert forms_of("old|older (linux) kernel") == [
        ("old", "kernel"),
        ("older", "kernel"),
        ("old", "linux", "kernel"),
        ("older", "linux", "kernel"),
    ]


def test_a_phrase_is_words_in_a_row() -> None:
    assert _found("It runs with the old kernel and the old one", "old kernel") == [(4, 6)]
    assert _found("It runs with the kernel of old", "old kernel") == []


def test_any_word_and_a_gap() -> None:
    assert _found("force the slot to gen3", "force _ slot") == [(0, 3)]
    assert _found("force all of my slots to gen3", "force ... gen3") == []
    assert _found("force the slot to gen3", "force ... gen3") == [(0, 5)]
    assert _found("force it, and gen3", "force ... gen3") == [], "a gap does not go over a comma"


def test_kinds_of_words_with_a_bound() -> None:
    assert _found("the junction is at 104 C", "<c>=95") == [(4, 5)]
    assert _found("the junction is at 71 C", "<c>=95") == []
    assert _found("limited to 250 W", "limited to <w>") == [(0, 3)]
    assert _found("limited to 250 W", "limited to <w>=300") == []
