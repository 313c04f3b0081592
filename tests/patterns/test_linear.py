"""No regular expression of the project takes more than time in proportion to a text, whatever the text is.

All expressions are gathered in a child (``tests/patterns/kit.py``). Each is asked of texts that repeat what its parts
take, and its processor time is measured over doublings of their length: a linear one doubles, a quadratic one takes
four times as long, and one that can take the same text in several ways never ends. ``test_proven.py`` proves the same
from their structure in a tenth of the time, so this is a second opinion and a heavy one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.kit import ROOT
from tests.patterns import speed
from tests.patterns.kit import Pattern
from tests.patterns.speed import slowness

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize(
    ("text", "slow"),
    [
        (r"(a+)+b", True),
        (r"\d+[.\d]*:", True),
        (r"a(?: -{1,2}[\w-]+)*\Z", True),
        (r"\Aa(?: --?\w[\w-]*)*\Z", False),
        (r"[a-z]{1,40}:", False),
        (r"[^=]*=", True),
        (r"\A[^=]*=", False),
        (r"(?:a|b)c", False),
    ],
)
def test_slow_expressions_are_told_from_fast_ones(text: str, slow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "_MOST_S", 1.0)  # a slow one takes all that it may; a fast one 0.01
    assert (slowness(Pattern(text, 0, False, False, "here:1")) != "") == slow


def _told() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.patterns.speed"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_every_expression_takes_time_in_proportion_to_its_text() -> None:
    told = _told()
    assert told["count"] > 900
    slow = set(told["slow"])
    for _ in range(2):  # a clock that jumps, or a busy machine, makes another one look slow each time
        if slow:
            slow &= set(_told()["slow"])
    assert not slow
