"""Dumps of torch's flight recorder as JSON: which collectives one rank enqueued, started and completed.

The recorder writes one file a rank (``nccl_trace_rank_N``), a pickle or, by ``torch._C._distributed_c10d.
_dump_fr_trace_json``, JSON. A pickle is never read here: loading one runs what it says. A dump does not tell its own
rank; that stands in the name of its file, which a heading line (``==> NAME <==``) or the keys ``rank`` or ``file``
may carry. Keys: torch 2.6 torch/csrc/distributed/c10d/FlightRecorder.hpp; torch 2.13 (version 2.10) prints the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.json_values import flag, texts, whole
from rocdoctor.parsers.formats.json_values import text as text_of
from rocdoctor.parsers.formats.text import strip_ansi

if TYPE_CHECKING:
    from rocdoctor.model.facts.run import FlightOp, FlightRecord

MAX_DUMPS = 4096
MAX_ENTRIES = 50_000  # of one dump; the recorder keeps 2000 unless told otherwise
_MAX_TEXT = 64 * 1024 * 1024
_MAX_RANK = 10_000_000
_MAX_BROKEN = 64  # dumps that break off; each costs a look at all that follows

# A dump begins with one of its own keys, or with one that the conversion puts in front.
_START = regex(
    r'\{\s{0,400}"(?:comm_lib_version|entries|file|host_name|nccl_comm_state|pg_config|pg_status|'
    r'nccl_version|rank|version|record_id)"\s{0,8}:'
)
_HEADING = regex(
    r"[ \t]{0,8}(?:==> |#{1,6} |//|File:? |\*{1,2}|-{3,} )?[ \t]{0,4}(\S{1,400}?)"
    r"(?: <==|:|\*{1,2}| -{3,})?[ \t]{0,8}\Z"
)
_RANK_OF_NAME = regex(r"(?:rank|trace)[_ =:.-]{0,3}(\d{1,7})(?!\d)(?!.*(?:rank|trace)[_ =:.-]{0,3}\d)", re.I)
_LAST_NUMBER = regex(r"(?:^|[_/.-])(\d{1,7})(?:\.(?:json|txt|log|pkl|pickle)){0,2}\Z", re.I)
_PEERS = regex(r"(send|recv) (\d{1,7})(?:->|<-)(\d{1,7})\Z")


def rank_of_name(name: str) -> int | None:
    """The rank in the name of a dump file: nccl_trace_rank_3, comm_lib_trace_rank_3.json, fr_3.json."""
    found = _RANK_OF_NAME.search(name[-400:]) or _LAST_NUMBER.search(name[-400:])
    return int(found[1]) if found else None


def looks_like_dump(text: str) -> bool:
    """Whether a text may hold a dump at all (a cheap test)."""
    return '"pg_config"' in text or ('"entries"' in text and '"profiling_name"' in text)


def dump_spans(text: str) -> Iterator[tuple[int, int, dict[str, Any], bool]]:
    """Begin, end, value and completeness of every dump in a text."""
    if not looks_like_dump(text) or len(text) > _MAX_TEXT:
        return
    decoder = json.JSONDecoder()
    at, broken = 0, 0
    for _ in range(MAX_DUMPS):
        found = _START.search(text, at)
        if found is None or broken > _MAX_BROKEN:
            return
        try:
            value, end = decoder.raw_decode(text, found.start())
            whole = True
        except (ValueError, RecursionError):
            value, end = _rescued(text, found.start())
            whole = False
            broken += 1
        if isinstance(value, dict) and _is_dump(value):
            yield found.start(), end, value, whole
            at = end
        else:
            at = found.end() if not whole or not isinstance(value, dict) else max(end, found.end())


def parse_flight_dumps(text: str) -> tuple[FlightRecord, ...]:
    """Every dump in a text, in its order; () where there is none."""
    text = strip_ansi(text)
    found: list[FlightRecord] = []
    line, counted = 1, 0
    for start, _, value, _ in dump_spans(text):
        line, counted = line + text.count("\n", counted, start), start
        found.append(_dump(value, line, _name_before(text, start)))
    return tuple(found)


def _rescued(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """What is whole of a dump that breaks off: its entries up to the last complete one."""
    entries: list[Any] = []
    decoder = json.JSONDecoder()
    at = text.find('"entries"', start)
    opened = text.find("[", at) if at >= 0 else -1
    if opened < 0 or opened - at > 400:
        return None, start
    at = opened + 1
    while len(entries) <= MAX_ENTRIES:
        begin = text.find("{", at, at + 400)
        if begin < 0 or text[at:begin].strip(" \t\r\n,"):
            break
        try:
            value, at = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            break
        entries.append(value)
    return ({"entries": entries, "pg_config": {}} if entries else None), at


def _is_dump(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    entries = value.get("entries")
    if isinstance(entries, list):
        return "pg_config" in value or any(isinstance(one, dict) and "profiling_name" in one for one in entries[:1])
    return isinstance(value.get("pg_config"), dict) and isinstance(value.get("pg_status"), dict)


def _name_before(text: str, start: int) -> str | None:
    """The name in the heading above a dump, or in front of it on its line (``nccl_trace_rank_3.json: {``)."""
    head = text[max(0, start - 1200) : start]
    lines = head.rsplit("\n", 3)[-3:]
    for line in reversed(lines):
        if not line.strip():
            continue
        found = _HEADING.match(line.strip()[:420])
        return found[1].strip("`'\"*") if found and re.search(r"\d", found[1]) else None
    return None


def _whole(value: Any) -> int | None:
    is_text = isinstance(value, str) and re.fullmatch(r"-?\d{1,20}", value)
    return int(value) if is_text else whole(value)


def _sizes(value: Any) -> tuple[tuple[int, ...], ...]:
    if not isinstance(value, list):
        return ()
    return tuple(tuple(n for n in one[:16] if isinstance(n, int)) for one in value[:256] if isinstance(one, list))


def _ranks(value: Any) -> tuple[int, ...]:
    """The ranks of a group, which torch writes as the text "[0, 1, 2]"."""
    if isinstance(value, str):
        numbers = [int(one) for one in re.findall(r"\d{1,7}", value[:400_000])]
    elif isinstance(value, list):
        numbers = [one for one in value if isinstance(one, int) and not isinstance(one, bool)]
    else:
        numbers = []
    return tuple(sorted({one for one in numbers if 0 <= one < _MAX_RANK}))


def _dump(value: dict[str, Any], line: int, name: str | None) -> FlightRecord:
    from rocdoctor.model.facts.run import FlightRecord  # opening any evidence would wait for all facts

    file = text_of(value.get("file")) or name
    rank = _whole(value.get("rank"))
    if rank is None and file is not None:
        rank = rank_of_name(file)
    config = value.get("pg_config")
    groups: dict[str, tuple[int, ...]] = {}
    for key, one in list(config.items())[:4096] if isinstance(config, dict) else ():
        if isinstance(one, dict) and (ranks := _ranks(one.get("ranks"))):
            groups[text_of(one.get("name")) or str(key)[:400]] = ranks
    raw = value.get("entries")
    listed = raw if isinstance(raw, list) else []
    entries = tuple(found for one in listed[-MAX_ENTRIES:] if (found := _entry(one)) is not None)
    known_rank = rank if rank is not None and 0 <= rank < _MAX_RANK else None
    return FlightRecord(known_rank, line, groups, entries)


def _entry(value: Any) -> FlightOp | None:
    from rocdoctor.model.facts.run import FlightOp

    if not isinstance(value, dict):
        return None
    name = text_of(value.get("profiling_name"))
    if name is None:
        return None
    backend, _, operation = name.rpartition(":")
    group = value.get("process_group")
    pair = group if isinstance(group, list) else [group]
    peers = _PEERS.match(operation)
    source, target = None, None
    if peers:
        first, second = int(peers[2]), int(peers[3])
        source, target = (first, second) if peers[1] == "send" else (second, first)
    p2p = value.get("is_p2p") is True or peers is not None
    return FlightOp(
        text_of(pair[0]) or "" if pair else "",
        text_of(pair[1]) if len(pair) > 1 else None,
        backend,
        peers[1] if peers else operation,
        _whole(value.get("p2p_seq_id") if p2p else value.get("collective_seq_id")),
        p2p,
        text_of(value.get("state")),
        flag(value.get("retired")),
        source,
        target,
        _sizes(value.get("input_sizes")),
        texts(value.get("input_dtypes"), 64),
        _frame(value.get("frames")),
    )


def _frame(frames: Any) -> str | None:
    """The innermost frame that is not of an installed package or of Python itself."""
    for one in frames[:64] if isinstance(frames, list) else ():
        file = one.get("filename") if isinstance(one, dict) else None
        if not isinstance(file, str) or re.search(r"(?:site|dist)-packages/|/lib/python3|\A<", file):
            continue
        if file.endswith((".cpp", ".h", ".cc", ".so")) or file in ("", "??"):
            continue
        return f"{file.rsplit('/', 1)[-1][:120]}:{one.get('line')} in {one.get('name')}"[:240]
    return None
