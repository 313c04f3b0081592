"""Machines from the words of a person: messages found in a text, and facts beside them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from rocdoctor.knowledge.messages.program_errors import message_signatures
from rocdoctor.model.facts import Gpu, Machine, Message
from rocdoctor.model.finding import Finding
from rocdoctor.parsers.logs.message_match import find_messages
from tests.kit import judge, machine


@lru_cache(maxsize=16)  # many checks look at one text
def messages(text: str) -> tuple[Message, ...]:
    """The messages of a text."""
    found = find_messages(message_signatures(), text)
    return tuple(Message(one.kind, one.line, one.text, dict(one.values), one.role) for one in found)


def pasted(text: str, *gpus: Gpu, **changes: Any) -> Machine:
    """A machine of which a text is known, with these GPUs; other GPUs may exist."""
    return machine(*gpus, gpus_complete=False, messages=messages(text), **changes)


def finding_of(check: str, text: str, *gpus: Gpu, **changes: Any) -> Finding | None:
    """The first finding of a check over a text, or None."""
    return next((one.finding for one in judge(check, pasted(text, *gpus, **changes)) if one.finding is not None), None)


def words_of(finding: Finding | None) -> str:
    """Message and remedy of a finding, in one string ("" when there is none)."""
    if finding is None:
        return ""
    fix = finding.fix
    return " ".join((finding.message, fix.text if fix else "", fix.command if fix else ""))
