"""Reads the answer to the question ``commands``: the command lines of a pasted text, one JSON object a line."""

from __future__ import annotations

from rocdoctor.model.facts import CommandLine
from rocdoctor.parsers.formats import json_values
from rocdoctor.parsers.formats.json_values import flag, text, texts, whole

_MOST_ROWS = 500


def parse_commands(answer: str) -> tuple[CommandLine, ...]:
    """Every row that makes sense, in the given order."""
    found: list[CommandLine] = []
    for row in json_values.rows(answer, _MOST_ROWS):
        program, line = text(row.get("program"), 40), whole(row.get("line"))
        if program is None or line is None:
            continue
        options, told = row.get("options"), row.get("environment")
        found.append(
            CommandLine(
                program,
                text(row.get("verb"), 40) or "",
                line,
                text(row.get("text")) or "",
                {key: texts(value, 16) for key, value in options.items()} if isinstance(options, dict) else {},
                texts(row.get("words"), 40),
                {key: text(value) for key, value in told.items()} if isinstance(told, dict) else {},
                text(row.get("inside"), 40) or "",
                flag(row.get("complete")) is not False,
            )
        )
    return tuple(found)
