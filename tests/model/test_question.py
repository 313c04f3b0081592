"""The parts of a question, and that they make it again."""

from __future__ import annotations

import pytest

from rocdoctor.model.evidence import Source
from rocdoctor.model.question import Question


@pytest.mark.parametrize(
    ("text", "verb", "program", "path"),
    [
        ("run nvidia-smi -q -x", "run", "nvidia-smi", ""),
        ("run /opt/rocm/bin/rocminfo", "run", "rocminfo", ""),
        ("read /var/log/nvidia-smi.log", "read", "", "/var/log/nvidia-smi.log"),
        ("python /opt/run/python --import", "python", "", ""),
        ("env", "env", "", ""),
        ("text", "text", "", ""),
        ("run", "run", "", ""),
        ("", "", "", ""),
    ],
)
def test_the_parts_of_a_question(text: str, verb: str, program: str, path: str) -> None:
    asked = Source(text, 3).asked
    assert (asked.verb, asked.program, asked.path) == (verb, program, path)
    assert " ".join(part for part in (asked.verb, asked.rest) if part) == text
    assert Question.of(text) == asked
