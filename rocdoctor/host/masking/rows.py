"""Names and values in the same order: ``a, b = "x", "y"``, columns of an INSERT, cells of a row or of two rows.

One rule for all of them: the value whose place is that of a telling name is a secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocdoctor.host.masking.chosen import harmless, looks_chosen
from rocdoctor.host.masking.rules import MaskingTables
from rocdoctor.host.masking.telling import kind_of_name
from rocdoctor.model.lazy_re import regex

Span = tuple[int, int]

_TARGETS = regex(
    r"[ \t>+-]{0,40}(?:(?:let|var|const|my|local|auto|final)"
    r"[ \t]{1,4})?[(\[]?(?P<n>[$@\w.]{1,60}(?:[ \t]{0,4},[ \t]{0,4}[$@*\w.]{1,60}){1,20})"
    r"[)\]]?[ \t]{0,8}:?=(?!=)[ \t]{0,8}[(\[]?(?P<v>[^\n]{1,2000})"
)
_INSERT = regex(r"(?i:\binto\b)[^(;]{1,160}\((?P<n>[^()\n]{1,2000})\)(?P<v>\s{0,40}(?i:values?)[^;]{0,100000})?")
_VALUES = regex(r"\s{0,8}(?i:values?)[^;]{0,100000}")
# A string, or a sign that begins or ends a list.
_SIGN = regex(r"'(?:[^'\\\n]|\\.){0,2000}'|\"(?:[^\"\\\n]|\\.){0,2000}\"|[()'\";\n]")
_ITEM = regex(
    r"[ \t]{0,8}(?:[urbfNE]{0,2}(?:\"(?P<a>(?:[^\"\\\n]|\\.){0,2000})\"|'(?P<b>(?:[^'\\\n]|\\.|"
    r"''){0,2000})')|(?P<c>[^,\"'\n]{0,400}))[ \t]{0,8}(?:,|\Z|[)\];])"
)
_HTML_CELL = regex(
    r"(?i:<(?P<t>t[hd]|d[td])(?:[ \t][^<>\n]{0,200})?>)"
    r"[ \t\r\n]{0,40}(?:<[\w /\"'=-]{1,60}>){0,3}(?P<s>[^<>\n]{0,400})"
    r"(?:</[a-z]{1,10}>){0,3}[ \t\r\n]{0,40}</(?i:(?P=t))>"
)


def told(
    names: Sequence[str], values: Sequence[Span], text: str, tables: MaskingTables, quoted: bool = False
) -> Iterator[Span]:
    """Which values belong to telling names, place for place; none where there are not as many."""
    if len(names) != len(values):
        return
    for name, (start, end) in zip(names, values, strict=True):
        kind = kind_of_name(name.strip("`\"'[]$@ \t"), tables)
        value = text[start:end]
        if (
            kind == "strong"
            and not harmless(value)
            and (quoted or looks_chosen(value) or text[start - 1 : start] in ("'", '"'))
        ):
            yield start, end


def items(text: str, start: int, end: int) -> list[Span]:
    """Where the items of a list stand that commas part; strings without their quotes."""
    found: list[Span] = []
    at = start
    while at < end and len(found) < 200:
        item = _ITEM.match(text, at, end)
        if item is None:
            return []
        group = "a" if item["a"] is not None else "b" if item["b"] is not None else "c"
        begin, stop = item.span(group)
        found.append((begin, begin + len(text[begin:stop].rstrip())))
        if item.group()[-1:] in (")", "]", ";"):
            break
        at = item.end() if item.end() > at else end
    return found


def told_spans(line: str, tables: MaskingTables) -> list[Span]:
    """The secrets of a line whose place in a list of values is that of a telling name in the list of names."""
    found: list[Span] = []
    targets = _TARGETS.match(line) if "," in line and "=" in line else None
    if targets is not None:
        names = [one.strip() for one in targets["n"].split(",")]
        found += told(names, items(line, *targets.span("v")), line, tables)
    if "(" in line:
        found += inserted(line, tables)
    if "</" in line:
        found += in_cells(line, tables)
    return found


def is_unpacked(line: str) -> bool:
    """Whether a line gives several names their values at once, as many as there are or those of one expression."""
    targets = _TARGETS.match(line)
    if targets is None:
        return False
    values = items(line, *targets.span("v"))
    return len(values) == targets["n"].count(",") + 1 or any(sign in targets["v"] for sign in "([")


def inserted(text: str, tables: MaskingTables) -> Iterator[Span]:
    """The secrets in the values of an INSERT; the values may stand in the next lines."""
    for insert in _INSERT.finditer(text):
        names = insert["n"].split(",")
        kinds = [kind_of_name(one.strip("`\"'[] \t"), tables) for one in names]
        if "strong" not in kinds or insert["v"] is None:
            continue
        for start, end in _tuples(text, *insert.span("v")):
            yield from told(names, items(text, start, end), text, tables)


def _tuples(text: str, start: int, end: int) -> Iterator[Span]:
    """What stands between brackets that hold no others; one pass, whatever is left open."""
    begin = -1
    for sign in _SIGN.finditer(text, start, end):
        if sign[0] == ")" and begin >= 0:
            yield begin, sign.start()
        if len(sign[0]) == 1:
            begin = sign.end() if sign[0] == "(" else -1


def in_cells(text: str, tables: MaskingTables) -> Iterator[Span]:
    """The secrets in cells of HTML: the cell behind that of a name, and those below a row of names."""
    cells = list(_HTML_CELL.finditer(text))
    heads: list[str] = []
    row: list[Span] = []
    for at, cell in enumerate(cells):
        fresh = at == 0 or "</tr" in text[cells[at - 1].end() : cell.start()].lower()
        if fresh:
            yield from told(heads, row, text, tables, quoted=True)
            if row and not heads:
                heads = [text[start:end].strip() for start, end in row]
            row = []
        start = cell.start("s")
        row.append((start, start + len(cell["s"].rstrip())))
        if at and not fresh and not (heads and len(heads) > 2):
            before = cells[at - 1]
            alone = cell["t"].lower() != "th" and (before["t"].lower() != "td" or len(row) == 2)
            if alone and before["s"].strip() and cell["t"].lower() != "dt":
                yield from told([before["s"].strip().rstrip(":")], [row[-1]], text, tables, quoted=True)
    yield from told(heads, row, text, tables, quoted=True)
