"""One rank of a job failed, and the others failed because of it.

Why
  When a rank ends, all others run into time-outs or closed connections a moment or half an hour later, and the log is
  full of their errors. The failure that counts is the first one that is not such a follow-up: an exception of another
  kind, or a signal that the launcher did not send (its own is SIGTERM).

Fix
  Read that rank's last lines. SIGKILL without any message is usually the OOM killer (kernel log) or the scheduler;
  SIGSEGV and SIGBUS come from native code (a full /dev/shm ends a process by SIGBUS). Start the workers' main function
  under torch.distributed.elastic.multiprocessing.errors.record to have its exception in the launcher's table.

References
  https://docs.pytorch.org/docs/stable/elastic/errors.html
  torch/distributed/elastic/multiprocessing/errors/__init__.py, torch 2.13
"""

from __future__ import annotations

from rocdoctor.insight.jobs.flight_recorder import names
from rocdoctor.insight.jobs.job_log import (
    SIGNALS,
    Origin,
    is_out_of_memory,
    lines,
    of_the_program,
    origin,
    rank_of,
    restarted_since,
    with_run,
)
from rocdoctor.insight.texts.log_events import other_events
from rocdoctor.judging.check import Finding, Fix, Outcome, check, error, info, quote
from rocdoctor.knowledge.messages.program_errors import message_kinds
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import JobRun, LogEvent, Machine
from rocdoctor.model.shell_command import CommandText

# What victims of a lost rank say, and what would be made of it without the first failure.
_FOLLOWS = ("network-interface-wrong", "rendezvous-name-resolution", "iommu-acs-p2p")
# What most often sends a signal that the launcher did not send: cause, finer id, and that in words.
_SENT_BY = {
    9: (
        "out-of-memory",
        "host-memory",
        " Usually that is the OOM killer or the job's memory limit: main memory (not GPU memory) ran out.",
    ),
    7: ("shm-too-small", "", " Usually /dev/shm is full (docker --shm-size or --ipc=host raise it)."),
}
_NETWORK = ("collective-connection-failed", "rendezvous-failed", "collective-timeout")


@check(with_run)
def rank_failed_first(machine: Machine, run: JobRun) -> Outcome:
    first = origin(run)
    if first is None:
        return None
    if restarted_since(run):
        who = names(first.ranks).capitalize() if first.ranks else "A worker"
        return info(
            f"{who} failed{_how(first)}, and the text does not say that the job ended because of it: the launcher "
            f"may have "
            "started it again.",
            evidence=lines(run, [first.line]),
            fix=Fix("If the job did end, read what that process printed before this line", safety="safe"),
        )
    if first.end is not None and first.end.exit_code > 0 and _says_why(machine):
        return None
    follows = () if _complained_before(machine, first) else _FOLLOWS
    return _killed(machine, run, first, follows) if first.end is not None else _raised(run, first, follows)


def _how(first: Origin) -> str:
    if first.error is not None:
        return f" with {first.error.exception.rsplit('.', 1)[-1]}"
    assert first.end is not None
    if first.end.exit_code > 0:
        return f" with exit code {first.end.exit_code}"
    return f" by {SIGNALS.get(-first.end.exit_code, f'signal {-first.end.exit_code}')}"


def _says_why(machine: Machine) -> bool:
    """Whether the text holds another message from which the exit may follow."""
    kinds = message_kinds()
    named = {one.kind for one in machine.messages if one.role == "now" and "weak" not in one.values}
    return any(kinds[name].cause for name in named if name in kinds) or bool(named & set(_NETWORK))


def _complained_before(machine: Machine, first: Origin) -> bool:
    """Whether something of the network was amiss before the failure."""
    kinds = [one for one in machine.messages if one.kind in _NETWORK and one.role == "now"]
    return first.error is None or any(one.line < first.line for one in kinds)


def _raised(run: JobRun, first: Origin, follows: tuple[str, ...]) -> Finding:
    found = first.error
    assert found is not None
    who = names(first.ranks).capitalize() if first.ranks else "A rank"
    name = found.exception.rsplit(".", 1)[-1]
    where = f" at {found.frame[0].rsplit('/', 1)[-1]}:{found.frame[1]} in {found.frame[2]}" if found.frame else ""
    several = len(first.ranks) > 1
    victims = {
        rank for one in run.errors if one.victim and (rank := rank_of(run, one)) is not None and rank not in first.ranks
    }
    text = f"{who} {'all ' * several}ended with {name}{where}{'' if several else ', first of all ranks'}."
    if victims:
        text += f" {names(victims).capitalize()} waited for it or lost it: what they report follows from this."
    evidence = lines(run, [found.line, *(one.line for one in run.errors if one.victim)], 3)
    if is_out_of_memory(found):
        fix = Fix("Use less memory on that rank: a smaller micro-batch, activation checkpointing, sharding")
        return error(text, evidence=evidence, fix=fix, cause="out-of-memory", confidence="likely", explains=follows)
    way = Fix(
        f"Fix what the traceback of {names(first.ranks) if first.ranks else 'that rank'} names; ignore the others"
    )
    if of_the_program(found):
        return error(text, evidence=evidence, fix=way, cause="not-environment", confidence="likely", explains=follows)
    return error(text, evidence=evidence, fix=way, confidence="likely")


def _killed(machine: Machine, run: JobRun, first: Origin, follows: tuple[str, ...]) -> Finding:
    end = first.end
    assert end is not None
    if end.exit_code > 0:
        who = names(first.ranks).capitalize() if first.ranks else f"The worker with local rank {end.local_rank}"
        return error(
            f"{who} (process {end.pid}) ended with exit code {end.exit_code}; the launcher then ended the others. "
            "The text does not say why.",
            evidence=lines(run, [first.line]),
            fix=Fix(
                "Read the last lines of that rank (torchrun --log-dir), or start the workers' main function under "
                "torch.distributed.elastic.multiprocessing.errors.record so that this table shows its exception"
            ),
            confidence="likely",
        )
    number = -end.exit_code
    signal = SIGNALS.get(number, f"signal {number}")
    who = names(first.ranks).capitalize() if first.ranks else f"The worker with local rank {end.local_rank}"
    host = f" on {end.host}" if end.host and end.host != "localhost" else ""
    text = f"{who} (process {end.pid}{host}) was ended by {signal}, first of all ranks."
    if run.waits or run.timeouts:
        text += " The time-outs and closed connections of the others follow from this."
    evidence = list(lines(run, [first.line, *(one.line for one in run.ends if one.pid == end.pid)], 2))
    by_kernel = _killed_by_kernel(machine, end.pid) if number == 9 else None
    if by_kernel is not None:
        source = machine.kernel.log.value.source if isinstance(machine.kernel.log, Known) else "run dmesg"
        return error(
            f"{text} The kernel's OOM killer did it: main memory, or the memory limit of the job, ran out.",
            evidence=[*evidence, quote(source, by_kernel.text[:240], by_kernel.line)],
            fix=Fix("Give the job more main memory or use fewer loader workers and smaller buffers"),
            cause="out-of-memory",
            explains=(*_FOLLOWS, "oom-killer-log"),
        )
    ways: dict[int, tuple[str, CommandText]] = {
        9: (
            "Look for the OOM killer in the kernel log of that machine, and for the limits of the scheduler",
            "sudo dmesg -T | grep -iE 'oom|killed process'",
        ),
        7: (
            "Check how full /dev/shm is on that machine, then look for hardware errors in its kernel log",
            "df -h /dev/shm; sudo dmesg -T | tail -50",
        ),
    }
    way, command = ways.get(
        number,
        ("Run that rank with PYTHONFAULTHANDLER=1 to get the stack of the crash", "export PYTHONFAULTHANDLER=1"),
    )
    told = number == 9 and isinstance(machine.kernel.log, Known)  # whose OOM killer did not end it
    cause, finer, words = ("", "", "") if told else _SENT_BY.get(number, ("", "", ""))
    return error(
        text + words,
        evidence=evidence,
        fix=Fix(way, command=command, safety="safe"),
        cause=cause,
        confidence="possible" if cause else "likely",
        explains=follows,
        finer=finer,
    )


def _killed_by_kernel(machine: Machine, pid: int) -> LogEvent | None:
    events = other_events(machine, "out-of-memory-kill")
    return next((one for one in events if one.values.get("pid") == pid), None)
