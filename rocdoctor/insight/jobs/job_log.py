"""What a job's log says together: which failure was the first, and which ranks others waited for.

A rank that reports a time-out or a closed connection is a victim. The launcher's "first observed failure" is the one
that it saw first, which may be a victim too; so an exception of another kind, or a signal that the launcher did not
send itself, goes before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocdoctor.judging.check import quote
from rocdoctor.model.facts import JobRun, Machine
from rocdoctor.model.facts.run import RankError, WorkerEnd
from rocdoctor.model.finding import Evidence, NotApplicable, Selected, Subjects
from rocdoctor.model.subject import Subject

# The launcher ends the other workers by SIGTERM; SIGINT is the user's; SIGABRT is how a watchdog ends its process.
_NO_CAUSE_SIGNALS = (2, 6, 15)
SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    4: "SIGILL",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    15: "SIGTERM",
    24: "SIGXCPU",
}
# Exceptions that, raised in a line of the program itself, are a matter of that program or its data.
_PROGRAM_ERRORS = (
    "ValueError",
    "KeyError",
    "IndexError",
    "NameError",
    "UnboundLocalError",
    "ZeroDivisionError",
    "AssertionError",
    "NotImplementedError",
    "StopIteration",
)
# The process group of all ranks, as the watchdog names it; in others the ranks count anew.
WHOLE_JOB = ("default_pg", "0")
_INSTALLED = ("site-packages/", "dist-packages/", "/lib/python3", "<frozen", "<string>")


@dataclass(frozen=True, slots=True)
class Origin:
    """The failure that others follow from: an exception or a signal; ``ranks`` is empty where no rank is named."""

    line: int
    ranks: tuple[int, ...]
    error: RankError | None = None
    end: WorkerEnd | None = None


def with_run(machine: Machine) -> Subjects[JobRun]:
    """The job of a log, where a process of it failed."""
    if machine.run.errors or machine.run.ends:
        return [Selected(Subject("job"), machine.run)]
    return NotApplicable("no process of a job failed in this evidence")


def with_records(machine: Machine) -> Subjects[JobRun]:
    """The job of flight recorder dumps."""
    return (
        [Selected(Subject("job"), machine.run)]
        if machine.run.records
        else NotApplicable("no flight recorder dump here")
    )


def rank_of(run: JobRun, error: RankError) -> int | None:
    """The rank of an exception: its prefix, or by the local rank what the launcher's table says."""
    if error.rank is not None:
        return error.rank
    ranks = {end.rank for end in run.ends if end.rank is not None and end.local_rank == error.local_rank}
    return next(iter(ranks)) if len(ranks) == 1 else None


def origin(run: JobRun) -> Origin | None:
    """The first failure that is no consequence of another one."""
    killed = [end for end in run.ends if end.exit_code < 0 and -end.exit_code not in _NO_CAUSE_SIGNALS]
    # Exceptions of programs beside the job are none of its.
    several = bool(run.ends or run.timeouts or run.ranks or run.error_files)
    raised = [one for one in run.errors if not one.victim and several and _is_of_a_rank(run, one)]
    mismatched = {one.line for one in run.mismatches}
    raised = [one for one in raised if one.line not in mismatched]
    first = min((end.line for end in run.ends if not end.final), default=None)
    if raised and (not killed or raised[0].line < killed[0].line or (first is not None and raised[0].line < first)):
        main = raised[0]
        alike = [one for one in raised if (one.exception, one.message) == (main.exception, main.message)]
        ranks = {rank for one in alike if (rank := rank_of(run, one)) is not None}
        return Origin(main.line, tuple(sorted(ranks)), error=main)
    if not killed and not (run.waits or run.timeouts or run.named or run.mismatches or run.errors):
        # An exit code of its own, while the launcher ended all others.
        own = [end for end in run.ends if end.exit_code > 0]
        if len({(end.local_rank, end.pid) for end in own}) == 1 and not run.received_sizes:
            killed = own
    if killed:
        main_end = next((end for end in killed if end.root), killed[0])
        named = [end for end in killed if end.pid == main_end.pid and end.rank is not None]
        end = named[0] if named else main_end
        return Origin(end.line, (end.rank,) if end.rank is not None else (), end=end)
    return None


def _is_of_a_rank(run: JobRun, error: RankError) -> bool:
    return error.rank is not None or error.local_rank is not None or bool(run.ends or run.error_files)


def of_the_program(error: RankError) -> bool:
    """Whether an exception was raised by a line of the program itself, in a way that no machine brings about."""
    if error.frame is None or error.exception.rsplit(".", 1)[-1] not in _PROGRAM_ERRORS:
        return False
    return not any(part in error.frame[0] for part in _INSTALLED)


def is_out_of_memory(error: RankError) -> bool:
    """Whether an exception says that the memory of a GPU did not suffice."""
    name = error.exception.rsplit(".", 1)[-1]
    return name == "OutOfMemoryError" or "out of memory" in (error.message or "").lower()


def restarted_since(run: JobRun) -> bool:
    """Whether the launcher saw a worker fail and the text does not say that the job ended so: it may have gone on."""
    return bool(run.ends) and not any(end.final for end in run.ends) and run.stopped_by is None


def named_missing(run: JobRun) -> tuple[int, ...]:
    """The ranks that others waited for, as far as torch names them or their own status shows it."""
    named = {rank for one in run.named if one.how != "not-finished" for rank in one.ranks}
    if named:
        return tuple(sorted(named))
    groups: dict[str | None, dict[int, int]] = {}
    for status in run.statuses:
        if status.group not in WHOLE_JOB:
            continue
        of = groups.setdefault(status.group, {})
        of[status.rank] = max(of.get(status.rank, -1), status.enqueued)
    for of in groups.values():
        stuck = [one.sequence for one in run.timeouts if one.group in (None, *WHOLE_JOB)]
        if stuck and (behind := tuple(sorted(rank for rank, at in of.items() if at < min(stuck)))):
            return behind
    return ()


def lines(run: JobRun, numbers: Sequence[int], most: int = 4) -> tuple[Evidence, ...]:
    """Lines of the log as evidence."""
    return tuple(quote(run.log, run.lines.get(number, ""), number) for number in list(dict.fromkeys(numbers))[:most])


def pid_of(run: JobRun, rank: int) -> tuple[int, str | None] | None:
    """(process id, host) of a rank by the launcher's table."""
    return next(((end.pid, end.host) for end in run.ends if end.rank == rank), None)
