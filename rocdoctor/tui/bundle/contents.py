"""What the bundle screen shows and writes, without Textual: the bundle of ``rocdoctor bundle``, row by row."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocdoctor.host.base import Answer, Host
from rocdoctor.host.evidence.capture import pack
from rocdoctor.host.live.accounts import expanded
from rocdoctor.model.facts import Machine
from rocdoctor.model.printable import clean, one_line
from rocdoctor.report.machine.bundle_document import masked_spans
from rocdoctor.service.bundles import Bundle, bundle_of, recorder_of, write_bundle

if TYPE_CHECKING:
    from rocdoctor.host.masking.masker import Masker

REPORT = "(the report for people, at the top of the file)"
# Of longer answers the beginning is shown; the file holds all of it.
MOST_SHOWN = 200_000


@dataclass(frozen=True, slots=True)
class BundleRow:
    """One entry of the bundle: the question (or ``REPORT``), bytes of the answer, its state in words.

    ``masked``: something in it was masked; ``size_bytes`` is None while that is not known.
    """

    question: str
    size_bytes: int | None
    state: str
    masked: bool = False


@dataclass(frozen=True, slots=True)
class Contents:
    """A bundle that is not written yet, as rows: the report first, then the questions in the order asked.

    ``states`` counts questions; sizes in bytes, of the text and of the packed file.
    """

    made: Bundle
    rows: tuple[BundleRow, ...]
    keys: tuple[str, ...]
    states: Mapping[str, int]
    size_bytes: int
    packed_bytes: int


class Listed:
    """What was asked and how it was answered, while the bundle is put together: to mask all of it takes a while.

    ``size_bytes`` is that of all answers before they are masked. Questions are masked as they are shown, by what their
    words tell alone.
    """

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._answers = tuple(answers)
        self._masker: Masker | None = None
        self.count = len(self._answers)
        self.states = dict(Counter(_group(state(one)) for one in self._answers).most_common())
        self.size_bytes = sum(len(one.data) for one in self._answers)

    def row(self, index: int) -> BundleRow:
        """The report first, then the questions in the order asked."""
        if index == 0:
            return BundleRow(REPORT, None, "")
        answer = self._answers[index - 1]
        if self._masker is None:
            from rocdoctor.host.masking.masker import Masker

            self._masker = Masker()
        question = one_line(self._masker.mask_question(answer.question))
        return BundleRow(question, len(answer.data), state(answer))


def gather(host: Host, machine: Machine | None) -> Contents:
    """What a bundle of this host holds now. Slow: for a thread. Raises UsageError where it is too much.

    ``machine`` is what was collected from the host, if it was. Whatever the screens were started with, it is masked.
    """
    recorder = recorder_of(host)
    if recorder is not host or machine is None:
        from rocdoctor.collect import collect

        machine = collect(recorder)
    return contents_of(bundle_of(recorder, machine, host.kind))


def contents_of(made: Bundle) -> Contents:
    """A bundle as rows."""
    rows = [BundleRow(REPORT, len(made.summary.encode()), "", bool(masked_spans(made.summary)))]
    rows += [
        BundleRow(one_line(one.question), len(one.data), state(one), bool(masked_spans(one.text)))
        for one in made.answers
    ]
    states = Counter(_group(row.state) for row in rows[1:])
    data = made.content
    return Contents(
        made,
        tuple(rows),
        tuple(f"{row.question} {row.state}{' masked' * row.masked}".lower() for row in rows),
        dict(states.most_common()),
        len(data.encode()),
        len(pack(data)),
    )


def state(answer: Answer) -> str:
    """How a question was answered, in a word or two."""
    if answer.ok:
        words = f"exit {answer.exit_code}" if answer.exit_code else "answered"
        return words + (", cut" if answer.truncated else "")
    return {"timeout": "timed out", "not-asked": "not asked"}.get(answer.status, answer.status)


def _group(words: str) -> str:
    return "with a nonzero exit status" if words.startswith("exit ") else words.removesuffix(", cut")


def search(contents: Contents, words: str) -> list[int]:
    """The rows whose question or state holds all the words."""
    wanted = words.lower().split()
    return [index for index, key in enumerate(contents.keys) if all(word in key for word in wanted)]


def next_masked(contents: Contents, hits: Sequence[int], at: int) -> int | None:
    """The next of the rows that are shown, behind place ``at``, in which something was masked; from the top again."""
    places = [*range(at + 1, len(hits)), *range(min(at + 1, len(hits)))]
    return next((place for place in places if contents.rows[hits[place]].masked), None)


def text_of(contents: Contents, index: int) -> str:
    """What stands in the file at a row, as text to show."""
    if index == 0:
        return clean(contents.made.summary)
    answer = contents.made.answers[index - 1]
    if not answer.data:
        return f"({one_line(answer.note) or 'no text: ' + state(answer)})"
    if b"\0" in answer.data[:4096]:
        return f"({len(answer.data)} bytes that are not text)"
    text = clean(answer.data[:MOST_SHOWN].decode("utf-8", errors="replace"))
    rest = len(answer.data) - MOST_SHOWN
    return text + (f"\n... and {rest} more bytes, which are in the file too" if rest > 0 else "")


def store(contents: Contents, path: str, gzip: bool) -> tuple[Path, int, bool]:
    """(absolute path, bytes, packed) of the new file; raises UsageError."""
    written, size, packed = write_bundle(contents.made.content, expanded(path), gzip)
    return Path(os.path.abspath(written)), size, packed
