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
from rocdoctor.host.masking.encoded import OTHER_SIGNS
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
    rf"[0-9A-Fa-f]{{20}}|(?:[0-9A-Fa-f]{{2}}[ :]){{12}}|%[0-9A-Fa-f]{{2}}|\\|&#|masked-|{OTHER_SIGNS}"
)
# What may be base64, as it looks in a line and in its shape: names of variables and paths, more often than not.
_RUN_FORM = r"(?<![A-Za-z0-9+/_-])(?=[a-z0-9+/_-]{0,80}[A-Z])[A-Za-z0-9+/_-]{20,}"
_RUN = regex(_RUN_FORM)
_SPARED = regex(rf"{_RUN_FORM}|[0-9]")
# Numbers that stand alone, whose length tells nothing to who listens: times of the kernel, addresses of PCI devices and
# of memory, counts and measured values. In a line whose digits are all 0.
_ALONE = regex(
    r"(?P<t>\A\[ {0,11}0{1,10}\.0{6}\])|"
    r"(?P<p>(?<![0-9A-Za-z:.-])[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.0(?![0-9A-Za-z:.-]))|"
    r"(?<![\w.-])(?P<x>0x)[0-9a-f]{1,16}(?!\w)|"
    r"(?<![\w.:/@+-])[+-]?0{1,18}(?:\.0{1,18})?(?:e[+-]?0{1,3})?"
    r"(?=(?:[kKMGT]i?B?|[mu]?s|it/s|[x%])?(?![\w:/@-]|\.\w))"
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
            if not shape_tells(shape) and telling_digits(shape) == ():
                self._seen[shape] = text
            else:
                self._known[shape] = False

    def _judge(self) -> None:
        if len(self._known) >= _MOST:
            self._known.clear()
        quiet = self._unchanged([loud(text) for text in self._seen.values()])
        self._known.update(zip(self._seen, quiet, strict=True))
        self._seen.clear()


def _shape(text: str) -> str:
    shape = alike(text)
    return _PCI.sub("0000:00:00.0", shape) if ":" in shape else shape


class KnownShapes:
    """What is known of shapes (lines whose digits are all 0) in one run; not thread-safe on its own.

    ``quiet``: which of some lines, of which nothing is known, no rule changes. ``hears``: masked lines are thrown away,
    and it says which lines teach nothing; more shapes can be judged then, as addresses and ids teach nothing, and a
    number that stands alone may be of any length.
    """

    def __init__(self, quiet: Callable[[list[str]], list[bool]], hears: bool = False) -> None:
        self._quiet = quiet
        self.hears = hears
        self._inert: dict[str, bool] = {}
        self._asked: dict[str, Patterns] = {}  # by shapes: what finds the lines of one that others do not speak for
        self._also: dict[str, tuple[str, ...]] = {}  # by shapes: the shortest and the longest line of one

    def parted(self, lines: Sequence[str]) -> tuple[list[int], dict[int, list[int]]]:
        """The lines to mask, and for each that others wait for these; all by their numbers.

        Lines that no rule changes are in neither.
        """
        shapes = alike("\n".join(lines)).split("\n")
        alone = self._alone(shapes, lines) if self.hears else shapes
        counts = Counter(alone)
        if self.hears:
            self._also = _extremes(alone, lines, counts)
        now: list[int] = []
        waiting: dict[int, list[int]] = {}
        first: dict[str, int] = {}
        for at, shape in enumerate(alone):
            inert = self._inert.get(shape)
            if (inert or (inert is None and counts[shape] >= _FEW)) and shape not in self._asked:
                asked = self._patterns([shapes[at], *map(alike, self._also.get(shape, ()))])
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

    def _alone(self, shapes: list[str], lines: Sequence[str]) -> list[str]:
        """The shapes with numbers that stand alone made equal, and beside them what may be codes as it is."""
        made = {shape: _ALONE.sub(_same, shape) for shape in dict.fromkeys(shapes)}
        coded = {shape for shape in made if any("0" in run for run in _RUN.findall(shape))}
        if not coded:
            return list(map(made.__getitem__, shapes))
        return [
            "\0".join((made[shape], *_RUN.findall(line))) if shape in coded else made[shape]
            for shape, line in zip(shapes, lines, strict=True)
        ]

    def _patterns(self, shapes: Iterable[str]) -> Patterns | None:
        """What finds the lines of some shapes whose digits tell; None where those of any of them may."""
        if not self.hears:
            # Names are numbered in the order of the lines: one that is asked on its own would be masked before others.
            return None if any(shape_tells(one) or telling_digits(one) != () for one in shapes) else ()
        found: dict[re.Pattern[str], None] = {}
        for shape in dict.fromkeys(shapes):
            asked = None if _CODED.search(shape) else telling_digits(shape)
            if asked is None:
                return None
            found.update(dict.fromkeys(asked))
        return tuple(found)

    def judge(self, lines: Iterable[str], unchanged: Iterable[bool]) -> list[bool]:
        """Whether no rule changes what is like each of these lines, which were masked, or teaches something there."""
        same = dict(zip(lines, unchanged, strict=True))
        if self.hears:
            keys = dict(zip(same, self._alone(list(map(alike, same)), list(same)), strict=True))
        else:
            keys = {line: alike(line) for line in same}
        said = {
            line: dict.fromkeys(self._loud(one) for one in (line, *self._also.get(keys[line], ())))
            for line, kept in same.items()
            if kept or self.hears
        }
        loud = [one for ones in said.values() for one in ones]
        # What is a word of the tools with these digits alone says nothing of others: k8s.io.
        quiet = {
            one: calm and not numbered_words().search(one) for one, calm in zip(loud, self._quiet(loud), strict=True)
        }
        judged = [line in said and all(quiet[one] for one in said[line]) for line in same]
        for line, inert in zip(same, judged, strict=True):
            self._know(keys[line], inert)
        return judged

    def _loud(self, line: str) -> str:
        """The line with digits that look more random than any that a tool prints; what may be a code has its own."""
        digits = cycle(_RANDOM)
        if not self.hears:
            return loud(line)
        return _SPARED.sub(lambda one: one[0] if len(one[0]) > 1 else next(digits), line)

    def _know(self, shape: str, inert: bool) -> None:
        if len(self._inert) >= _MOST:
            self._inert.clear()
            self._asked.clear()
        self._inert[shape] = inert


def _same(number: re.Match[str]) -> str:
    """What numbers that stand alone become."""
    return {"t": "[0.0]", "p": "0000:00:00.0", "x": "0x0"}.get(number.lastgroup or "", "0")


def _extremes(shapes: Sequence[str], lines: Sequence[str], counts: Counter[str]) -> dict[str, tuple[str, ...]]:
    """By shapes that several lines have: the shortest and the longest of these, where they differ in length."""
    shortest: dict[str, str] = {}
    longest: dict[str, str] = {}
    for shape, line in zip(shapes, lines, strict=True):
        if counts[shape] < _FEW:
            continue
        if len(line) < len(shortest.setdefault(shape, line)):
            shortest[shape] = line
        elif len(line) > len(longest.setdefault(shape, line)):
            longest[shape] = line
    return {shape: (shortest[shape], line) for shape, line in longest.items() if len(line) > len(shortest[shape])}


def shape_tells(shape: str) -> bool:
    """Whether a shape holds addresses, ids or codes."""
    low = shape.lower()
    return any(word in low for word in _IDS) or _TELLING.search(shape) is not None or compares_lines(shape)


def loud(line: str) -> str:
    """The line with digits that look more random than any that a tool prints."""
    digits = cycle(_RANDOM)
    return _DIGIT.sub(lambda _: next(digits), line)
