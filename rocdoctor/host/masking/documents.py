"""Secrets whose place in a document tells: columns of tables, secrets of Kubernetes, passwords that cloud-init sets.

Pure: text in, text out; every line stays at its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rocdoctor.host.masking.chosen import harmless
from rocdoctor.host.masking.rules import VALUE_TOKEN, MaskingTables
from rocdoctor.host.masking.telling import kind_of_name, looks_random, placeholder
from rocdoctor.model.lazy_re import regex

Note = Callable[[str, str], None]

_MOST_ROWS = 5000
_BARS = "|\u2502\u2503\u2551"
_COMMAS = ",;\t&"
_PARTED = regex(r"[|\u2502\u2503\u2551,;\t&]")
_RULE = regex(r"[\s|+:=_\u2500-\u257f-]*")
_CELL_NAME = regex(r"[\s\"'`*]{0,40}(?P<n>[A-Za-z][\w .-]{0,40}?)[\s\"'`*\\]{0,40}")
_QUOTES = " \t\r\"'`*\\"

_IS_SECRET = regex(
    r"(?:^|[\s{,])[\"']?kind[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?(?:Sealed)?Secret(?:List)?(?![\w-])", re.MULTILINE
)
_DATA = regex(r"(?P<i>[ \t]{0,80})(?:- )?(?:stringData|data):[ \t]{0,8}\r?")
_ENTRY = regex(r"(?P<k>[ \t]{1,80}(?:- )?[\"']?[\w./-]{1,253}[\"']?:[ \t]{1,8})(?P<s>\S.{0,100000})")
_OPENER = regex(r"[|>][+-]?\d?|\{\}|null|\"\"|''")
_JSON_DATA = regex(r"\"(?:stringData|data)\"\s{0,20}:\s{0,20}\{(?P<b>[^{}]{1,200000})\}")
_JSON_VALUE = regex(r"(?P<k>:\s{0,20}\")(?P<s>(?:[^\"\\\n]|\\.){1,100000})")
_CHPASSWD = regex(r"(?P<i>[ \t]{0,40})chpasswd:[ \t]{0,8}(?P<r>[^\n]*)")
_LOGIN = regex(r"(?P<k>[ \t]{0,80}(?:- )?[\"']?[A-Za-z_][\w.-]{0,40}:)(?P<s>[^\s\"']{1,400})(?P<e>[\"']?[ \t\r]{0,8})")
_INLINE_LOGIN = regex(r"(?P<k>[\"'\s\[,][A-Za-z_][\w.-]{0,40}:)(?P<s>[^\s\"',\]}]{1,400})")
_HERE = regex(r"chpasswd[^\n]{0,100}<<-?[ \t]{0,4}[\"']?(?P<w>\w{1,40})")


def mask_documents(text: str, tables: MaskingTables, note: Note) -> str:
    """The text without the data of Kubernetes' secrets and the passwords of cloud-init and ``chpasswd``."""
    if "Secret" in text and _IS_SECRET.search(text):
        text = _JSON_DATA.sub(lambda match: _json_data(match, tables, note), text)
        text = _secrets(text, tables, note)
    if "chpasswd" in text:
        text = _logins(text, tables, note)
    if "Value" in text and _KEY_VALUE.search(text):
        text = _KEY_VALUE.sub(lambda match: match["h"] + _two_columns(match["b"], tables, note), text)
    return text


# The table of Vault and its like: names below "Key", values below "Value".
_KEY_VALUE = regex(
    r"(?P<h>^Key {2,60}Value[ \t\r]{0,8}\n-{3,20} {2,60}-{3,20}[ \t\r]{0,8}\n)"
    r"(?P<b>(?:[^\s\n][^\n]{0,400}(?:\n|\Z)){1,200})",
    re.MULTILINE,
)
_ROW = regex(r"(?P<n>[\w.-]{1,80})(?P<g> {2,80})(?P<s>[^\s]{1,4000})[ \t\r]{0,8}")


def _two_columns(body: str, tables: MaskingTables, note: Note) -> str:
    lines = body.split("\n")
    for at, line in enumerate(lines):
        row = _ROW.fullmatch(line)
        kind = kind_of_name(row["n"], tables) if row else None
        if row is None or kind is None or harmless(row["s"]):
            continue
        if kind == "strong" or looks_random(row["s"]):
            lines[at] = row["n"] + row["g"] + _replaced(row["s"], tables, note)
    return "\n".join(lines)


def _json_data(match: re.Match[str], tables: MaskingTables, note: Note) -> str:
    start, end = match.start("b") - match.start(), match.end("b") - match.start()
    inner = _JSON_VALUE.sub(lambda one: one["k"] + _replaced(one["s"], tables, note), match["b"])
    return match.group()[:start] + inner + match.group()[end:]


def _replaced(value: str, tables: MaskingTables, note: Note) -> str:
    if value in tables.inert or placeholder(value):
        return value
    note("secret-value", value)
    return VALUE_TOKEN


def _secrets(text: str, tables: MaskingTables, note: Note) -> str:
    lines = text.split("\n")
    start = 0
    for end in [*(at for at, line in enumerate(lines) if line.startswith("---")), len(lines)]:
        if any(_IS_SECRET.search(line) for line in lines[start:end]):
            _secret(lines, start, end, tables, note)
        start = end
    return "\n".join(lines)


def _secret(lines: list[str], start: int, end: int, tables: MaskingTables, note: Note) -> None:
    depth = None
    for at in range(start, end):
        line = lines[at]
        indent = len(line) - len(line.lstrip(" \t"))
        if depth is not None and line.strip() and indent <= depth:
            depth = None
        if depth is None:
            deeper = 2 if "- " in line else 0
            depth = indent + deeper if _DATA.fullmatch(line) is not None else None
        elif entry := _ENTRY.fullmatch(line.rstrip("\r")):
            value = entry["s"].strip()
            if not _OPENER.fullmatch(value):
                quote = value[0] if value[0] in "\"'" and value[-1] == value[0] and len(value) > 1 else ""
                inner = value[1:-1] if quote else value
                lines[at] = (
                    entry["k"] + quote + _replaced(inner, tables, note) + quote + ("\r" if line[-1:] == "\r" else "")
                )
        elif line.strip():
            lines[at] = line[:indent] + _replaced(line.strip(), tables, note)


def _logins(text: str, tables: MaskingTables, note: Note) -> str:
    lines = text.split("\n")
    depth: int | None = None
    word = ""
    for at, line in enumerate(lines):
        indent = len(line) - len(line.lstrip(" \t"))
        if word:
            if line.strip() == word:
                word = ""
            else:
                lines[at] = _login(line, tables, note)
        elif depth is not None and (indent > depth or not line.strip()):
            lines[at] = _login(line, tables, note)
        else:
            opens = _CHPASSWD.fullmatch(line)
            depth = len(opens["i"]) if opens else None
            if opens and opens["r"]:
                head = line[: opens.start("r")]
                lines[at] = head + _INLINE_LOGIN.sub(
                    lambda one: one["k"] + _replaced(one["s"], tables, note), opens["r"]
                )
            here = _HERE.search(line) if "<<" in line else None
            word = here["w"] if here else ""
    return "\n".join(lines)


def _login(line: str, tables: MaskingTables, note: Note) -> str:
    found = _LOGIN.fullmatch(line)
    return found["k"] + _replaced(found["s"], tables, note) + found["e"] if found else line


# -- columns


def is_head(text: str, start: int, end: int) -> bool:
    """Whether the line may be the first of a table, with a line below it."""
    return end < len(text) and _PARTED.search(text, start, end - 1) is not None


def _parted(line: str) -> str | None:
    """The sign that parts the cells of a line."""
    return next((sign for sign in _BARS + _COMMAS if sign in line.strip()), None)


def mask_columns(text: str, heads: list[tuple[int, int]], tables: MaskingTables, note: Note) -> str:
    """The text without the values of columns whose name in the first line says "secret"."""
    out: list[str] = []
    position = 0
    for start, end in heads:
        line = text[start : end - 1]
        sign = _parted(line)
        if start < position or sign is None:
            continue
        names = [_CELL_NAME.fullmatch(cell) for cell in line.split(sign)]
        inner = names[1:-1] if sign in _BARS and not line.split(sign)[-1].strip() else names
        if len([one for one in inner if one]) < 2 or None in inner:
            continue
        kinds = [kind_of_name(one["n"], tables) if one else None for one in names]
        if not any(kind in ("strong", "medium") for kind in kinds):
            continue
        at = end
        for _ in range(_MOST_ROWS):
            stop = text.find("\n", at)
            stop = stop if stop >= 0 else len(text)
            row = text[at:stop]
            cells = row.split(sign)
            if (len(cells) != len(kinds) and not _RULE.fullmatch(row)) or not row.strip():
                break
            if len(cells) == len(kinds) and not _RULE.fullmatch(row):
                made = sign.join(
                    _cell(cell, kind, tables, note) if kind else cell for cell, kind in zip(cells, kinds, strict=True)
                )
                if made != row:
                    out += [text[position:at], made]
                    position = stop
            at = stop + 1
            if at >= len(text):
                break
    out.append(text[position:])
    return "".join(out)


_WORDS = regex(r"\S{1,400}(?: \S{1,400}){0,8}")
_COLUMN_NAME = regex(r"[A-Za-z_][\w ()./%#-]{0,40}")
_LEAST_COLUMNS = 2


def is_aligned_head(line: str) -> bool:
    """Whether a line may be the first of a table whose columns blanks part."""
    return "  " in line.strip() and _COLUMN_NAME.fullmatch(line.replace("  ", "").strip()[:41]) is not None


def mask_aligned(text: str, heads: list[tuple[int, int]], tables: MaskingTables, note: Note) -> str:
    """The text without the values of columns that blanks part and whose name in the first line says "password"."""
    out: list[str] = []
    position = looked = 0
    starts = {start for start, end in heads if text[start:end].isupper()}
    for start, end in heads:
        if start < looked:
            continue  # a row of the table before it
        names = list(_WORDS.finditer(text[start : end - 1]))
        if start < position or len(names) < _LEAST_COLUMNS or not all(_COLUMN_NAME.fullmatch(one[0]) for one in names):
            continue
        kinds = [kind_of_name(one[0], tables) for one in names]
        if len(names) == _LEAST_COLUMNS and kinds[0] and not names[0][0].isupper():
            continue  # a name and its value
        wanted = [
            number
            for number, (one, kind) in enumerate(zip(names, kinds, strict=True))
            if kind in ("strong", "medium") and one[0].lower() not in ("secret", "secrets")
        ]
        at = end
        for _ in range(_MOST_ROWS if wanted else 0):
            stop = text.find("\n", at)
            stop = stop if stop >= 0 else len(text)
            cells = list(_WORDS.finditer(text, at, stop))
            if not cells or at in starts:
                break
            looked = stop
            for number in wanted:
                found = _below_name(cells, names, number, at)
                made = _cell(found[0], kinds[number] or "", tables, note) if found else ""
                if found and made != found[0] and found[0][0] not in "/~" and found.start() >= position:
                    out += [text[position : found.start()], made]
                    position = found.end()
            at = stop + 1
            if at >= len(text):
                break
    out.append(text[position:])
    return "".join(out)


def _below_name(cells: list[re.Match[str]], names: list[re.Match[str]], number: int, at: int) -> re.Match[str] | None:
    """The cell below the name of a column: begins or ends with it, or has its number in a row without gaps."""
    name = names[number]
    for cell in cells:
        if cell.start() - at == name.start() or cell.end() - at == name.end():
            return cell
    return cells[number] if len(cells) == len(names) else None


def _cell(cell: str, kind: str, tables: MaskingTables, note: Note) -> str:
    value = cell.strip(_QUOTES)
    if not value or kind == "weak" or value.split(" ", 1)[0] in tables.inert or placeholder(value):
        return cell
    if not looks_random(value) and (kind != "strong" or " " in value or not cell_value(value)):
        return cell
    note("secret-value", value)
    return cell.replace(value, VALUE_TOKEN)


_MEASURE = regex(r"[\d.,:+-]+[a-zA-Z%/]{0,8}")


def cell_value(value: str) -> bool:
    """Whether a cell can hold a password: no number with its unit, no word in capitals."""
    return not (_MEASURE.fullmatch(value) and len(value) < 6) and not value.isupper()
