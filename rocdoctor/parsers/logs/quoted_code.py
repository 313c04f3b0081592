"""Whether a message stands in the source code of the program that would print it, and not in its output.

People paste the lines that raise an error, patches, tests and lists of patterns. What a call, a stream or a table of
texts holds between quotation marks has not been printed.
"""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.model.lazy_re import regex

_OPEN = r"[fruLbc]{0,2}[\"'][^\"'\n]{0,200}\Z"
# Up to the message: a call that prints, raises or compares, a stream, a return, a table of texts, a remark behind code.
_BEFORE = regex(
    r"(?:\b(?:[fsv]{0,2}n?printf|e?println?|puts|error|errx?|fatal|warnx?|warning|verbose|info|debug\d?|panic|bail|"
    r"anyhow|Sprintf|Errorf|Fatalf?|Printf|New|Wrapf?|x?str(?:fmt)?cat|\w{2,20}_make_error|throws?|raises\w{0,10}|"
    r"match|[A-Z][A-Z0-9]{1,20}_[A-Z0-9_]{2,30})!?\s?\(\s{0,4}(?:[\w&*>.-]{1,40},\s{0,4}){0,4}"
    rf"|<<\s{{0,2}}|(?:^|[;{{}}:]\s{{0,4}})(?:return|throw|raise)\s[^\"'\n]{{0,60}}|\bError<\s{{0,4}}"
    r"|\b[A-Z][A-Z_]{3,40}\([A-Z][A-Z0-9_]{3,40}\),?\s{1,4}|\bconstant \[\d{1,5} x i8\] "
    r"|\b(?:const|let|var|static|auto|char)\b[^=\n]{0,60}=\s{0,4}|\b\w{1,30} :=\s{0,4})"
    rf"{_OPEN}|[;{{}}]\s{{1,4}}//\s[^\n]{{0,200}}\Z"
)
# An option of a kernel's configuration that is off is written as a comment.
_CODE = regex(
    r"[+-]?\s*(?:with \S{1,40}[rR]aises\w{0,10}\(|(?:\d{1,5}\s+)?"
    r"(?:raise|if|elif|assert|except|#(?! CONFIG_[A-Z0-9_]{2,40} is not set)|//|"
    r"warnings\.warn\(|logger\.|print\()[\s(\"']|[a-z_]{2,30} = [rf]?[\"'])"
)
_LINE = regex(r"\s{0,40}(?:(?:EXPECT|ASSERT|REQUIRE)\w{0,20}\s?\(|(?://|;|#)\s?CHECK[\w-]{0,12}:)")
# The text of a format, whose values are still to be put in, before the message and behind it.
_FORMATTED = regex(r"[\"'][^\"'\n]{0,160}%(?:\.\d{1,2})?[lz]{0,2}[sdufgx]\b[^\"'\n]{0,120}\Z")
_GAP = regex(r"[^\"'\n]{0,160}(?:%(?:\.\d{1,2})?[lz]{0,2}[sdufgmx]\b|\{[a-z_]\w{0,40}(?:[.\[:][^}\n]{0,40})?\})")
_QUOTED = regex(r"[\"'][^\"'\n]{0,200}\Z")
# One of several texts in a list.
_ENTRY = regex(r"\s{0,40}[rfb]{0,2}([\"'])[^\"'\n]{3,200}\1,\s{0,4}\Z")
_LIST = regex(r"[\w .:]{1,60}= ?[\[({]\s{0,4}\Z")


def in_code(before: str, after: str, raw: Sequence[str], line: int) -> bool:
    """Whether a message is part of source code.

    ``before`` and ``after``: the text around it on its line (number ``line``, from 1, of ``raw``).
    """
    written = raw[line - 1][:400]
    if _CODE.match(written[:200]) or _LINE.match(written) or _BEFORE.search(before) or _FORMATTED.search(before):
        return True
    if _QUOTED.search(before) and _GAP.match(after):
        return True
    if not _ENTRY.match(written):
        return False
    above = raw[line - 2][:400] if line > 1 else ""
    below = raw[line][:400] if line < len(raw) else ""
    return bool(_LIST.match(above) or (_ENTRY.match(above) and _ENTRY.match(below)))


def in_passed_test(raw: Sequence[str], line: int) -> bool:
    """Whether a line (from 1) stands in the output of a test of GoogleTest that passed: it was provoked."""
    above = next((one for one in reversed(raw[max(0, line - 40) : line - 1]) if one.lstrip()[:1] == "["), "")
    if not above.lstrip().startswith("[ RUN"):
        return False
    below = next((one for one in raw[line : line + 60] if one.lstrip()[:1] == "["), "")
    return below.lstrip().startswith("[       OK")
