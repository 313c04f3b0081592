"""Lines of a training job without what launchers and log collectors put in front, and the rank that they name."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import overload

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.alike_lines import AlikeLines
from rocdoctor.parsers.formats.text import lines_of

MAX_LINES = 200_000
MAX_LINE = 20_000
_TERMINALS = (79, 80, 100, 120, 132, 160, 200)
_WRAPPED = 64  # columns from which a line may have been cut

_FRAME = regex(
    r"[ \t]{0,8}(?:"
    r"\[rank ?(?P<rank>\d{1,7})\]:\s?|"  # torch's own prefix of tracebacks and messages
    r"\[(?:default|trainer|worker)_?(?P<local>\d{1,5})\]:\s?|"  # torchrun --tee
    r"\[\d{1,5},\d{1,7}\]<std(?:err|out|diag)>:\s?|"  # mpirun --tag-output
    r"\(\w[\w.-]{0,60} pid=\d{1,9}(?:, ip=[\w.:-]{1,60})?\)\s|"  # ray
    r"\d{1,6}:[ \t](?=\S|[ \t])|"  # srun --label
    r"[\w./-]{1,80}[ \t]{1,12}\|[ \t]|"  # docker compose, stern
    r"\[?\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d[\d.,Z+:]{0,20}\]?[ \t]{1,3}(?:(?:std(?:err|out)) [FP] )?|"
    r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,64} [\w./-]{1,64}(?:\[\d{1,9}\])?:[ \t]|"  # syslog
    r"\[?[EWIF]\d{4} \d\d:\d\d:\d\d(?:\.\d{3,9})? (?:\d{1,9} )?[\w./-]{1,160}:\d{1,6}\]\s"
    r")"
)


@dataclass(frozen=True, slots=True)
class JobLine:
    """A line: its number (from 1), the rank that its frame names, and what stands behind the frame."""

    number: int
    text: str
    rank: int | None = None
    local_rank: int | None = None
    width: int = 0  # columns of the whole line, frame included


class JobLines(Sequence[JobLine]):
    """The lines of a job's log. A line that goes on what was wrapped has the rank of its beginning.

    ``texts`` is what stands behind the frames, ``widths`` are those of the whole lines; ``ranks`` and ``local_ranks``
    have the lines (indices) that name one; ``alike`` are the whole lines.
    """

    def __init__(self, lines: list[str]) -> None:
        self.alike = AlikeLines(lines)
        self.widths = list(map(len, lines))
        self.texts = list(lines)
        self.ranks: dict[int, int] = {}
        self.local_ranks: dict[int, int] = {}
        self._behind: list[str] = []  # what stands behind the frames, of each shape
        for shape, places in zip(self.alike.shapes, self.alike.lines, strict=True):
            end, rank, local = _frame(shape)
            self._behind.append(shape[end:])
            for at in places if end else ():
                line = lines[at]
                self.texts[at] = line[end:]
                if rank is not None:
                    self.ranks[at] = int(line[rank])
                if local is not None:
                    self.local_ranks[at] = int(line[local])
        for at in sorted(self.ranks):
            self._carry_on(at)

    def _carry_on(self, at: int) -> None:
        """The rank of a line for those that its wrapped rest stands on."""
        following = at + 1
        while (
            following < len(self.texts)
            and self.widths[following - 1] >= _WRAPPED
            and self.widths[following] == len(self.texts[following])
            and not self.texts[following].startswith(("Traceback", "=", "-"))
        ):
            self.ranks[following] = self.ranks[at]
            if at in self.local_ranks:
                self.local_ranks[following] = self.local_ranks[at]
            following += 1

    def where(self, test: Callable[[str], object]) -> Iterator[int]:
        """The lines (indices) of which what stands behind the frames passes a test, digits made equal."""
        return self.alike.of(place for place, behind in enumerate(self._behind) if test(behind))

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, at: int) -> JobLine: ...
    @overload
    def __getitem__(self, at: slice) -> list[JobLine]: ...
    def __getitem__(self, at: int | slice) -> JobLine | list[JobLine]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        return JobLine(at + 1, self.texts[at], self.ranks.get(at), self.local_ranks.get(at), self.widths[at])


def job_lines(text: str) -> JobLines:
    """The lines of a text; never raises."""
    return JobLines([line[:MAX_LINE] for line in lines_of(text, MAX_LINES)])


def _frame(line: str) -> tuple[int, slice | None, slice | None]:
    """(where the frames of a line end, where they name a rank, and a local one)."""
    end = 0
    rank = local = None
    for _ in range(6):
        found = _FRAME.match(line[end:])
        if found is None:
            break
        if found["rank"]:
            rank = slice(end + found.start("rank"), end + found.end("rank"))
        elif found["local"]:
            local = slice(end + found.start("local"), end + found.end("local"))
        end += found.end()
    return end, rank, local


@dataclass(frozen=True, slots=True)
class Joined:
    """Lines as one text, by which a message is found that was wrapped.

    ``starts`` are the offsets of the lines that are not empty, ``places`` their indices in ``lines``.
    """

    text: str
    starts: Sequence[int]
    places: Sequence[int]
    lines: JobLines

    def line_at(self, offset: int) -> JobLine:
        """The line in which an offset lies."""
        return self.lines[self.places[max(bisect_right(self.starts, offset) - 1, 0)]]


def joined(lines: JobLines) -> Joined:
    """The lines joined: by a blank, or by nothing behind a line that the edge of a terminal cut."""
    widths = Counter(width for width in lines.widths if 60 <= width <= 240)
    longest = max(lines.widths, default=0)
    # A terminal cuts all long lines at one column; where a mail wraps at blanks they end at many.
    cut = {
        width
        for width, count in widths.items()
        if count >= (2 if width == longest else 3)
        and (width == longest or width in _TERMINALS)
        and count >= 0.6 * sum(widths[near] for near in range(width - 12, width + 1))
    }
    parts = [f"{text.strip()} " for text in lines.texts]
    for at in [at for at, width in enumerate(lines.widths) if width in cut] if cut else ():
        for one in (at, at + 1)[: len(parts) - at]:
            text = lines.texts[one]
            begun = one > 0 and lines.widths[one - 1] in cut
            body = text if begun else text.lstrip()
            parts[one] = body if lines.widths[one] in cut else body.rstrip() + " "
    places = [at for at, part in enumerate(parts) if part != " " and part.strip()]
    kept = [parts[at] for at in places]
    return Joined("".join(kept), list(accumulate(map(len, kept), initial=0))[:-1], places, lines)
