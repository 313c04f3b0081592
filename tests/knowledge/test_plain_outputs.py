"""What recorded machines print is no message of an error, also where somebody complains above it."""

from __future__ import annotations

from functools import cache

import pytest

from rocdoctor.host.evidence.capture import parse
from rocdoctor.insight.texts.answers import applied
from tests.kit import ROOT
from tests.message_kit import pasted

_FIXTURES = sorted((ROOT / "fixtures").glob("*.capture"))
_COMPLAINT = "Training is slow and hangs on this machine, then it resets. Why?\n\n"


@cache
def _texts() -> dict[str, str]:
    """Every different answer of the recorded machines, and where it stands first."""
    found: dict[str, str] = {}
    for path in _FIXTURES:
        for question, answer in parse(path.read_bytes()).answers.items():
            if 20 < len(answer.text) < 100_000:
                found.setdefault(answer.text, f"{path.stem}: {question}")
    return found


@pytest.mark.parametrize("above", ["", _COMPLAINT], ids=["alone", "below-a-complaint"])
def test_no_plain_output_leads_to_an_answer(above: str) -> None:
    assert len(_texts()) > 1000
    told = {where: applied(pasted(above + text)) for text, where in _texts().items()}
    assert {where: [one.kind for one in found] for where, found in told.items() if found} == {}
