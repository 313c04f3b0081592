"""No place of a literal is lost by looking at the different lines alone: against a plain search for each literal."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.knowledge.messages.program_errors import message_rows, message_signatures
from rocdoctor.parsers.logs import literal_search
from rocdoctor.parsers.logs.literal_search import MOST, Pieces, located
from rocdoctor.parsers.logs.literal_table import Literal, Literals, completed, data_of, literals_of
from rocdoctor.parsers.logs.log_match import Signature, Wording, matcher, only_words
from rocdoctor.parsers.logs.message_match import FoundMessage, find_messages
from tests.examples import examples

NOISE = (
    "2026-01-02 03:04:05 step 17 loss 2.31",
    "gpu 0: 43.0C 121W",
    "Überall grüßt \u2014 das Gerät\u2026",
    "at the end of it",
    "0x7f3a",
)


def _naive(known: Literals, text: Pieces) -> Iterator[tuple[str, list[int]]]:
    """What is asked for, in the plainest words."""
    low = "".join(char.lower() if char.isascii() else char for char in text.text)
    words_of = {where: set(only_words(where).split()) for where in (low, text.text)}
    for literal in known:
        where = low if literal.fold else text.text
        if literal.key not in words_of[where]:
            continue
        places: list[int] = []
        at = where.find(literal.text)
        while at >= 0 and len(places) < MOST:
            places.append(at)
            at = where.find(literal.text, at + len(literal.text))
        if places:
            yield literal.text, places


def _found(known: Literals, text: Pieces) -> list[tuple[str, list[int]]]:
    told = [(literal.text, list(places)) for literal, places in located(known, text)]
    return [(literal, places) for literal, places in told if places]


def _table(*wordings: Wording) -> Literals:
    return literals_of(matcher(Signature(str(at), "note", "", (one,)) for at, one in enumerate(wordings)))


SMALL = _table(
    Wording(("out of memory",)),
    Wording(("out of memory", "of"), fold=True),
    Wording(("Xid 79",)),
    Wording(("gfx906", "gfx90a")),
    Wording(("no no no", "\u2018cc1plus\u2019 is")),
    Wording(("is it? no", "it")),
    Wording((" begins", "ends ", "ror: b")),
)
_WORDS = st.sampled_from(
    [
        *("out", "of", "memory", "memory:", "OUT", "OF", "Xid", "79", "31", "gfx906", "gfx908", "gfx90a", "no", "nono"),
        *("is", "it", "it?", "it\u00e9", "\u2018cc1plus\u2019", "?cc1plus?"),
        *("begins", "ends", "error:", "ror: b", "x"),
    ]
)
_LINES = st.lists(_WORDS, min_size=1, max_size=5).map(" ".join)


@examples(3)
@given(st.lists(_LINES, min_size=1, max_size=40), st.booleans())
def test_any_lines(lines: list[str], closed: bool) -> None:
    text = Pieces(lines, closed)
    expected = list(_naive(SMALL, text))
    for short, share in ((0, 1.0), (0, 0.0), (10**9, 1.0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(literal_search, "SHORT", short)
            patch.setattr(literal_search, "_SHARE", share)
            assert _found(SMALL, text) == expected


def _cuts(literal: Literal) -> Iterator[list[str]]:
    """Lines that hold a literal: within, at both ends, over each blank, beside other signs, with other digits."""
    yield [f"a {literal.text} b"]
    yield [literal.text.strip()]
    if literal.fold:
        yield [f"So {literal.text.upper()}!"]
    yield [f"({literal.text})", "3" + literal.text + "5"]
    words = literal.text.split(" ")
    for at in range(1, len(words)):
        if before := " ".join(words[:at]).strip():
            yield [before, " ".join(words[at:])]
            yield ["x" + before, " ".join(words[at:]) + "y"]
    if all(words):
        yield words


def test_each_literal_of_the_tables_within_noise_and_over_the_ends_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literal_search, "SHORT", 0)
    monkeypatch.setattr(literal_search, "_SHARE", 1.0)
    known = literals_of(message_signatures())
    random_ = random.Random(11)
    for begin in range(0, len(known), 600):
        lines: list[str] = []
        for literal in list(known)[begin : begin + 600]:
            for cut in _cuts(literal):
                lines += [random_.choice(NOISE), *(line for line in cut if line.strip())]
        text = Pieces([line.strip() for line in lines])
        assert _found(known, text) == list(_naive(known, text))


def test_more_places_than_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literal_search, "SHORT", 0)
    monkeypatch.setattr(literal_search, "_SHARE", 1.0)
    many = [f"{'out of' if at % 3 else 'Xid'} {at}" for at in range(9000)]
    for lines in (many, ["memory out of", *(["out of", "memory"] * 40)], [f"gfx90{at % 10}" for at in range(5000)]):
        text = Pieces(lines)
        assert _found(SMALL, text) == list(_naive(SMALL, text))


@pytest.mark.parametrize("width", [pytest.param(None, marks=pytest.mark.heavy), 80])
def test_the_examples_of_the_tables_are_found_in_long_texts_as_in_short_ones(
    width: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_ = random.Random(width or 1)
    examples = [str(text["example"]) for row in message_rows() for text in row["texts"] if "example" in text]
    random_.shuffle(examples)
    lines = [line for example in examples for line in (*example.split("\n"), random_.choice(NOISE))]
    if width is not None:
        lines = [line[at : at + width] for line in lines for at in range(0, max(len(line), 1), width)]
    text = "\n".join(lines)

    plain = literals_of(message_signatures())
    kept = Literals(completed(data_of(message_signatures())))

    monkeypatch.setattr(literal_search, "_SHARE", 1.0)

    def found(short: int, known: Literals) -> tuple[FoundMessage, ...]:
        monkeypatch.setattr(literal_search, "SHORT", short)
        return find_messages(known, text)

    as_short = found(10**9, plain)
    assert found(0, kept) == as_short
    assert len({one.kind for one in as_short}) > 300
