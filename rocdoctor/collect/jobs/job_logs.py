"""What logs and flight recorder dumps tell of a training job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, TypeVar

from rocdoctor.host.base import Host
from rocdoctor.model.facts import run as facts

LOG = "log torch"
DUMP = "dump torch"
_SHOWN = 240
T = TypeVar("T")


def collect_run(host: Host) -> facts.JobRun:
    """The job of a text; empty where the evidence holds no such log."""
    available = host.available()
    log = host.ask(LOG) if LOG in available else None
    dump = host.ask(DUMP) if DUMP in available else None
    records = _records(dump.text) if dump is not None and dump.ok else ()
    if log is None or not log.ok:
        return facts.JobRun(records=records)
    from rocdoctor.parsers.logs.collective_log import collective_log
    from rocdoctor.parsers.logs.job_lines import job_lines, joined
    from rocdoctor.parsers.logs.torchrun_errors import torchrun_errors

    lines = job_lines(log.text)
    flat = joined(lines)
    seen, launcher = collective_log(lines, flat), torchrun_errors(log.text, lines, flat)
    ends = (
        *(
            facts.WorkerEnd(
                one.line, one.local_rank, one.exit_code, one.pid, one.time_s, one.rank, one.host, one.error_file,
                one.root, final=True,
            )
            for one in launcher.failures
        ),
        *(facts.WorkerEnd(one.line, one.local_rank, one.exit_code, one.pid, one.time_s) for one in launcher.exits),
    )  # fmt: skip
    errors = list(_as(facts.RankError, seen.errors))
    errors += [
        facts.RankError(
            one.line, None, one.local_rank, one.exception, one.message, one.frame,
            victim_of(one.exception, one.message), None,
        )
        for one in launcher.files
    ]  # fmt: skip
    found: list[Any] = [*seen.timeouts, *seen.statuses, *seen.named, *seen.waits, *seen.mismatches, *errors, *ends]
    numbers = {one.line for one in found} | {one[0] for one in (*seen.clients, *seen.received_sizes)}
    return facts.JobRun(
        records=records,
        timeouts=_as(facts.WatchdogTimeout, seen.timeouts),
        statuses=_as(facts.WorkStatus, seen.statuses),
        named=_as(facts.NamedRanks, seen.named),
        waits=_as(facts.PeerWait, seen.waits),
        mismatches=_as(facts.Fingerprints, seen.mismatches),
        errors=tuple(sorted(errors, key=lambda one: one.line)),
        ends=ends,
        clients=seen.clients,
        ranks=seen.ranks,
        received_sizes=seen.received_sizes,
        error_files=len(launcher.files),
        stopped_by=launcher.stopped_by,
        lines={line.number: line.text.strip()[:_SHOWN] for line in lines if line.number in numbers},
    )


def victim_of(exception: str, message: str | None) -> bool:
    """Whether the words of an exception say that its rank waited for another or lost it."""
    from rocdoctor.parsers.logs.collective_log import is_victim

    return is_victim(exception, message or "")


def _records(text: str) -> tuple[facts.FlightRecord, ...]:
    from rocdoctor.parsers.logs.flight_recorder import parse_flight_dumps

    return tuple(
        facts.FlightRecord(
            one.rank,
            one.line,
            {name: ranks for name, _, ranks in one.groups if ranks},
            _as(facts.FlightOp, one.entries),
        )
        for one in parse_flight_dumps(text)
    )


def _as(kind: type[T], found: Iterable[Any]) -> tuple[T, ...]:
    """Records of a parser as facts: the fields of the same names."""
    names = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    return tuple(kind(*(getattr(one, name) for name in names)) for one in found)
