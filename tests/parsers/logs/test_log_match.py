"""Which wordings a line may hold is found once for all lines that differ in their digits alone."""

from __future__ import annotations

import pytest

from rocdoctor.parsers.logs.log_match import Signature, Wording, first_of, matcher, with_candidates

_KNOWN = matcher(
    (
        Signature("first", "note", "", (Wording(("engine 13 stopped",)),)),
        Signature("second", "note", "", (Wording(("stopped",), match=r"engine (?P<number__int>\d\d) stopped"),)),
        Signature("keyed", "note", "", (Wording(("ring0x halted",)),)),
    )
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("engine 13 stopped", ("first", {})),
        ("engine 31 stopped", ("second", {"number": 31})),
        ("engine 9 stopped", None),
        ("ring0x halted", ("keyed", {})),
        ("ring7x halted", None),
        ("ring0xy halted", None),
        ("nothing", None),
    ],
)
def test_digits_of_a_literal_count_in_each_line(text: str, expected: tuple[str, dict[str, object]] | None) -> None:
    lines = ["engine 13 stopped", "engine 55 stopped", "ring0x halted", "ring9x halted", text]
    told = {at: first_of(candidates, lines[at]) for at, candidates in with_candidates(_KNOWN, range(5), lines)}
    found = told.get(4)
    assert (None if found is None else (found[0].kind, found[2])) == expected


def test_a_log_without_lines_has_no_candidates() -> None:
    assert list(with_candidates(_KNOWN, [], [])) == []
