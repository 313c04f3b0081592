"""Lines that are alike but for their numbers and addresses: in most of them nothing but addresses is replaced.

A journal tells of thousands of addresses, each line by another one. Where masking a few lines of a shape changes
nothing but addresses, the other lines of it need no other rule. All lines of a text are still looked at for addresses
together, so that these are numbered in the order in which they stand.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from rocdoctor.host.masking.alike import Patterns, loud, shape_tells
from rocdoctor.host.masking.any_digits import numbered_words, telling_digits, tells
from rocdoctor.host.masking.ids import Pseudonyms
from rocdoctor.host.masking.network import mask_net
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.alike_lines import alike

_FEW = 8  # lines that are alike, for which judging them by three is not worth its time
_MOST = 20_000  # shapes that are kept
_GOES_ON = ("\\", "\\\r")  # a command goes on in the next line
NO_LINES: frozenset[int] = frozenset()
# Addresses in a line whose digits are all 0: IPv4, and those of network cards.
_ADDRESS = regex(
    r"(?<![\w.+~:-])(?:0{1,3}(?:\.0{1,3}){3}|(?P<m>[0a-fA-F]{2}(?::[0a-fA-F]{2}){5}))(?![\w+~-]|[.:][\w-])|"
    r"(?<![\w.+~:-])(?P<p>0{1,3}(?:\.0{1,3}){3}(?=:0{1,5}(?![\w.:-])))"
)
_NUMBERED = regex(r"ip-\d{1,6}\.\d{1,3}|02:5[eE]:[eE][dD](?::[0-9a-fA-F]{2}){3}")


class AddressedShapes:
    """What is known of lines with addresses; not thread-safe on its own.

    ``masked``: lines as a masker makes them that knows nothing.
    """

    def __init__(self, masked: Callable[[list[str]], list[str]]) -> None:
        self._masked = masked
        self._known: dict[str, bool] = {}
        self._asked: dict[str, Patterns] = {}  # by shapes: what finds the lines that another rule changes

    def among(self, text: str) -> frozenset[int]:
        """The places of the lines in which nothing but addresses is replaced; known names are replaced already."""
        shapes, lines = alike(text).split("\n"), text.split("\n")
        made = {shape: _ADDRESS.sub(_same, shape) for shape in dict.fromkeys(shapes)}
        keys = {shape: key for shape, key in made.items() if key != shape}
        if not keys:
            return NO_LINES
        counts = Counter(keys[shape] for shape in shapes if shape in keys)
        asked: dict[str, list[str]] = {}
        for shape, line in zip(shapes, lines, strict=True):
            key = keys.get(shape, "")
            if key and key not in self._known and counts[key] >= _FEW:
                _keep_extremes(asked.setdefault(key, []), line)
        self._judge({key: some for key, some in asked.items() if self._judgeable(key, some)})
        return frozenset(
            at
            for at, shape in enumerate(shapes)
            if self._known.get(key := keys.get(shape, ""), False)
            and not ((found := self._asked[key]) and tells(found, lines[at]))
            and not (at and lines[at - 1].endswith(_GOES_ON))
        )

    def _judgeable(self, key: str, some: Iterable[str]) -> bool:
        """Whether lines of a shape may speak for the others: no number in them tells but those of addresses."""
        found = None if shape_tells(key) else [telling_digits(alike(line), command=True) for line in some]
        if found is None or None in found:
            self._known[key] = False
            return False
        self._asked[key] = tuple(dict.fromkeys(one for patterns in found for one in patterns or ()))
        return True

    def _judge(self, asked: dict[str, list[str]]) -> None:
        if len(self._known) >= _MOST:
            self._known = {}
            self._asked = {key: self._asked[key] for key in asked}
        rows = [(key, one) for key, some in asked.items() for line in some for one in (line, loud(line))]
        lines = [line for _, line in rows]
        made = self._masked(lines) if lines else []
        told = mask_net("\n".join(lines), Pseudonyms()).split("\n") if lines else []
        self._known.update(dict.fromkeys(asked, True))
        for (key, line), one, other in zip(rows, made, told, strict=True):
            if _NUMBERED.sub("0", one) != _NUMBERED.sub("0", other) or numbered_words().search(line):
                self._known[key] = False


def kept_lines(lines: Sequence[str], places: frozenset[int]) -> str:
    """The lines at some places, as one text."""
    return "\n".join(lines[at] for at in sorted(places))


def woven(text: str, light: str, places: frozenset[int]) -> str:
    """The lines of two texts as one: those of ``light`` stand at these places."""
    one, other = iter(text.split("\n")), iter(light.split("\n"))
    lines = [next(other if at in places else one, None) for at in range(text.count("\n") + len(places) + 1)]
    return "\n".join(line for line in lines if line is not None)


def _same(address: re.Match[str]) -> str:
    return "\1" if address["m"] else "\2"


def _keep_extremes(kept: list[str], line: str) -> None:
    """The first, the shortest and the longest of the lines that come."""
    if not kept:
        kept += [line, line, line]
    elif len(line) < len(kept[1]):
        kept[1] = line
    elif len(line) > len(kept[2]):
        kept[2] = line
