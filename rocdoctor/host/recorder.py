"""Masking and recording: what stands between a live machine and everything else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from rocdoctor.host.base import Answer, Host, Kind, same_answer
from rocdoctor.host.live.running_job import as_lines
from rocdoctor.model.lazy_re import regex

if TYPE_CHECKING:
    from rocdoctor.host.masking.masker import Masker

_CLEAN_TEXT = regex(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class MaskedHost:
    """A host whose every answer is masked before anybody sees it; questions speak of ``~``, never of a home folder."""

    def __init__(self, inner: Host, masker: Masker | Callable[[], Masker], before: MaskedHost | None = None) -> None:
        """A masker that takes a while to make is made for the first answer: the first frame does not wait for it.

        ``before`` asked the same machine: what is answered as it was then is masked as it was.
        """
        self.inner = inner
        self._masker = masker
        self._before = before._seen if before is not None else {}
        self._seen: dict[str, tuple[Answer, Answer, int]] = {}  # by question: as told, masked, what was learned by then
        self.kind: Kind = inner.kind
        self.origin = inner.origin
        self._answers: dict[str, Answer] = {}
        self._learned: dict[str, int] = {}
        self._lock = threading.Lock()

    @property
    def masker(self) -> Masker:
        with self._lock:
            if callable(self._masker):
                self._masker = self._masker()
            return self._masker

    def ask(self, question: str) -> Answer:
        with self._lock:
            if question in self._answers:
                return self._answers[question]
        masker = self.masker
        told = self.inner.ask(question)
        before = self._before.get(question)
        if before is not None and same_answer(before[0], told):
            _, answer, learned = before
        else:
            learned = masker.learned()  # first: another thread may teach it something meanwhile
            answer = mask_answer(told, masker)
        with self._lock:
            self._seen.setdefault(question, (told, answer, learned))
            self._learned.setdefault(question, learned)
            return self._answers.setdefault(question, answer)

    def keep(self, answer: Answer) -> Answer:
        """Mask an answer that came another way, and keep it in place of an earlier one."""
        masker = self.masker
        learned = masker.learned()
        masked = mask_answer(answer, masker)
        with self._lock:
            self._learned[answer.question] = learned
            self._answers[answer.question] = masked
        return masked

    def settled(self, question: str) -> Answer:
        """The answer, masked again where something was learned since that could stand in it."""
        answer = self.ask(question)
        late = self._learned[question] < self.masker.learned() or question in self.masker.numbered
        return mask_answer(answer, self.masker) if late else answer

    def prefetch(self, questions: Iterable[str]) -> None:
        self.inner.prefetch(questions)

    def available(self) -> tuple[str, ...]:
        return self.inner.available()


def mask_answer(answer: Answer, masker: Masker) -> Answer:
    """The answer with secrets and identities replaced; binary data is dropped unless it is a table of numbers."""
    question = masker.mask_question(answer.question)
    note = masker.mask_text(answer.note) if answer.note else ""
    environ = question.startswith("read /proc/") and question.endswith("/environ")
    if environ and b"\0" in answer.data:
        answer = replace(answer, data=as_lines(answer.data))
    if _CLEAN_TEXT.search(answer.data):
        known_binary = answer.question.endswith("/gpu_metrics")
        return replace(answer, question=question, note=note, data=answer.data if known_binary else b"")
    if question == "env" or environ:
        rows = (line.partition("=") for line in answer.text.splitlines() if "=" in line)
        pairs = {name: value for name, _, value in rows}
        text = "\n".join(f"{name}={value}" for name, value in masker.mask_env(pairs).items())
    else:
        if answer.question == "read /etc/group":
            masker.learn(extra_users=_members(answer.text))
        text = masker.mask_text(answer.text, answer.question)
    if text.encode() == answer.data and question == answer.question and note == answer.note:
        return answer
    return replace(answer, question=question, note=note, data=text.encode())


def _members(text: str) -> list[str]:
    """The people named in a group file: members of groups that are no service accounts."""
    from rocdoctor.host.masking.rules import load_tables

    services = load_tables().services

    fields = [line.split(":") for line in text.splitlines()]
    members = {name.strip() for row in fields if len(row) == 4 for name in row[3].split(",")}
    return sorted(members - services - {""})


class Recorder:
    """Keeps every question with its answer, in the order asked."""

    def __init__(self, inner: Host) -> None:
        self.inner = inner
        self.kind: Kind = inner.kind
        self.origin = inner.origin
        self.answers: dict[str, Answer] = {}

    def ask(self, question: str) -> Answer:
        answer = self.inner.ask(question)
        self.answers.setdefault(question, answer)
        return answer

    def prefetch(self, questions: Iterable[str]) -> None:
        self.inner.prefetch(questions)

    def available(self) -> tuple[str, ...]:
        return self.inner.available()


def masker_of(host: Host) -> Masker | None:
    """The masker of a host whose answers are masked, which knows all names that were seen; None for others."""
    inner = host.inner if isinstance(host, Recorder) else host
    return inner.masker if isinstance(inner, MaskedHost) else None


def settled(recorder: Recorder) -> list[Answer]:
    """The answers, masked again now that the names in all of them are known; as they are where nothing is masked."""
    inner = recorder.inner
    if not isinstance(inner, MaskedHost):
        return list(recorder.answers.values())
    return [inner.settled(question) for question in recorder.answers]
