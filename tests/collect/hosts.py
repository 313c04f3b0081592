"""Hosts made of a few answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rocdoctor.collect.gpus.tool import Tools
from rocdoctor.collect.tool_outputs import read_tools
from rocdoctor.host.base import Answer, Host, Status
from rocdoctor.host.evidence.capture import Capture, CaptureHost


@dataclass
class Whole(CaptureHost):
    """Answers "absent" to what it does not hold, and an empty list to listings, as a machine itself does."""

    def __init__(self, capture: Capture) -> None:
        super().__init__(capture, "test")

    def ask(self, question: str) -> Answer:
        found = self.capture.answers.get(question)
        return found or Answer(question, "ok" if question.startswith("list ") else "absent")


def answers(texts: Mapping[str, str], statuses: Mapping[str, Status] | None = None) -> Capture:
    """A capture of texts by question; statuses for questions without an answer."""
    found = {question: Answer(question, "ok", text.encode()) for question, text in texts.items()}
    found |= {question: Answer(question, status) for question, status in (statuses or {}).items()}
    return Capture({}, "", found)


def excerpt(texts: Mapping[str, str], statuses: Mapping[str, Status] | None = None) -> Host:
    """What is not among the answers is unknown."""
    return CaptureHost(answers(texts, statuses), "test")


def whole(texts: Mapping[str, str], statuses: Mapping[str, Status] | None = None) -> Host:
    """What is not among the answers does not exist."""
    return Whole(answers(texts, statuses))


def tools(host: Host) -> Tools:
    """The tool outputs among the answers."""
    return read_tools(host, [])
