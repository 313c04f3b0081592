"""What torchrun says of workers that failed: the table of failures, error files, and the lines of its agent.

Sources: torch/distributed/elastic/multiprocessing/errors (table, error file), multiprocessing/api.py ("failed
(exitcode: ..."), agent/server/api.py (restarts, signals), torch 2.13; the table is the same since 1.12. A negative exit
code is the number of the signal that ended the process.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice

from rocdoctor.model.facts.run import RankError, WorkerEnd
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.logs.collective_log import is_victim
from rocdoctor.parsers.logs.job_lines import Joined

_MAX_FAILURES = 4096

_FAILURE = regex(
    r"\[(?P<number>\d{1,6})\]:\s{1,40}time\s{0,8}:\s{0,4}(?P<time>[\d_:T -]{8,24}?)\s{1,40}"
    r"(?:host\s{0,8}:\s{0,4}(?P<host>\S{1,255})\s{1,40})?"
    r"rank\s{0,8}:\s{0,4}(?P<rank>\d{1,7})\s{1,8}\(local_rank:\s{1,8}(?P<local>\d{1,5})\)\s{1,40}"
    r"exitcode\s{0,8}:\s{0,4}(?P<exit>-?\d{1,5})\s{1,8}\(pid:\s{1,8}(?P<pid>\d{1,10})\)"
    r"(?:\s{1,8}\((?P<signal>SIG\w{1,12})\))?\s{1,40}"
    r"error_file:\s{0,4}(?P<file>\S{1,400})"
)
_ROOT = "Root Cause (first observed failure)"
_AGENT = regex(
    r"failed \(exitcode: (?P<exit>-?\d{1,5})\)\s{1,4}local_rank: (?P<local>\d{1,5}) \(pid: (?P<pid>\d{1,10})\)"
)
_STOPPED = regex(
    r"Received (?P<word>\S{1,24}) death signal, shutting down workers|Process \d{1,9} got signal: (?P<number>\d{1,3})"
)
_ERROR_FILE = regex(r'\{\s{0,40}"message"\s{0,4}:\s{0,4}\{\s{0,40}"')
_ATTEMPT = regex(r"attempt_\d{1,4}/(\d{1,5})/error\.json")
_RAISED = regex(r"([A-Za-z_][\w.]{0,120})(?:: (.{0,1000}))?")
_FRAME_LINE = regex(r'  File "([^"\n]{1,400})", line (\d{1,7}), in (\S{1,120})')


@dataclass(frozen=True, slots=True)
class TorchrunErrors:
    """What torchrun says: the rows of its table and its agent's lines in ``ends``, the error files of workers in
    ``files``; ``stopped_by`` is the signal that ended the launcher itself."""

    ends: tuple[WorkerEnd, ...] = ()
    files: tuple[RankError, ...] = ()
    stopped_by: str | None = None


def torchrun_errors(text: str, flat: Joined) -> TorchrunErrors:
    """What torchrun says in a text, whose lines were taken apart already."""
    stop = _STOPPED.search(flat.text) if "death signal," in flat.text or "got signal: " in flat.text else None
    agents = (
        WorkerEnd(flat.line_at(one.start()).number, int(one["local"]), int(one["exit"]), int(one["pid"]))
        for one in islice(_AGENT.finditer(flat.text), _MAX_FAILURES)
    )
    return TorchrunErrors((*_failures(flat), *agents), _files(text), (stop["word"] or stop["number"]) if stop else None)


def _failures(flat: Joined) -> tuple[WorkerEnd, ...]:
    if "error_file:" not in flat.text:
        return ()
    return tuple(
        WorkerEnd(
            flat.line_at(one.start("rank")).number,
            int(one["local"]),
            int(one["exit"]),
            int(one["pid"]),
            int(one["rank"]),
            one["host"],
            root=_ROOT in flat.text[max(0, one.start() - 60) : one.start()],
            final=True,
        )
        for one in islice(_FAILURE.finditer(flat.text), _MAX_FAILURES)
    )


def _files(text: str) -> tuple[RankError, ...]:
    if '"extraInfo"' not in text:
        return ()
    decoder = json.JSONDecoder()
    found: list[RankError] = []
    for number, one in enumerate(_ERROR_FILE.finditer(text)):
        if number > 256:
            break
        try:
            value, _ = decoder.raw_decode(text[one.start() : one.start() + 1_000_000])
        except (ValueError, RecursionError):
            continue
        message = value.get("message") if isinstance(value, dict) else None
        if not isinstance(message, dict) or not isinstance(message.get("message"), str):
            continue
        extra = message.get("extraInfo")
        stack = extra.get("py_callstack") if isinstance(extra, dict) else None
        raised = _RAISED.match(message["message"].split("\n", 1)[0])
        head = _ATTEMPT.findall(text[max(0, one.start() - 600) : one.start()])
        frames = _FRAME_LINE.findall(stack[-20_000:]) if isinstance(stack, str) else []
        exception = raised[1] if raised else message["message"][:120]
        said = raised[2] if raised else None
        found.append(
            RankError(
                text.count("\n", 0, one.start()) + 1,
                None,
                int(head[-1]) if head else None,
                exception,
                said,
                (frames[-1][0], int(frames[-1][1]), frames[-1][2]) if frames else None,
                is_victim(exception, said or ""),
            )
        )
    return tuple(found)
