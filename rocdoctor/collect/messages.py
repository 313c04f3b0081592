"""The error texts in what a person pasted."""

from __future__ import annotations

from rocdoctor.facts import Message
from rocdoctor.host.base import Host

QUESTION = "text"


def collect_messages(host: Host) -> tuple[Message, ...]:
    """Every known text in the pasted text; empty for hosts that hold none."""
    if host.kind != "text":
        return ()
    answer = host.ask(QUESTION)
    if not answer.ok or not answer.data:
        return ()
    from rocdoctor.knowledge.messages import message_signatures
    from rocdoctor.parsers.message_match import find_messages

    return tuple(
        Message(one.kind, one.line, one.text, dict(one.values), one.role, one.narrated)
        for one in find_messages(message_signatures(), answer.text)
    )
