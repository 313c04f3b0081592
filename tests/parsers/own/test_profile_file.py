from __future__ import annotations

import pytest

from rocdoctor.parsers.own.profile_file import MOST_BYTES, parse_profile, under

HEAD = "schema: rocdoctor.profile/1\n"


def test_values_keep_their_text_and_lines() -> None:
    found = parse_profile(
        HEAD + "gpus:\n  - bdf: 0000:03:00.0\n    compute_units: 0o17\n  - {}\nversions: {rocm: 7.10}\n"
    )
    assert found.problem == ""
    assert [(one.path, one.text, one.line) for one in found.values] == [
        (("schema",), "rocdoctor.profile/1", 1),
        (("gpus", "0", "bdf"), "0000:03:00.0", 3),
        (("gpus", "0", "compute_units"), "0o17", 4),
        (("versions", "rocm"), "7.10", 6),
    ]
    assert found.lists == ((("gpus",), 2),)
    assert [(rest, one.text) for rest, one in under(found, "gpus", "0")] == [
        (("bdf",), "0000:03:00.0"),
        (("compute_units",), "0o17"),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "schema: rocdoctor.profile/1' is missing"),
        ("just words", "no fields"),
        ("gpus: []", "is missing"),
        ("schema: rocdoctor.profile/2", "another release"),
        (HEAD + "a: &x 1", "line 2: anchors"),
        (HEAD + "a: *x", "line 2: anchors"),
        (HEAD + "a: !!python/object/apply:os.system [ls]", "line 2: tags"),
        (HEAD + "a: !!str 1", "line 2: tags"),
        (HEAD + "---\nb: 1", "a second document"),
        (HEAD + "a: [[[[[[[[1]]]]]]]]", "line 2: nested deeper"),
        (HEAD + "? [1]\n: 2", "line 2: a list or mapping instead of a key"),
        (HEAD + "a: [1\n", "not readable as YAML: line "),
        (HEAD + "a: \x00", "not readable as YAML"),
        (HEAD + "a: \ud800", "not readable as YAML"),
        (HEAD + "a: [" + "1," * 10_001 + "]", "more values"),
        ("#" * (MOST_BYTES + 1), "larger than"),
    ],
)
def test_what_is_no_profile_is_told_with_its_line(text: str, why: str) -> None:
    found = parse_profile(text)
    assert why in found.problem
    assert not found.values
