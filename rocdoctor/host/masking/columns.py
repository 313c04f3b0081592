"""People and machines in columns: tables whose first line is known, and equal answers of several machines.

Pure: text in, text out; ``replaced`` tells what a word of a kind becomes. A word that becomes shorter is followed by
blanks, so that the columns below their names stay there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from rocdoctor.model.lazy_re import regex

Replaced = Callable[[str, str], str]

# One of these stands in every first line; in the case in which tools write them.
_MARKS = (
    "USER",
    "User",
    "user command",
    "UID ",
    "NODELIST",
    "NodeList",
    "HOST_NAME",
    "HOSTNAMES",
    " NODE ",
    "ROLES",
    "OWNER",
    "SERIAL",
)
_LONGEST_HEAD = 300
_MOST_ROWS = 5000
_LEAST_BESIDE = 2
# Columns of numbers: a line without one there belongs to the table no more.
_NUMBERED = frozenset(("PID", "JOBID", "SESSION", "NODES", "AGE"))
# A number, also as Flux writes those of jobs: in base 58 behind f or \u0192 (its RFC 19, as ood_core's
# OodCore::Job::Adapters::Flux::JobId reads them, osc.github.io/ood_core, 2026-11-30).
_NUMBER = regex(r"\d|[f\u0192][1-9A-HJ-NP-Za-km-z]{1,12}\Z")
_BARS = str.maketrans("|\u2502", "  ")
_WORD = regex(r"[^\s\u2502|]+")
_UNDERLINE = regex(r"[ \t]*-{2,}(?:[ \t]+-{2,})+[ \t]*")
_BORDER = regex(r"[\s|+=_\u2500-\u257f-]*")
_PLAIN_NAME = regex(r"[A-Za-z_][\w.-]{0,60}[+*]?")

# "zeus17: answer", as pdsh and clush print it.
_ANSWER = regex(r"(?P<h>(?P<n>[A-Za-z][A-Za-z_.-]{1,40})\d{1,6}[\w.-]{0,40}): (?P<r>[^\n]{1,400})")
_LETTER = regex(r"[A-Za-z]{2}")
_FIRST_LINES = 5
_MOST_ANSWERS = 20000
# What is numbered and is no machine.
_DEVICES = frozenset(
    (
        "array",
        "layer",
        "layers",
        "stage",
        "expert",
        "actor",
        "learner",
        "step",
        "epoch",
        "iter",
        "iteration",
        "chunk",
        "shard",
        "replica",
        "tile",
        "lane",
        "sd",
        "sda",
        "md",
        "dm",
        "bond",
        "veth",
        "tun",
        "tap",
        "br",
        "vlan",
        "wlan",
        "usb",
        "hwmon",
        "i2c",
        "loop",
        "zram",
        "sr",
        "irq",
        "dimm",
        "channel",
        "chan",
        "bank",
        "hipdevice",
        "xcd",
        "xcp",
        "aid",
        "iod",
        "hbm",
        "hca",
        "rdma",
        "roce",
        "qp",
        "mlx",
        "cxl",
        "acpi",
        "thermal",
        "sensor",
        "temp",
        "fan",
        "in",
        "conv",
        "fc",
        "linear",
        "norm",
        "attn",
        "head",
        "param",
        "params",
        "var",
        "arg",
        "item",
        "row",
        "col",
        "line",
        "section",
        "level",
        "round",
        "trial",
        "seed",
        "fold",
        "batch",
        "case",
        "test",
        "check",
        "rule",
        "kernel",
        "stream",
        "pool",
        "buffer",
        "partition",
        "numa",
        "socket",
        "dev",
        "drm",
        "hub",
    )
)


# Whose processes gpustat shows: process_repr in gpustat/core.py of wookayin/gpustat, read 2026-11-30.
_GPUSTAT = regex(r"(?<=\d MB \|)(?: [^\s()|]{1,120}\((?:\d{1,7}|\?)M\)){1,200}")
_GPUSTAT_USER = regex(r"(?<= )[A-Za-z_][\w.-]{0,31}(?=[:/(])")

# lshw begins with the name of the machine, in front of the lines that describe it (lshw(1), Debian 12).
_LSHW = regex(
    r"^(?!computer\b)[A-Za-z0-9][\w.-]{0,62}(?=[ \t]{0,40}\n {4}description: [^\n]{0,200}"
    r"\n {2}(?:\*-|  (?:product|vendor|version|serial|width|capabilities|configuration): ))",
    re.M,
)


def mask_columns(
    text: str, columns: Mapping[str, str], beside: Collection[str], common: Collection[str], replaced: Replaced
) -> str:
    """The text with the people and machines replaced that stand in columns with the names of ``columns``."""
    if " MB | " in text and "M)" in text:
        text = _GPUSTAT.sub(
            lambda line: _GPUSTAT_USER.sub(lambda name: replaced("user", name.group()), line.group()), text
        )
    if "\n" not in text:
        return text
    if "\n    description: " in text:
        text = _LSHW.sub(lambda name: replaced("hosts", name.group()), text)
    if any(mark in text for mark in _MARKS):
        text = _tables(text, columns, beside, replaced)
    return _answers(text, common, replaced)


def _tables(text: str, columns: Mapping[str, str], beside: Collection[str], replaced: Replaced) -> str:
    heads = set()
    for mark in _MARKS:
        at = text.find(mark)
        while at >= 0:
            end = text.find("\n", at)
            if end < 0:
                break
            heads.add((text.rfind("\n", 0, at) + 1, end))
            at = text.find(mark, end)
    out: list[str] = []
    position = 0
    for start, end in sorted(heads):
        if start < position or end - start > _LONGEST_HEAD:
            continue
        wanted = _wanted(text[start:end], columns, beside)
        if wanted:
            rows, stop = _rows(text, start, end, wanted, replaced)
            out += [text[position : end + 1], rows]
            position = stop
    return "".join([*out, text[position:]]) if out else text


def _wanted(head: str, columns: Mapping[str, str], beside: Collection[str]) -> dict[int, str]:
    """The numbers of the columns that hold people or machines, with what they hold."""
    names = head.translate(_BARS).split()
    if names[:1] == ["#"]:
        names = names[1:]
    if sum(name in beside for name in names) < _LEAST_BESIDE:
        return {}
    found = {at: columns[name] for at, name in enumerate(names) if name in columns}
    if "INFO" in names and "NNODES" in names:  # flux jobs: the nodes of a job that runs
        found[names.index("INFO")] = "hosts"
    if "ROLES" in names and "NAME" in names:
        found[names.index("NAME")] = "hosts"
    elif "NAME" in names and any(name.startswith("NODELIST") for name in names):
        found[names.index("NAME")] = "job"
    return found


def _rows(text: str, start: int, end: int, wanted: Mapping[int, str], replaced: Replaced) -> tuple[str, int]:
    """The rows below a first line, and where they end."""
    head = text[start:end]
    barred = head.count("|") >= _LEAST_BESIDE
    spans = [match.span() for match in _WORD.finditer(head)]
    spans = spans[1:] if head.lstrip().startswith("# ") else spans
    fixed = False
    names = [head[one:two] for one, two in spans]
    number_at = next((at for at, name in enumerate(names) if name in _NUMBERED), None)
    out: list[str] = []
    at = end + 1
    for _ in range(_MOST_ROWS):
        if at >= len(text):
            break
        stop = text.find("\n", at)
        stop = stop if stop >= 0 else len(text)
        row = text[at:stop]
        if not row.strip():
            break
        if _UNDERLINE.fullmatch(row) and not out:
            lines = [match.span() for match in _WORD.finditer(row)]
            fixed = len(lines) == len(spans) or _joins(head, lines)
            if fixed:
                wanted, spans = _under(head, spans, lines, wanted), lines
            out.append(row)
        elif _BORDER.fullmatch(row):
            out.append(row)
        elif barred:
            cells = row.split("|")
            for number, kind in wanted.items():
                number += head.lstrip().startswith("|")
                if number < len(cells):
                    cells[number] = _cell(cells[number], kind, replaced)
            out.append("|".join(cells))
        else:
            words = _WORD.findall(row)
            counted = number_at is None or (number_at < len(words) and _NUMBER.match(words[number_at]) is not None)
            if not fixed and (len(words) < len(spans) - 2 or not counted):
                break
            counts = 0 if names[:1] == ["REASON"] else _FIRST_COLUMNS  # of words in columns that are one each
            out.append(_row(row, spans, wanted, fixed, counts, replaced))
        at = stop + 1
    body = "\n".join(out)
    return (body + "\n" if out and at <= len(text) else body), min(at, len(text))


def _joins(head: str, lines: list[tuple[int, int]]) -> bool:
    return all(head[start:end].strip() for start, end in lines)


def _under(
    head: str, spans: list[tuple[int, int]], lines: list[tuple[int, int]], wanted: Mapping[int, str]
) -> dict[int, str]:
    """The wanted columns by the number of the line below their name: names may have blanks."""
    return {
        number: kind
        for at, kind in wanted.items()
        for number, (start, end) in enumerate(lines)
        if spans[at][0] < end and spans[at][1] > start
    }


def _row(
    row: str, spans: list[tuple[int, int]], wanted: Mapping[int, str], fixed: bool, counts: int, replaced: Replaced
) -> str:
    words = [match.span() for match in _WORD.finditer(row)]
    places: list[tuple[int, int, str]] = []
    for number, kind in wanted.items():
        if fixed:
            start, end = spans[number]
            places += [(max(one, start), min(two, end), kind) for one, two in words if one < end and two > start]
        elif len(words) == len(spans) or number < min(counts, len(words)):
            places.append((*words[number], kind))
        else:
            start, end = spans[number]
            over = [span for span in words if span[0] < end and span[1] > start]
            places += [(*over[0], kind)] if over else []
    for start, end, kind in sorted(places, reverse=True):
        made = _cell(row[start:end], kind, replaced)
        gap = len(row[end:]) - len(row[end:].lstrip(" "))
        if row[end:].strip() and len(made) < end - start:
            made = made.ljust(end - start)
        elif row[end:].strip() and len(made) > end - start:
            end += min(gap - 1, len(made) - (end - start)) if gap > 1 else 0
        row = row[:start] + made + row[end:]
    return row


_FIRST_COLUMNS = 2


def _cell(cell: str, kind: str, replaced: Replaced) -> str:
    value = cell.strip()
    if kind not in ("hosts", "serial") and not _PLAIN_NAME.fullmatch(value):
        return cell
    if kind == "hosts" and (not value or value[:1] in "(<-:0123456789"):
        return cell
    return cell.replace(value, replaced(kind, value), 1)


def compares_lines(text: str) -> bool:
    """Whether lines are judged by whether others say the same: then the numbers in their names tell."""
    return "\n" in text and any(_ANSWER.match(line) for line in text.split("\n"))


def _answers(text: str, common: Collection[str], replaced: Replaced) -> str:
    """Lines of several machines replaced, where the same is said of names that differ in their numbers alone."""
    head = text[:2000].split("\n", _FIRST_LINES)[:_FIRST_LINES]
    if not any(_ANSWER.match(line) for line in head):
        return text
    lines = text.split("\n", _MOST_ANSWERS)
    said: dict[tuple[str, str], set[str]] = {}
    matches = [_ANSWER.match(line) for line in lines]
    for match in matches:
        if match and _LETTER.search(match["r"]) and may_be_host(match["n"], common):
            said.setdefault((match["n"].lower(), match["r"]), set()).add(match["h"])
    hosts = {host for names in said.values() if len(names) > 1 for host in names}
    if not hosts:
        return text
    stems = {match["n"] for match in matches if match and match["h"] in hosts}
    return "\n".join(
        replaced("hosts", match["h"]) + line[match.end("h") :] if match and match["n"] in stems else line
        for line, match in zip(lines, matches, strict=True)
    )


def may_be_host(stem: str, common: Collection[str]) -> bool:
    """Whether a name in lower case may be that of a machine: no device, and no word of the tools' output."""
    words = re.findall(r"[a-z]+", stem.lower())
    return (len(words) > 1 and "node" in words) or not any(word in _DEVICES or word in common for word in words)
