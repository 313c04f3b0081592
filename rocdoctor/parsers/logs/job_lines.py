"""Lines of a training job without what launchers and log collectors put in front, and the rank that they name."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rocdoctor.model.lazy_re import regex
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


def job_lines(text: str) -> list[JobLine]:
    """The lines of a text; never raises. A line that goes on what was wrapped has the rank of its beginning."""
    found: list[JobLine] = []
    before: JobLine | None = None
    for number, line in enumerate(lines_of(text, MAX_LINES), 1):
        one = _unframed(number, line[:MAX_LINE])
        if (
            before is not None
            and before.rank is not None
            and before.width >= _WRAPPED
            and one.width == len(one.text)
            and not one.text.startswith(("Traceback", "=", "-"))
        ):
            one = replace(one, rank=before.rank, local_rank=before.local_rank)
        found.append(one)
        before = one
    return found


def _unframed(number: int, line: str) -> JobLine:
    width = len(line)
    rank = local = None
    for _ in range(6):
        found = _FRAME.match(line)
        if found is None:
            break
        if found["rank"]:
            rank = int(found["rank"])
        elif found["local"]:
            local = int(found["local"])
        line = line[found.end() :]
    return JobLine(number, line, rank, local, width)


@dataclass(frozen=True, slots=True)
class Joined:
    """Lines as one text, by which a message is found that was wrapped; ``starts`` are the offsets of the lines."""

    text: str
    starts: Sequence[int]
    lines: Sequence[JobLine]

    def line_at(self, offset: int) -> JobLine:
        """The line in which an offset lies."""
        return self.lines[max(bisect_right(self.starts, offset) - 1, 0)]


def joined(lines: Sequence[JobLine]) -> Joined:
    """The lines joined: by a blank, or by nothing behind a line that the edge of a terminal cut."""
    widths = Counter(line.width for line in lines if 60 <= line.width <= 240)
    longest = max((line.width for line in lines), default=0)
    # A terminal cuts all long lines at one column; where a mail wraps at blanks they end at many.
    cut = {
        width
        for width, count in widths.items()
        if count >= (2 if width == longest else 3)
        and (width == longest or width in _TERMINALS)
        and count >= 0.6 * sum(widths[near] for near in range(width - 12, width + 1))
    }
    parts: list[str] = []
    starts: list[int] = []
    kept: list[JobLine] = []
    offset = 0
    was_cut = False
    for line in lines:
        body = line.text if was_cut else line.text.lstrip()
        was_cut = line.width in cut
        body = body if was_cut else body.rstrip() + " "
        if not body.strip():
            continue
        starts.append(offset)
        kept.append(line)
        parts.append(body)
        offset += len(body)
    return Joined("".join(parts), starts, kept)
