"""The answer to ``commands``, also from a stranger."""

from __future__ import annotations

from rocdoctor.parsers.own.commands import parse_commands


def test_rows_become_commands_and_nonsense_is_left_out() -> None:
    rows = (
        '{"program": "docker", "verb": "run", "line": 3, "text": "docker run x", "options": {"gpus": ["all"], "n": 5},'
        ' "words": ["x", 7], "environment": {"A": "1", "B": null}, "inside": "", "complete": false}\n'
        '{"program": 5, "line": 1}\n{"program": "pip"}\nno row\n[1]\n'
    )
    (one,) = parse_commands(rows)
    assert (one.program, one.line, one.words, one.complete) == ("docker", 3, ("x",), False)
    assert one.options == {"gpus": ("all",), "n": ()} and one.environment == {"A": "1", "B": None}
    assert one.value("n") is None and one.value("n", "gpus") == "all" and one.number("gpus") is None
