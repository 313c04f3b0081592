"""Takes off what mail programs, web pages, terminals and markdown put around a text; the line numbers stay."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.alike_lines import AlikeLines
from rocdoctor.parsers.formats.text import strip_ansi
from rocdoctor.paste.general_passages import guide_lines

MAX_LINES = 400_000
MAX_LINE = 20_000

_QUOTE = regex(r"[ \t]{0,3}>(?:>(?!>)|(?!>))[ \t]?")
_FENCE = regex(r"[ \t]{0,12}(?:[-*][ \t]{1,3})?(`{3,12}|~{3,12})[ \t]*([A-Za-z0-9_+.{}#-]{0,30})[^`]{0,80}\Z")
# An assertion of a C program puts its condition between back quotes by itself.
_INLINE = regex(r"(?<!`)(?<!Assertion )`(?!`)([^`\n]{1,400})`(?!`)")
# Elements of web pages; those of other markup (nvidia-smi -x, hwloc) are text that counts.
_TAG = regex(
    r"</?(?:details|summary|pre|code|br|p|div|span|table|thead|tbody|tfoot|tr|td|th|b|i|em|strong|a|ul|ol|"
    r"li|h[1-6]|img|"
    r"kbd|samp|tt|sub|sup|hr|font|blockquote|html|body|head|section|article|clipboard-copy|g-emoji|svg|path)"
    r"(?:\s[^<>]{0,2000})?/?>",
    re.IGNORECASE,
)
_STAMPED = regex(
    r"\s{0,12}(?:\[\s{0,8}\d{1,8}\.\d{6}\] "
    r"|(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,16}) \S{1,64} kernel: )"
)
# The line of a device in the output of lspci, and those of its link.
_DEVICE = regex(
    r"\s{0,40}(?:Lnk|Dev)(?:Cap|Sta|Ctl)2?:\s|"
    r"\s{0,12}(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7] [A-Z][^:\[]{2,60}: \S"
)
_NEXT_DEVICE = regex(r"\s{0,12}(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7]\s")
_GOES_ON = regex(r"\s{0,4}(?![\[$#>|+*-])\S.{0,120}\Z")
_MARKUP = regex(r"</[A-Za-z]|<(?:br|hr|img|pre|tr|p)\b", re.IGNORECASE)
_CELL_END = regex(r"</t[dh]>\s*<t[dh](?:\s[^<>]{0,500})?>", re.IGNORECASE)
_ROW = regex(r"<(/?)tr(?:\s[^<>]{0,500})?>", re.IGNORECASE)
_ENTITY = regex(r"&(?:gt|lt|amp|quot|nbsp|apos|#39|#x27|#34|#x2F|#96);")
_HEADS = ("#", "**", "__", " #", "  #")
_HEADING = regex(r"\s{0,3}(?:#{1,6}\s|\*\*|__)")
# Characters that web pages and word processors put in the place of plain ones.
_PLAIN = (
    *((sign, " ") for sign in "\u00a0\u2007\u202f\x0b\x0c"),
    *((sign, "") for sign in "\u200b\u200c\u200d\ufeff"),
    *((sign, "'") for sign in "\u2018\u2019"),
    *((sign, '"') for sign in "\u201c\u201d"),
)
# Scripts that write no blanks (Chinese, Japanese): a word of a program stands right beside their signs and commas.
_UNSPACED = "\u3001-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_LEADS = tuple(bytes((lead,)) for lead in (*range(0xE3, 0xEA), 0xEF))
_BESIDE = regex(rf"(?<=[{_UNSPACED}])(?=[A-Za-z0-9_/])|(?<=[A-Za-z0-9_/])(?=[{_UNSPACED}])")


@dataclass(frozen=True, slots=True)
class Clean:
    """The lines of a text without its wrapping; the parts have one entry a line.

    ``alike``: the lines by what they look like; what the different ones lack needs no search in the text. ``blocks``:
    the number of the code block (fence or <pre>) that a line belongs to, 0 outside; ``quotes``: how deep it was quoted
    beyond what the whole text is.
    """

    lines: list[str]
    blocks: list[int]
    quotes: list[int]
    truncated: bool = False
    starts: dict[int, int] = field(default_factory=dict)  # code block -> index of its first line
    headings: list[int] = field(default_factory=list)  # indices of lines that are one
    guides: frozenset[int] = frozenset()  # indices of lines that speak of faults in general
    introductions: dict[int, str] = field(default_factory=dict, compare=False)  # line -> what leads to it, once asked
    text: str = field(default="", repr=False)  # all lines; one that was taken out is empty
    alike: AlikeLines = field(default_factory=lambda: AlikeLines(()), repr=False, compare=False)


def clean(text: str) -> Clean:
    """Takes a pasted text apart; never raises, in time linear in its length."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        # A progress bar goes back to the start of its line: what it wrote stays apart from what comes after.
        text = text.replace("\r", " " if "\n" in text else "\n")
    text = strip_ansi(text)
    ascii_only = text.isascii()
    for sign, plain in _PLAIN if not ascii_only else ():
        text = text.replace(sign, plain) if sign in text else text
    pieces = text.split("\n", MAX_LINES)
    truncated = len(pieces) > MAX_LINES
    lines = pieces[:MAX_LINES]
    if not ascii_only and _may_be_unspaced(text):
        lines = [line if line.isascii() else _BESIDE.sub(" ", line) for line in lines]
    if max(map(len, lines)) > MAX_LINE:
        lines = [line[:MAX_LINE] for line in lines]
    if "\t" in text:
        lines = [line.expandtabs() if "\t" in line else line for line in lines]
    lines, quotes = _unquoted(lines)
    if "<" in text and _MARKUP.search(text):
        lines, preformatted = _untagged(lines)
    else:
        preformatted = [0] * len(lines)
    if "&" in text:
        lines = [html.unescape(line) if "&" in line and _ENTITY.search(line) else line for line in lines]
    lines, blocks = _unfenced(lines, preformatted) if "```" in text or "~~~" in text else (lines, preformatted)
    if "`" in text:
        lines = [
            _INLINE.sub(r"\1", line) if not block and "`" in line else line
            for line, block in zip(lines, blocks, strict=True)
        ]
    alike = AlikeLines(lines)
    lines, changed = _rejoined(lines, blocks, alike)
    if changed:
        alike = AlikeLines(lines)
    starts: dict[int, int] = {}
    if any(blocks):
        for at, block in enumerate(blocks):
            if block and block not in starts:
                starts[block] = at
    headings = [at for at in alike.where(_is_heading) if not blocks[at]]
    text = "\n".join(lines)
    guides = guide_lines(lines, blocks, alike.text.lower())
    return Clean(lines, blocks, quotes, truncated, starts, headings, guides=guides, text=text, alike=alike)


def _may_be_unspaced(text: str) -> bool:
    """Whether signs of such scripts may stand in a text: in UTF-8 they begin with these bytes."""
    data = text.encode("utf-8", "surrogatepass")
    return any(lead in data for lead in _LEADS)


def _is_heading(line: str) -> bool:
    return line.startswith(_HEADS) and bool(_HEADING.match(line))


def _may_be_cut(line: str) -> bool:
    return len(line) >= 60 and ("[" in line[:13] or "|" in line or ":" in line[:26])


def _rejoined(lines: list[str], blocks: list[int], alike: AlikeLines) -> tuple[list[str], bool]:
    """Joins what the edge of a terminal or of a mail cut: messages of a kernel log, and rows of a table.

    The joined text stands on the first line, the line that it came from becomes empty. (the lines, whether any changed)
    """
    result = list(lines)
    changed = False
    long = [at for at in alike.where(_may_be_cut) if at + 1 < len(lines)]
    for at in long:
        line, following = result[at], lines[at + 1]
        if len(line) < 60 or not following or blocks[at] != blocks[at + 1]:
            continue
        if (stamped := _STAMPED.match(line)) or _DEVICE.match(line):
            word = following.split(None, 1)[:1]
            if (
                word
                and (not stamped or _in_log(result, at))
                and _was_cut(lines, at, len(word[0]))
                and _GOES_ON.match(following)
                and not (_NEXT_DEVICE.match(following) or _STAMPED.match(following))
            ):
                result[at] = line.rstrip() + ("" if len(line) == 80 and line[-1] != " " else " ") + following.strip()
                result[at + 1] = ""
                changed = True
        elif (
            line.lstrip()[:1] == "|"
            and line.rstrip()[-1:] != "|"
            and following.rstrip()[-1:] == "|"
            and len(following) < 40
        ):
            result[at] = line + " " + following.strip()
            result[at + 1] = ""
            changed = True
    return result, changed


def _in_log(lines: list[str], at: int) -> bool:
    """Whether stamped lines stand around a stamped line, which is not one of other programs' lines then."""
    before = lines[at - 1] if at else ""
    after = lines[at + 2] if at + 2 < len(lines) else ""
    return not before.strip() or bool(_STAMPED.match(before) or _STAMPED.match(after))


def _was_cut(lines: list[str], at: int, word: int) -> bool:
    """Whether a line may have been cut at an edge: the next ``word`` did not fit, and no line near it is longer."""
    width = len(lines[at])
    if width + word < 79 or width > 133:
        return False
    return max(map(len, lines[max(at - 12, 0) : at + 12])) <= min(width + word, 133)


def _unquoted(lines: list[str]) -> tuple[list[str], list[int]]:
    depths = [0] * len(lines)
    marked = {at for at, line in enumerate(lines) if ">" in line and line.lstrip(" ")[:1] == ">"}
    if not marked:
        return lines, depths
    result = list(lines)
    for at in marked:
        line = lines[at]
        while depths[at] < 8 and (sign := _QUOTE.match(line)):
            depths[at] += sign.group().count(">")
            line = line[sign.end() :]
        result[at] = line
    if any(not depth and line.strip() for line, depth in zip(result, depths, strict=True)):
        return result, depths
    # A text that is quoted as a whole is not a quotation within itself.
    common = min((depth for line, depth in zip(result, depths, strict=True) if line.strip()), default=0)
    return result, [max(depth - common, 0) for depth in depths]


def _untagged(lines: list[str]) -> tuple[list[str], list[int]]:
    """(lines without tags, numbers of <pre> blocks); the cells of a table row are joined on its first line."""
    result: list[str] = []
    blocks: list[int] = []
    block = count = 0
    for text in _rows(lines):
        lowered = text.lower() if "<" in text else ""
        if "<pre" in lowered:
            count += 1
            block = count
        blocks.append(block)
        if "</pre" in lowered:
            block = 0
        if lowered:
            text = _TAG.sub("", _CELL_END.sub(" | ", text))
        result.append(text)
    return result, blocks


def _rows(lines: list[str]) -> Iterator[str]:
    waiting = 0  # lines that belong to a row that began before
    row: list[str] = []
    for line in lines:
        tags = _ROW.findall(line) if "<" in line else []
        if row:
            row.append(line.strip())
            waiting += 1
            if "/" in tags or len(row) > 60:
                yield "".join(row)
                yield from [""] * (waiting - 1)
                row, waiting = [], 0
        elif tags and tags[-1] == "" and "<t" in line.lower():
            row, waiting = [line], 1
        else:
            yield line
    if row:
        yield "".join(row)
        yield from [""] * (waiting - 1)


def _unfenced(lines: list[str], given: list[int]) -> tuple[list[str], list[int]]:
    result, blocks = list(lines), list(given)
    count, fence, start = max(given, default=0), "", 0
    for at in [at for at, line in enumerate(lines) if "```" in line or "~~~" in line]:
        sign = _FENCE.match(lines[at])
        if sign is None or (fence and not (sign[1].startswith(fence) and not sign[2])):
            continue
        if fence:
            blocks[start:at] = [count] * (at - start)
            fence = ""
        else:
            fence, count, start = sign[1], count + 1, at + 1
        result[at], blocks[at] = "", 0
    if fence:
        blocks[start:] = [count] * (len(lines) - start)
    return result, blocks
