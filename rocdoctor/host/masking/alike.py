"""Lines that differ in their digits alone: what changes nothing in one of them changes nothing in the others.

Logs repeat few lines but for their numbers. Of those that are alike one is masked as any other, and one with digits as
random as they get; where neither changes, the rest needs no rule. That would be wrong for lines in which the digits
themselves tell (addresses, ids, codes, formats of tokens that hold a digit): these are never judged by one another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle

from rocdoctor.host.masking.any_digits import digits_tell
from rocdoctor.host.masking.columns import compares_lines
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.alike_lines import alike

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
            if _may_be(shape):
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
    """What is known of shapes (lines whose digits are all 0) in one run; not thread-safe on its own."""

    def __init__(self, masked: Callable[[list[str]], list[str]]) -> None:
        self._masked = masked  # what lines become that nothing is known of
        self._inert: dict[str, bool] = {}

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
            if inert:
                continue
            if inert is None and counts[shape] >= _FEW:
                if shape in first:
                    waiting[first[shape]].append(at)
                    continue
                if _may_be(shape):
                    first[shape] = at
                    waiting[at] = []
                else:
                    self._know(shape, False)
            now.append(at)
        return now, waiting

    def judge(self, lines: Iterable[str], unchanged: Iterable[bool]) -> list[bool]:
        """Whether no rule changes what is like each of these lines, which were masked."""
        same = dict(zip(lines, unchanged, strict=True))
        candidates = [line for line, kept in same.items() if kept]
        loud = [_loud(line) for line in candidates]
        kept_too = {
            line: before == after for line, before, after in zip(candidates, loud, self._masked(loud), strict=True)
        }
        judged = [kept_too.get(line, False) for line in same]
        for line, inert in zip(same, judged, strict=True):
            self._know(alike(line), inert)
        return judged

    def _know(self, shape: str, inert: bool) -> None:
        if len(self._inert) >= _MOST:
            self._inert.clear()
        self._inert[shape] = inert


def _may_be(shape: str) -> bool:
    """Whether the digits of a shape cannot tell anything."""
    low = shape.lower()
    telling = any(word in low for word in _IDS) or _TELLING.search(shape) or compares_lines(shape)
    return not (telling or digits_tell(shape))


def _loud(line: str) -> str:
    """The line with digits that look more random than any that a tool prints."""
    digits = cycle(_RANDOM)
    return _DIGIT.sub(lambda _: next(digits), line)
