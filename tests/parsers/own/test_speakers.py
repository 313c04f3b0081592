from __future__ import annotations

from rocdoctor.model.facts import Passage
from rocdoctor.parsers.own.speakers import parse_voices


def test_rows() -> None:
    text = '{"question": "env", "first": 2, "last": 3, "voice": "words"}\n{"question": "text", "first": 1}\nx\n[1]\n'
    assert parse_voices(text) == (Passage("env", 2, 3, "words"),)


def test_nonsense_is_left_out() -> None:
    for row in (
        '{"question": 1, "first": 1, "last": 1, "voice": "words"}',
        '{"question": "a", "first": true, "last": 1, "voice": "words"}',
        '{"question": "a", "first": 1, "last": 1, "voice": "sung"}',
        '{"question": "a", "first": 1, "last": 1, "voice": ["words"]}',
    ):
        assert parse_voices(row) == ()
