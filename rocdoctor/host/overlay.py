"""A host with some answers replaced: ``--add FILE``, and the edits by which tests break a healthy machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rocdoctor.host.base import Answer, Host, Kind


class OverlayHost:
    """``inner`` with the given answers in front."""

    def __init__(self, inner: Host, answers: Mapping[str, Answer]) -> None:
        self.inner = inner
        self.answers = dict(answers)
        self.kind: Kind = inner.kind
        self.origin = inner.origin

    def ask(self, question: str) -> Answer:
        return self.answers.get(question) or self.inner.ask(question)

    def prefetch(self, questions: Iterable[str]) -> None:
        self.inner.prefetch(question for question in questions if question not in self.answers)

    def available(self) -> tuple[str, ...]:
        gone = {question for question, answer in self.answers.items() if not answer.ok}
        inner = [question for question in self.inner.available() if question not in gone]
        return tuple(dict.fromkeys([*inner, *(name for name, answer in self.answers.items() if answer.ok)]))
