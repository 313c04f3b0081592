"""The title of a report, which is marked as a comment of code is: whether it is a program's own words."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.model.lazy_re import regex

_TITLE = regex(
    r"#{1,3}\s{1,3}(?:\[[\w /-]{1,20}\]:?\s{1,3})?(?:[a-z_]\w{0,30}\.){0,4}[A-Z]\w{1,40}(?:Error|Exception): "
)
_HAS_TROUBLE = regex(
    r"(?i)\b(?:i|we)\b[^.\n]{0,40}?\b(?:get(?:ting)?|got|see|saw|hit|met|face|facing|encounter(?:ed|ing)?|ran into)\b"
    r"[^.\n]{0,40}?\b(?:errors?|issues?|problems?|this)\b"
)
_OVER = regex(r"(?i)\b(?:solved|fixed|resolved|faq|documentation|docs|should (?:say|name|print|tell)|wording)\b")
_BELOW = 12  # lines in which the writer says so


def is_title(line: int, raw: Sequence[str]) -> bool:
    """Whether a line (from 1) is the title of a report whose writer has the trouble that it quotes."""
    if line > 1 or not _TITLE.match(raw[0][:200]):
        return False
    below = "\n".join(one[:400] for one in raw[1 : 1 + _BELOW])
    return bool(_HAS_TROUBLE.search(below)) and not _OVER.search(below)
