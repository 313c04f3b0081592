"""Lines that differ in their digits alone: what changes nothing in one of them changes nothing in the others.

Logs repeat few lines but for their numbers. Of those that are alike one is masked as any other, and one with digits as
random as they get; where neither changes, the rest needs no rule. That would be wrong for lines in which the digits
themselves tell (addresses, ids, codes, formats of tokens that hold a digit): these are never judged by one another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle

from rocdoctor.host.masking.any_digits import numbered_words, telling_digits, tells
from rocdoctor.host.masking.columns import compares_lines
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.alike_lines import alike

Patterns = tuple[re.Pattern[str], ...]

_FEW = 4  # lines that are alike, for which judging them by one is not worth its time
_MOST = 100_000
_DIGIT = regex(r"[0-9]")
_RANDOM = "7391846257938164"  # no 0, and nothing twice in a row
# Addresses, ids and codes, in a line whose digits are all 0.
_TELLING = regex(
    r"\d\.\d{1,3}\.\d{1,3}\.\d|(?:[0-9A-Fa-f]{1,4}:){3}|::|(?:[0-9A-Fa-f]{2,8}-){3}|[0-9A-Fa-f]{9}|"
    r"(?:[0-9A-Fa-f]{2}[ .:]){6}|[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.|%[0-9A-Fa-f]{2}|\\|&#|[^\x00-\x7f]|"
    r"(?<![A-Za-z0-9+/_-])(?=[a-z0-9+/_-]{0,80}[A-Z])[A-Za-z0-9+/_-]{20}"
)
# Codes, and lists of names that are written short: what digits they have decides what they say.
_CODED = regex(
    r"[\w.-]\[[0-9,-]{0,200}[0-9][,-][0-9]|"
    r"[0-9A-Fa-f]{20}|(?:[0-9A-Fa-f]{2}[ :]){12}|%[0-9A-Fa-f]{2}|\\|&#|masked-|[^\x00-\x7f]|"
    r"(?<![A-Za-z0-9+/_-])(?=[a-z0-9+/_-]{0,80}[A-Z])[A-Za-z0-9+/_-]{20}"
)
# Words beside which a number is somebody's or something's id.
_IDS = (
    *("unique", "hive", "guid", "uuid", "serial", "pdi", "machine", "boot", "invocation", "journal", "asset", "tag"),
    *("s/n", "sn=", "wwn", "eui.", "naa.", "nvme.", "by-id", "gpu-", "mig-", "masked-"),
    *("phone", "tel", "fax", "account"),
)


# The address of a PCI device: its letters are digits too.
_PCI = regex(r"(?<![0-9A-Za-z:.-])[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7](?![0-9A-Za-z:.-])")


class QuietTexts:
    """Short texts that nothing changes, known by their shapes: a machine answers hundreds of questions alike.

    A shape that comes a second time is judged, together with all others that were seen since: one by one each would
    cost all rules. Not thread-safe on its own.
    """

    LONGEST = 4000

    def __init__(self, unchanged: Callable[[list[str]], list[bool]]) -> None:
        self._unchanged = unchanged  # whether texts stay as they are where nothing is known of names
        self._known: dict[str, bool] = {}
        self._seen: dict[str, str] = {}  # texts by their shapes that stayed once

    def holds(self, text: str) -> bool:
        """Whether nothing changes a text in which no known name stands."""
        shape = _shape(text)
        if shape in self._seen:
            self._judge()
        return self._known.get(shape, False)

    def stayed(self, text: str) -> None:
        """Remembers a text that masking left as it is."""
        if len(text) > self.LONGEST:
            return
        shape = _shape(text)
        if shape not in self._known and shape not in self._seen:
            if not _tells(shape) and telling_digits(shape) == ():
                self._seen[shape] = text
            else:
                self._known[shape] = False

    def _judge(self) -> None:
        if len(self._known) >= _MOST:
            self._known.clear()
        quiet = self._unchanged([_loud(text) for text in self._seen.values()])
        self._known.update(zip(self._seen, quiet, strict=True))
        self._seen.clear()


def _shape(text: str) -> str:
    shape = alike(text)
    return _PCI.sub("0000:00:00.0", shape) if ":" in shape else shape


class KnownShapes:
    """What is known of shapes (lines whose digits are all 0) in one run; not thread-safe on its own.

    ``quiet``: which of some lines, of which nothing is known, no rule changes. ``hears``: masked lines are thrown away,
    and it says which lines teach nothing; more shapes can be judged then, as addresses and ids teach nothing.
    """

    def __init__(self, quiet: Callable[[list[str]], list[bool]], hears: bool = False) -> None:
        self._quiet = quiet
        self._hears = hears
        self._inert: dict[str, bool] = {}
        self._asked: dict[str, Patterns] = {}  # by shapes: what finds the lines of one that others do not speak for

    def parted(self, lines: Sequence[str]) -> tuple[list[int], dict[int, list[int]]]:
        """The lines to mask, and for each that others wait for these; all by their numbers.

        Lines that no rule changes are in neither.
        """
        shapes = alike("\n".join(lines)).split("\n")
        counts = Counter(shapes)
        now: list[int] = []
        waiting: dict[int, list[int]] = {}
        first: dict[str, int] = {}
        for at, shape in enumerate(shapes):
            inert = self._inert.get(shape)
            if (inert or (inert is None and counts[shape] >= _FEW)) and shape not in self._asked:
                asked = self._patterns(shape)
                if asked is None:
                    self._know(shape, inert := False)
                else:
                    self._asked[shape] = asked
            patterns = self._asked.get(shape)
            if inert is False or patterns is None or tells(patterns, lines[at]):
                now.append(at)
            elif inert is None and shape in first:
                waiting[first[shape]].append(at)
            elif inert is None:
                now.append(at)
                first[shape] = at
                waiting[at] = []
        return now, waiting

    def _patterns(self, shape: str) -> Patterns | None:
        """What finds the lines of a shape whose digits tell; None where those of any of them may."""
        if self._hears:
            return None if _CODED.search(shape) else telling_digits(shape)
        # Names are numbered in the order of the lines: one that is asked on its own would be masked before others.
        return () if not _tells(shape) and telling_digits(shape) == () else None

    def judge(self, lines: Iterable[str], unchanged: Iterable[bool]) -> list[bool]:
        """Whether no rule changes what is like each of these lines, which were masked, or teaches something there."""
        same = dict(zip(lines, unchanged, strict=True))
        candidates = [line for line, kept in same.items() if kept or self._hears]
        loud = [_loud(line) for line in candidates]
        # What is a word of the tools with these digits alone says nothing of others: k8s.io.
        quiet_too = {
            line: quiet and not numbered_words().search(said)
            for line, said, quiet in zip(candidates, loud, self._quiet(loud), strict=True)
        }
        judged = [quiet_too.get(line, False) for line in same]
        for line, inert in zip(same, judged, strict=True):
            self._know(alike(line), inert)
        return judged

    def _know(self, shape: str, inert: bool) -> None:
        if len(self._inert) >= _MOST:
            self._inert.clear()
            self._asked.clear()
        self._inert[shape] = inert


def _tells(shape: str) -> bool:
    """Whether a shape holds addresses, ids or codes."""
    low = shape.lower()
    return any(word in low for word in _IDS) or _TELLING.search(shape) is not None or compares_lines(shape)


def _loud(line: str) -> str:
    """The line with digits that look more random than any that a tool prints."""
    digits = cycle(_RANDOM)
    return _DIGIT.sub(lambda _: next(digits), line)
