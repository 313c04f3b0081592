"""What logs and flight recorder dumps tell of a training job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from rocdoctor.host.base import Host
from rocdoctor.model.facts import run as facts

LOG = "log torch"
DUMP = "dump torch"
_SHOWN = 240


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
    seen, launcher = collective_log(lines, flat), torchrun_errors(log.text, flat)
    errors = sorted([*seen.errors, *launcher.files], key=lambda one: one.line)
    numbers = {one[0] for one in (*seen.clients, *seen.received_sizes)}
    for group in (seen.timeouts, seen.statuses, seen.named, seen.waits, seen.mismatches, errors, launcher.ends):
        numbers |= _numbers(group)
    return facts.JobRun(
        records=records,
        timeouts=seen.timeouts,
        statuses=seen.statuses,
        named=seen.named,
        waits=seen.waits,
        mismatches=seen.mismatches,
        errors=tuple(errors),
        ends=launcher.ends,
        clients=seen.clients,
        ranks=seen.ranks,
        received_sizes=seen.received_sizes,
        error_files=len(launcher.files),
        stopped_by=launcher.stopped_by,
        lines={number: lines.texts[number - 1].strip()[:_SHOWN] for number in sorted(numbers)},
    )


class _OnLine(Protocol):
    @property
    def line(self) -> int: ...


def _numbers(found: Iterable[_OnLine]) -> set[int]:
    return {one.line for one in found}


def _records(text: str) -> tuple[facts.FlightRecord, ...]:
    from rocdoctor.parsers.logs.flight_recorder import parse_flight_dumps

    return parse_flight_dumps(text)
