"""Lines that differ in their digits alone: what changes nothing in one of them changes nothing in the others.

Logs repeat few lines but for their numbers. Of those that are alike one is masked as any other, and one with digits as
random as they get; where neither changes, the rest needs no rule. That would be wrong for lines in which the digits
themselves tell (addresses, ids, codes, formats of tokens that hold a digit): these are never judged by one another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import cycle

from rocdoctor.host.masking.rules import load_tables
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.alike_lines import alike

_FEW = 4  # lines that are alike, for which judging them by one is not worth its time
_MOST = 100_000
_DIGIT = regex(r"[0-9]")
_NUMBERED = regex(r"(?<![\\{,\[\w-])[A-Za-z_]{2,20}[0-9][a-z]?|(?<![\w\\])[ks][0-9][a-z]?(?!\w)")  # krb5, k8s
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


@lru_cache(maxsize=1)
def _telling_words() -> tuple[str, ...]:
    """What stands in lines whose digits tell, in lower case, with digits made equal: formats and names with a digit."""
    tables = load_tables()
    words = {word for word, _ in tables.literals if _DIGIT.search(word)}
    words.update(word for place in tables.places for word in place.words if _NUMBERED.search(word))
    expressions = [*(one.expression for one in tables.places), *(one.expression for one in tables.secrets)]
    words.update(word.lower() for expression in expressions for word in _NUMBERED.findall(expression))
    return (*_IDS, *sorted(set(map(alike, words))))


class KnownShapes:
    """What is known of shapes (lines whose digits are all 0) in one run; not thread-safe on its own."""

    def __init__(self, masked: Callable[[list[str]], list[str]]) -> None:
        self._masked = masked  # what lines become that nothing is known of
        self._words = _telling_words()
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
                if self._may_be(shape):
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

    def _may_be(self, shape: str) -> bool:
        low = shape.lower()
        return not any(word in low for word in self._words) and not _TELLING.search(shape)


def _loud(line: str) -> str:
    """The line with digits that look more random than any that a tool prints."""
    digits = cycle(_RANDOM)
    return _DIGIT.sub(lambda _: next(digits), line)
