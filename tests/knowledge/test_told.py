"""The rows of what people tell: words are used, names exist, examples are found and counter-examples are not."""

from __future__ import annotations

import re
from functools import cache

from rocdoctor.insight.texts.traits import TRAITS
from rocdoctor.knowledge.load import load_table
from rocdoctor.knowledge.lookup import causes
from rocdoctor.knowledge.messages.open_symptoms import last_resorts, speaking_against
from rocdoctor.knowledge.messages.remaining import remaining_causes
from rocdoctor.knowledge.messages.told import OWN_TROUBLE, ToldKind, report_marks, told_grammar, told_kinds
from rocdoctor.parsers.prose.claims import claims_in
from rocdoctor.parsers.prose.phrases import forms_of, mentions_in, phrases_of
from rocdoctor.parsers.prose.sentences import sentences_in, words_in
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
    grammar = told_grammar()
    used = (
        asked
        | voices
        | marks.trouble
        | marks.resolved
        | marks.settled
        | marks.mended
        | marks.doubted
        | marks.reader
        | marks.writer
    )
    used |= grammar.machine | grammar.others | grammar.troubles | set(load_table("told_words")["subjects"]["neutral"])
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


# A word of each kind; the number goes in where a phrase sets a bound.
_OF_A_KIND = {
    "<c>": "95 C",
    "<card>": "rtx3090",
    "<gbs>": "20 GB/s",
    "<gfx>": "gfx1100",
    "<ip>": "10.0.0.5",
    "<lib>": "libcudnn.so.9",
    "<mbs>": "400 MB/s",
    "<n>": "16",
    "<nic>": "eth0",
    "<node>": "/dev/kfd",
    "<rate>": "3 it/s",
    "<variable>": "NCCL_SOCKET_IFNAME",
    "<version>": "6.8.0",
    "<virtual-nic>": "docker0",
    "<w>": "350 W",
}


def _spelled(form: tuple[str, ...]) -> str:
    """A text that holds a phrase."""
    words = (_OF_A_KIND.get(one.partition("=")[0], "word" if one == "_" else one) for one in form)
    return " ".join(one for one in words if one != "...")


def test_every_form_of_every_phrase_can_be_found() -> None:
    """Written out and read again: words that are read as one, or one that is read as two, are never found."""
    lost = []
    for name, phrases in load_table("told_words")["words"].items():
        for phrase in map(str, phrases):
            for form in forms_of(phrase):
                found = {one.name for one in mentions_in(told_grammar().phrases, words_in(_spelled(form)))}
                lost += [(name, phrase, form)] if name not in found else []
    assert lost == []


def test_a_phrase_that_no_sentence_holds_is_seen() -> None:
    """The test above can fail: a number and its unit are read as one word."""
    phrases = phrases_of({"given": ["only 20 watts"], "read": ["only <w>"]})
    assert {one.name for one in mentions_in(phrases, words_in("only 20 watts"))} == {"read"}


def test_causes_are_known_and_have_general_words() -> None:
    for kind in told_kinds():
        for one in kind.answers:
            assert one.cause in remaining_causes(), kind.kind
            assert not one.text or (one.text.endswith(".") and " may " in one.text), kind.kind
            assert set(one.explains) <= set(causes()), kind.kind
            assert {name.removeprefix("not-") for name in one.when.traits} <= set(TRAITS)
        assert set(kind.despite) <= speaking_against(), kind.kind


def test_a_kind_without_an_answer_is_a_condition_of_another() -> None:
    wanted = {name for kind in told_kinds() for one in kind.answers for name in (*one.when.every, *one.when.together)}
    wanted |= {OWN_TROUBLE}
    wanted |= {name for one in last_resorts() for name in (*one.seen, *one.when.every, *one.when.together)}
    assert {one.kind for one in told_kinds() if not one.answers} <= wanted


def test_every_row_names_its_source() -> None:
    """A figure, a name of a file, a command or an option is a fact that somebody has to have read."""
    facts = re.compile(r"\d|/|`|--|=|_")
    rows = [(one.cause, one.text.replace("P2P", ""), one.source) for kind in told_kinds() for one in kind.answers]
    assert [row for row in rows if not row[2]] == []
    assert [row for row in rows if facts.search(row[1]) and row[2].startswith("own ")] == []
