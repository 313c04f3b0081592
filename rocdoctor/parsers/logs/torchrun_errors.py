"""What torchrun says of workers that failed: the table of failures, error files, and the lines of its agent.

Sources: torch/distributed/elastic/multiprocessing/errors (table, error file), multiprocessing/api.py ("failed
(exitcode: ..."), agent/server/api.py (restarts, signals), torch 2.13; the table is the same since 1.12. A negative exit
code is the number of the signal that ended the process.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.logs.job_lines import JobLine, Joined, seconds_of

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
_RESTART = regex(r"(?P<left>\d{1,5})/(?P<all>\d{1,5}) attempts left;\s{1,4}will restart worker group")
_STOPPED = regex(
    r"Received (?P<word>\S{1,24}) death signal, shutting down workers|Process \d{1,9} got signal: (?P<number>\d{1,3})"
)
_ERROR_FILE = regex(r'\{\s{0,40}"message"\s{0,4}:\s{0,4}\{\s{0,40}"')
_ATTEMPT = regex(r"attempt_\d{1,4}/(\d{1,5})/error\.json")
_RAISED = regex(r"([A-Za-z_][\w.]{0,120})(?:: (.{0,1000}))?")
_FRAME_LINE = regex(r'  File "([^"\n]{1,400})", line (\d{1,7}), in (\S{1,120})')


@dataclass(frozen=True, slots=True)
class WorkerFailure:
    """A row of the table. ``root`` marks the one that torchrun saw first, which need not have been the first."""

    line: int
    rank: int
    local_rank: int
    exit_code: int
    pid: int
    host: str | None
    time_s: int | None
    error_file: str | None
    root: bool


@dataclass(frozen=True, slots=True)
class WorkerExit:
    """The agent's line of a worker that ended with an error."""

    line: int
    local_rank: int
    exit_code: int
    pid: int
    time_s: int | None


@dataclass(frozen=True, slots=True)
class ErrorFile:
    """What a worker wrote into its error file before it ended; times are seconds since 1970."""

    line: int
    local_rank: int | None
    exception: str
    message: str | None
    frame: tuple[str, int, str] | None  # file, line and function of the innermost frame
    timestamp: int | None


@dataclass(frozen=True, slots=True)
class TorchrunErrors:
    """All of it; ``restarts`` are lines that announce one, ``stopped_by`` the signal that ended the launcher itself."""

    failures: tuple[WorkerFailure, ...] = ()
    exits: tuple[WorkerExit, ...] = ()
    files: tuple[ErrorFile, ...] = ()
    restarts: tuple[int, ...] = ()
    stopped_by: str | None = None
    stopped_line: int | None = None


def torchrun_errors(text: str, lines: list[JobLine], flat: Joined) -> TorchrunErrors:
    """The same for a text whose lines were taken apart already."""
    stop = _STOPPED.search(flat.text)
    return TorchrunErrors(
        _failures(flat),
        tuple(
            WorkerExit(at.number, int(one["local"]), int(one["exit"]), int(one["pid"]), at.time_s)
            for one in list(_AGENT.finditer(flat.text))[:_MAX_FAILURES]
            for at in [flat.line_at(one.start())]
        ),
        _files(text),
        tuple(flat.line_at(one.start()).number for one in list(_RESTART.finditer(flat.text))[:_MAX_FAILURES]),
        (stop["word"] or stop["number"]) if stop else None,
        flat.line_at(stop.start()).number if stop else None,
    )


def _failures(flat: Joined) -> tuple[WorkerFailure, ...]:
    found: list[WorkerFailure] = []
    for one in _FAILURE.finditer(flat.text):
        before = flat.text[max(0, one.start() - 60) : one.start()]
        file = one["file"]
        found.append(
            WorkerFailure(
                flat.line_at(one.start("rank")).number,
                int(one["rank"]),
                int(one["local"]),
                int(one["exit"]),
                int(one["pid"]),
                one["host"],
                seconds_of(one["time"]),
                None if file == "<N/A>" else file,
                _ROOT in before,
            )
        )
        if len(found) >= _MAX_FAILURES:
            break
    return tuple(found)


def _files(text: str) -> tuple[ErrorFile, ...]:
    if '"extraInfo"' not in text:
        return ()
    decoder = json.JSONDecoder()
    found: list[ErrorFile] = []
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
        stamp = extra.get("timestamp") if isinstance(extra, dict) else None
        raised = _RAISED.match(message["message"].split("\n", 1)[0])
        head = _ATTEMPT.findall(text[max(0, one.start() - 600) : one.start()])
        frames = _FRAME_LINE.findall(stack[-20_000:]) if isinstance(stack, str) else []
        found.append(
            ErrorFile(
                text.count("\n", 0, one.start()) + 1,
                int(head[-1]) if head else None,
                raised[1] if raised else message["message"][:120],
                raised[2] if raised else None,
                (frames[-1][0], int(frames[-1][1]), frames[-1][2]) if frames else None,
                int(stamp) if isinstance(stamp, (str, int)) and re.fullmatch(r"\d{1,12}", str(stamp)) else None,
            )
        )
    return tuple(found)
