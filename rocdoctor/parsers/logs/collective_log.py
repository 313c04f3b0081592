"""What torch prints when ranks of a job wait for each other, and the exceptions that its ranks end with.

Sources of the texts: torch 2.6 and 1.13 torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp (watchdog, status of works),
TraceUtils.h (desync report), ProcessGroupGloo.cpp (monitored barrier), ProcessGroupWrapper.cpp (fingerprints); gloo's
transport/tcp as torch 2.13 printed it. RCCL jobs print the same: the watchdog is torch's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rocdoctor.model.facts.run import Fingerprints, NamedRanks, PeerWait, RankError, WatchdogTimeout, WorkStatus
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.parsers.logs.job_lines import JobLines, Joined

_MOST = 20_000
_NUMBERS = r"\d{1,7}(?:,\s{0,4}\d{1,7}){0,4096}"

_WHO = (
    r"(?:\[(?:PG (?:ID )?(?P<pg>\d{1,9})?[^\[\]]{0,160}?(?:\((?P<desc>[^()]{1,60})\))? )?"
    r"Rank (?P<rank>\d{1,7})\]:?\s{0,3})"
)
_TIMEOUT = regex(
    _WHO + r"?Watchdog caught collective operation timeout:\s{1,4}WorkNCCL\(\s{0,4}SeqNum=(?P<seq>\d{1,15}),"
    r"\s{1,4}OpType=(?P<op>\w{3,40})(?:,\s{1,4}TensorShape=\[[^\]]{0,80}\])?"
    r"(?:,\s{1,4}NumelIn=(?P<numel_in>\d{1,15}))?"
    r"(?:,\s{1,4}NumelOut=(?P<numel_out>\d{1,15}))?(?:,\s{1,4}Timeout\(ms\)=(?P<limit>\d{1,12}))?\)"
    r"(?:\s{1,4}ran\s{1,4}for\s{1,4}(?P<ran>\d{1,12})\s{1,4}milliseconds)?"
)
_STATUS = regex(
    r"[Ll]ast enqueued(?: NCCL)? work: (?P<enqueued>-?\d{1,15}),\s{1,4}last completed(?: NCCL)? work: "
    r"(?P<completed>-?\d{1,15})"
)
_WHOSE = regex(_WHO)
_BARRIER = regex(
    r"\[Rank (?P<rank>\d{1,7})\]:\s{1,4}Ranks? (?P<ranks>" + _NUMBERS + r")\s{1,4}failed to pass monitoredBarrier"
)
_LAGGING = regex(
    r"(?:\[(?P<me>\d{1,7})\] Timeout at collective: (?P<op>\w{3,40}), #(?P<at>\d{1,15}).{0,80}?)?"
    r"To our best knowledge,"
    r" (?:ranks \[(?P<never>" + _NUMBERS + r")\] are the lagging ranks that caused this timeout|the lagging/dead/"
    r"mismatched ranks that caused the desync are:(?:\s{1,8}- \[(?P<started>" + _NUMBERS + r")\] joined but didn't "
    r"finish collective #(?P<unfinished>\d{1,15}) \(count from 1\))?(?:\s{1,8}\[(?P<ended>"
    + _NUMBERS
    + r")\] finished "
    r"collective #\d{1,15}, but didn't join collective #(?P<not_joined>\d{1,15}))?)"
)
_GLOO_WAIT = regex(r"Timed out waiting (?P<ms>\d{1,12})\s?ms for (?P<what>send|recv) operation")
_PEER_GONE = regex(
    r"(?:Connection closed by peer|Read error|Write error|connection (?:reset|closed)) \[(?P<peer>[\w.:]{2,60})\]"
)
_CLIENTS = regex(
    r"Timed out after (?P<s>\d{1,9}) seconds waiting for clients\.\s{1,4}"
    r"(?P<joined>\d{1,7})/(?P<world>\d{1,7}) clients"
)
_MISMATCH = regex(
    r"Detected mismatch between collectives on ranks\.\s{1,4}Rank (?P<a>\d{1,7}) is running collective: (?P<first>"
    r"Collective.{0,500}?), but Rank (?P<b>\d{1,7}) is running collective: "
    r"(?P<second>Collective.{0,500}?\)(?=\.|\s|\Z))"
    r"(?:.{0,400}?Collectives differ in the following aspects:\s{0,4}(?P<differ>.{0,300}))?"
)
_PRINT = regex(r"(SequenceNumber|OpType|TensorShape|TensorDtypes)=(\[[^\]]{0,120}\]|[^,()]{1,80})")
_RECEIVED = regex(
    r"op\.preamble\.length <= op\.nbytes\. (?P<got>\d{1,18}) vs (?P<wanted>\d{1,18})\. Received data size doesn't"
)
_TRACEBACK_LINE = regex(r'\s{0,12}File "(?P<file>[^"]{1,600})", line (?P<line>\d{1,7}), in (?P<name>\S{1,160})\s*\Z')
_RAISED = regex(
    r"(?P<type>(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|Exit|Interrupt|Failure|Timeout|Iteration))"
    r"(?::\s(?P<message>.{0,2000}))?\s*\Z"
)
# What a rank says that lost another one, or waited for it.
_VICTIM = regex(
    r"Timed out waiting|[Cc]onnection (?:closed|reset|was likely closed|refused)|Broken pipe|Read error|Write error"
    r"|monitoredBarrier|remote process exited|communicator was aborted|Watchdog caught|connectFullMesh|recvValue"
    r"|[Ww]ait timeout after|[Ss]ocket [Tt]imeout|barrier timeout|ncclRemoteError|clients joined|Connect timeout"
    r"|Some NCCL operations have failed|store->get|[Ff]ailed to (?:recv|send), (?:got|sent) 0 bytes"
)
_VICTIM_TYPES = (
    "DistNetworkError",
    "DistStoreError",
    "DistBackendError",
    "RendezvousTimeoutError",
    "SignalException",
    "RendezvousConnectionError",
    "BrokenPipeError",
    "ConnectionResetError",
    "KeyboardInterrupt",
    "SystemExit",
    "EOFError",
    "TimeoutError",
)


@dataclass(frozen=True, slots=True)
class CollectiveLog:
    """All of it, each in the order of the text. ``clients`` are (line, joined, world) of a store that waited."""

    timeouts: tuple[WatchdogTimeout, ...] = ()
    statuses: tuple[WorkStatus, ...] = ()
    named: tuple[NamedRanks, ...] = ()
    waits: tuple[PeerWait, ...] = ()
    mismatches: tuple[Fingerprints, ...] = ()
    errors: tuple[RankError, ...] = ()
    clients: tuple[tuple[int, int, int], ...] = ()
    received_sizes: tuple[tuple[int, int, int], ...] = ()  # (line, bytes received, bytes expected)
    ranks: tuple[int, ...] = ()  # every rank that some line is prefixed with


def collective_log(lines: JobLines, flat: Joined) -> CollectiveLog:
    """The same for lines that were taken apart already."""
    text = flat.text
    return CollectiveLog(
        tuple(_timeouts(flat)),
        tuple(_statuses(flat)) if "ast enqueued" in text else (),
        (*_barriers(flat), *_lagging(flat)),
        tuple(_waits(flat)),
        tuple(_mismatches(flat)) if "Detected mismatch between" in text else (),
        tuple(_errors(lines)),
        tuple(
            (flat.line_at(one.start()).number, int(one["joined"]), int(one["world"])) for one in _found(_CLIENTS, text)
        ),
        tuple(
            (flat.line_at(one.start()).number, int(one["got"]), int(one["wanted"])) for one in _found(_RECEIVED, text)
        ),
        tuple(sorted(set(lines.ranks.values()))),
    )


def _found(expression: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    for number, one in enumerate(expression.finditer(text)):
        if number >= _MOST:
            return
        yield one


def _found_at(expression: re.Pattern[str], sign: str, reach: int, text: str) -> Iterator[re.Match[str]]:
    """The same where each match holds a sign, and begins with it or with a bracket at most ``reach`` before it.

    The expression is asked there alone: one that may begin in several ways is slow to search for.
    """
    done, count = 0, 0
    at = text.find(sign)
    while at >= 0 and count < _MOST:
        starts: list[int] = []
        begin = text.find("[", max(done, at - reach), at)
        while begin >= 0:
            starts.append(begin)
            begin = text.find("[", begin + 1, at)
        one = next((found for start in (*starts, at) if (found := expression.match(text, start))), None)
        if one is not None:
            yield one
            done, count = one.end(), count + 1
        at = text.find(sign, max(done, at + 1))


def _whole(text: str | None) -> int | None:
    return whole_number(text)


def _ranks(text: str) -> tuple[int, ...]:
    return tuple(sorted({int(one) for one in re.findall(r"\d{1,7}", text)}))


def _timeouts(flat: Joined) -> Iterator[WatchdogTimeout]:
    seen: set[tuple[int | None, str | None, int]] = set()  # the same words come again as an exception
    for one in _found_at(_TIMEOUT, "Watchdog caught collective operation timeout:", 300, flat.text):
        at = flat.line_at(one.start())
        rank = _whole(one["rank"]) if one["rank"] else at.rank
        group = one["desc"] or one["pg"]
        key = (rank, group, int(one["seq"]))
        if key in seen:
            continue
        seen.add(key)
        yield WatchdogTimeout(at.number, rank, group, int(one["seq"]), one["op"], _whole(one["numel_in"]))


def _statuses(flat: Joined) -> Iterator[WorkStatus]:
    for one in _found(_STATUS, flat.text):
        at = flat.line_at(one.start())
        named = list(_WHOSE.finditer(flat.text, max(0, one.start() - 400), one.start()))
        rank = int(named[-1]["rank"]) if named else at.rank
        if rank is not None:
            group = (named[-1]["desc"] or named[-1]["pg"]) if named else None
            yield WorkStatus(at.number, rank, group, int(one["enqueued"]))


def _barriers(flat: Joined) -> Iterator[NamedRanks]:
    for one in _found(_BARRIER, flat.text):
        yield NamedRanks(flat.line_at(one.start()).number, _ranks(one["ranks"]), "monitored-barrier")


def _lagging(flat: Joined) -> Iterator[NamedRanks]:
    for one in _found_at(_LAGGING, "To our best knowledge,", 200, flat.text):
        number = flat.line_at(one.start()).number
        if one["never"]:
            yield NamedRanks(number, _ranks(one["never"]), "never-joined", _whole(one["at"]), one["op"])
        if one["started"]:
            yield NamedRanks(number, _ranks(one["started"]), "not-finished", _whole(one["unfinished"]))
        if one["ended"]:
            yield NamedRanks(number, _ranks(one["ended"]), "not-joined", _whole(one["not_joined"]))


def _waits(flat: Joined) -> Iterator[PeerWait]:
    for one in _found(_GLOO_WAIT, flat.text):
        at = flat.line_at(one.start())
        yield PeerWait(at.number, at.rank, int(one["ms"]))
    for one in _found(_PEER_GONE, flat.text):
        at = flat.line_at(one.start())
        yield PeerWait(at.number, at.rank, None)


def _mismatches(flat: Joined) -> Iterator[Fingerprints]:
    for one in _found(_MISMATCH, flat.text):
        first, second = dict(_PRINT.findall(one["first"])), dict(_PRINT.findall(one["second"]))
        yield Fingerprints(
            flat.line_at(one.start()).number,
            (int(one["a"]), int(one["b"])),
            _whole(first.get("SequenceNumber")),
            (first.get("OpType"), second.get("OpType")),
            (first.get("TensorShape"), second.get("TensorShape")),
            (first.get("TensorDtypes"), second.get("TensorDtypes")),
        )


def is_victim(exception: str, message: str) -> bool:
    """Whether an exception tells that its rank waited for another or lost it."""
    return exception.rsplit(".", 1)[-1] in _VICTIM_TYPES or bool(_VICTIM.search(message))


def _continuation(lines: JobLines, index: int) -> str:
    """What a wrapped line goes on with, at most some lines."""
    parts: list[str] = []
    for step in range(index + 1, min(index + 9, len(lines))):
        before, line = lines[step - 1], lines[step]
        if before.width < 64 or line.width != len(line.text) or line.text.startswith("Traceback"):
            break
        parts.append(line.text)
    return "".join(parts)


def _may_end_traceback(shape: str) -> bool:
    return (
        "Traceback (most recent call last)" in shape
        or shape.lstrip()[:6] == 'File "'
        or (shape[:1].isalpha() and bool(_RAISED.match(shape)))
    )


def _errors(lines: JobLines) -> Iterator[RankError]:
    """The ends of tracebacks; those of several ranks may lie between each other."""
    open_ones: dict[tuple[int | None, int | None], tuple[str, int, str] | None] = {}
    for index in lines.where(_may_end_traceback):
        at = lines[index]
        who = (at.rank, at.local_rank)
        if "Traceback (most recent call last)" in at.text:
            open_ones[who] = None
        elif who in open_ones and at.text.lstrip()[:6] == 'File "':
            found = _TRACEBACK_LINE.match(at.text)
            open_ones[who] = (found["file"], int(found["line"]), found["name"]) if found else None
        elif who in open_ones and at.text[:1].isalpha() and (raised := _RAISED.match(at.text)):
            name, message = raised["type"], (raised["message"] or "").strip()
            frame = open_ones.pop(who)
            if name.endswith("ChildFailedError"):
                continue
            rest = _continuation(lines, index)
            victim = is_victim(name, message + rest) or is_victim(name, f"{message} {rest}")
            yield RankError(at.number, at.rank, at.local_rank, name, message[:400] or None, frame, victim)
