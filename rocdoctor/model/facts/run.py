"""A training job as its logs and dumps tell of it: which ranks waited, for whom, and how its processes ended.

These are the facts of a text; ``rocdoctor.model.facts.job`` is a process that runs on this machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FlightOp:
    """An operation that a rank recorded; ``state`` is scheduled, started or completed (gloo: always scheduled).

    ``sequence`` counts within its kind and group, ``source_rank`` and ``target_rank`` of a send or receive within the
    group; ``frame`` is the line of the user's code that called it, "train.py:31 in step".
    """

    group: str
    group_desc: str | None
    backend: str
    operation: str
    sequence: int | None
    p2p: bool
    state: str | None
    retired: bool | None
    source_rank: int | None = None
    target_rank: int | None = None
    input_sizes: tuple[tuple[int, ...], ...] = ()
    dtypes: tuple[str, ...] = ()
    frame: str | None = None


@dataclass(frozen=True, slots=True)
class FlightRecord:
    """The flight recorder's dump of one rank; ``groups`` has the ranks of each process group as far as it tells."""

    rank: int | None
    line: int
    groups: Mapping[str, tuple[int, ...]]
    ops: tuple[FlightOp, ...]


@dataclass(frozen=True, slots=True)
class WatchdogTimeout:
    """A collective that the watchdog of a rank gave up; the rank counts within the process group."""

    line: int
    rank: int | None
    group: str | None
    sequence: int
    operation: str
    numel_in: int | None


@dataclass(frozen=True, slots=True)
class WorkStatus:
    """The last work that a rank enqueued."""

    line: int
    rank: int
    group: str | None
    enqueued: int


@dataclass(frozen=True, slots=True)
class NamedRanks:
    """Ranks that torch names as missing; ``how``: monitored-barrier, never-joined, not-joined, not-finished."""

    line: int
    ranks: tuple[int, ...]
    how: str
    sequence: int | None = None
    operation: str | None = None


@dataclass(frozen=True, slots=True)
class PeerWait:
    """gloo waited in vain for another rank, or lost it (then ``waited_ms`` is None)."""

    line: int
    rank: int | None
    waited_ms: int | None


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """Two ranks that ran different collectives at the same time; the values are those that differ."""

    line: int
    ranks: tuple[int, int]
    sequence: int | None
    operations: tuple[str | None, str | None]
    shapes: tuple[str | None, str | None]
    dtypes: tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class RankError:
    """An exception that a process ended with; ``victim``: it waited for another rank or lost it.

    ``frame`` is the innermost one (file, line, function), None where its line was not whole.
    """

    line: int
    rank: int | None
    local_rank: int | None
    exception: str
    message: str | None
    frame: tuple[str, int, str] | None
    victim: bool


@dataclass(frozen=True, slots=True)
class WorkerEnd:
    """A worker that the launcher saw end with an error. A negative exit code is the signal's number.

    ``rank`` is None on the agent's own lines; ``final``: it stands in the table of the end of the job; ``root``: the
    launcher saw it first.
    """

    line: int
    local_rank: int
    exit_code: int
    pid: int
    rank: int | None = None
    host: str | None = None
    root: bool = False
    final: bool = False


@dataclass(frozen=True, slots=True)
class JobRun:
    """All that logs and dumps tell; ``log`` and ``dumps`` are the questions that the lines belong to."""

    log: str = "log torch"
    dump: str = "dump torch"
    records: tuple[FlightRecord, ...] = ()
    timeouts: tuple[WatchdogTimeout, ...] = ()
    statuses: tuple[WorkStatus, ...] = ()
    named: tuple[NamedRanks, ...] = ()
    waits: tuple[PeerWait, ...] = ()
    mismatches: tuple[Fingerprints, ...] = ()
    errors: tuple[RankError, ...] = ()
    ends: tuple[WorkerEnd, ...] = ()
    clients: tuple[tuple[int, int, int], ...] = ()  # (line, processes that joined a store, processes expected)
    ranks: tuple[int, ...] = ()  # every rank that some line is prefixed with
    received_sizes: tuple[tuple[int, int, int], ...] = ()  # (line, bytes received, bytes expected) of a gloo transfer
    error_files: int = 0
    stopped_by: str | None = None  # the signal that ended the launcher from outside
    lines: Mapping[int, str] = field(default_factory=dict)  # the words of the lines that events stand on
