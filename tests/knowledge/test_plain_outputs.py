"""What recorded machines print is no message of an error, also where somebody complains above it."""

from __future__ import annotations

import re
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


def _few_of_each() -> dict[str, str]:
    """Of the answers to each question the shortest and the longest."""
    by_question: dict[str, list[str]] = {}
    for text, where in _texts().items():
        by_question.setdefault(re.sub(r"[0-9a-f]*[0-9][0-9a-f]*", "", where.partition(": ")[2]), []).append(text)
    chosen = {found for texts in by_question.values() for found in (min(texts, key=len), max(texts, key=len))}
    return {text: where for text, where in _texts().items() if text in chosen}


def _told(above: str, texts: dict[str, str]) -> dict[str, list[str]]:
    told = {where: applied(pasted(above + text)) for text, where in texts.items()}
    return {where: [one.kind for one in found] for where, found in told.items() if found}


def test_no_plain_output_below_a_complaint_leads_to_an_answer() -> None:
    assert len(_texts()) > 1000
    assert _told(_COMPLAINT, _few_of_each()) == {}


def test_no_plain_output_alone_leads_to_an_answer() -> None:
    """Each third of them: a complaint above takes nothing away, but where the text is read as a whole."""
    assert _told("", dict(list(_texts().items())[::3])) == {}


@pytest.mark.heavy
def test_none_of_all_plain_outputs_below_a_complaint_leads_to_an_answer() -> None:
    assert _told(_COMPLAINT, _texts()) == {}


@pytest.mark.heavy
def test_none_of_all_plain_outputs_alone_leads_to_an_answer() -> None:
    assert _told("", _texts()) == {}
