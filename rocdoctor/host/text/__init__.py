"""Pasted text: recognisers cut out the parts that they know, and these answer the same questions as a machine would.

What such a text does not show is unknown: every answer is marked as an excerpt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rocdoctor.host.base import Answer, Kind
from rocdoctor.host.text.clean import clean

_KERNEL_LINE = re.compile(r"(\[\s*\d+\.\d{6}\] |\b(amdgpu|NVRM|\[drm\]|kfd kfd)\b.{0,80}(:| \[))")
_EXPORT = re.compile(r"^\s*(?:[$#>] ?)*(?:export|setenv|set)\s+([A-Z][A-Z0-9_]{2,60})[= ](\S{0,400})\s*$")


def _kernel_log(lines: list[str]) -> Answer | None:
    found = [line for line in lines if _KERNEL_LINE.search(line[:300])]
    return _answer("run dmesg", found) if found else None


def _rocminfo(lines: list[str]) -> Answer | None:
    starts = [number for number, line in enumerate(lines) if "ROCk module" in line or "HSA System Attributes" in line]
    return _answer("run rocminfo", lines[starts[0] :]) if starts else None


def _environment(lines: list[str]) -> Answer | None:
    found = [f"{match[1]}={match[2].strip(chr(34) + chr(39))}" for line in lines if (match := _EXPORT.match(line))]
    return _answer("env", found) if found else None


RECOGNISERS: tuple[Callable[[list[str]], Answer | None], ...] = (_kernel_log, _rocminfo, _environment)


def _answer(question: str, lines: Iterable[str]) -> Answer:
    return Answer(question, "ok", "\n".join(lines).encode(), complete=False)


def recognise(text: str) -> list[Answer]:
    """The answers that stand in a text."""
    lines = text.splitlines()[:200_000]
    return [answer for one in RECOGNISERS if (answer := one(lines)) is not None]


@dataclass
class TextHost:
    """A host that answers from pasted text."""

    answers: dict[str, Answer]
    origin: str
    kind: Kind = "text"

    def ask(self, question: str) -> Answer:
        return self.answers.get(question) or Answer(question, "not-asked", complete=False)

    def prefetch(self, questions: Iterable[str]) -> None:
        pass

    def available(self) -> tuple[str, ...]:
        return tuple(self.answers)


def open_text(text: str, origin: str) -> TextHost:
    """A host over pasted text; the question ``text`` gives the whole of it, cleaned, with its line numbers."""
    cleaned = clean(text).text
    answers = {answer.question: answer for answer in recognise(cleaned)}
    return TextHost({**answers, "text": Answer("text", "ok", cleaned.encode(), complete=False)}, origin)
