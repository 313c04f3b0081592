"""A collective timed out because some rank did not take part.

Why
  The watchdog ends a job when a collective does not finish. The rank that prints the message is not the cause: another
  one crashed, waits in other code (a longer batch, a checkpoint, an evaluation on rank 0 only), or never started the
  same collective. Raising the limit hides that.

Fix
  Find the rank that is missing: the one with the lowest "last enqueued" number, or whose log ends first. Look at its
  last lines, and record collectives (TORCH_NCCL_TRACE_BUFFER_SIZE, TORCH_NCCL_DUMP_ON_TIMEOUT) to see which rank is
  behind.

References
  https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html
  https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html
"""

from __future__ import annotations

from rocdoctor.insight.jobs.flight_recorder import look_at, names
from rocdoctor.insight.jobs.job_log import lines, named_missing, origin, pid_of
from rocdoctor.insight.texts.pasted import all_values, first_value, said, shown
from rocdoctor.judging.check import Finding, Fix, NotApplicable, Outcome, Selected, Subjects, check, error, info
from rocdoctor.model.facts import JobRun, Machine
from rocdoctor.model.subject import MACHINE

_KIND = "collective-timeout"


def _waited(machine: Machine) -> Subjects[None]:
    run = machine.run
    if said(machine, _KIND) or run.timeouts or run.named or run.clients or any(one.waited_ms for one in run.waits):
        return [Selected(MACHINE, None)]
    return NotApplicable("no message of this kind in this evidence")


@check(_waited)
def collective_timeout_message(machine: Machine) -> Outcome:
    run = machine.run
    missing = named_missing(run)
    waiting = sorted(
        {rank for rank in (*(one.rank for one in run.timeouts), *(one.rank for one in run.waits)) if rank is not None}
        - set(missing)
    )
    if missing or (waiting and (run.ranks or run.ends)):
        return _of_run(run, missing, waiting)
    messages, failed = said(machine, _KIND), said(machine, "rank-failed")
    operation = first_value(messages, "op") or next((one.operation for one in run.timeouts), None)
    number = first_value(messages, "seq") or next((str(one.sequence) for one in run.timeouts), None)
    told = [rank for rank in all_values(messages, "rank") if rank.isdigit()]
    root = next((str(end.rank) for end in run.ends if end.root), None)
    # The rank that the launcher saw first may be a victim: it counts only where it did not wait itself.
    named = first_value(messages, "missing") or (None if run.waits else first_value(failed, "rank") or root)
    what = f"the collective {operation}" if operation else "a collective"
    what += f" (number {number})" if number else ""
    who = f" Rank {named.strip()} did not take part or failed first." if named else ""
    known_waiting = f" Rank {', '.join(told[:8])} waited for it." if told else ""
    joined = next(((line, here, world) for line, here, world in run.clients), None)
    if joined:
        who += f" {joined[1]} of {joined[2]} processes reached the store; the others never started or cannot reach it."
    evidence = shown((*messages, *failed)) or lines(
        run,
        [
            *(one.line for one in run.timeouts),
            *(one.line for one in run.waits),
            *(line for line, _, _ in run.clients),
        ],
    )
    text = f"Some rank did not take part in {what}, which timed out."
    if not messages and run.waits and not run.timeouts:
        text = (
            "A rank timed out waiting for another: the other rank did not take part, or the network loses what they "
            "send."
        )
    return info(
        f"{text}{known_waiting}{who}",
        evidence=evidence,
        fix=Fix(
            f"Read the log of {f'rank {named.strip()}' if named else 'the rank that does not report the time-out'} "
            "first; run with TORCH_NCCL_TRACE_BUFFER_SIZE=2000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1 to see which rank is "
            "behind, and with NCCL_DEBUG=INFO for the network",
            command="export TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 NCCL_DEBUG=INFO",
            safety="safe",
        ),
        confidence="likely",
    )


def _of_run(run: JobRun, missing: tuple[int, ...], waiting: list[int]) -> Finding:
    """Of a log that names ranks: who waited, in what, and for whom."""
    call = next((one for one in run.timeouts), None)
    told = next((one for one in run.named if one.sequence is not None and one.how != "not-finished"), None)
    operation = call.operation if call else told.operation if told else None
    number = call.sequence if call else told.sequence if told else None
    if not call and not told and any(one.how == "monitored-barrier" for one in run.named):
        operation = "monitored_barrier"
    what = f"the collective {operation}" if operation else "a collective"
    what += f" number {number}" if number is not None else ""
    first = origin(run)
    why = ""
    if first is not None and first.ranks:
        why = f" {names(first.ranks).capitalize()} failed by itself, which explains it: see rank-failed-first."
    who = f"{names(missing).capitalize()} did not reach {what}" if missing else ""
    wait = f"{names(waiting)} timed out waiting" if waiting else ""
    text = "; ".join(part for part in (who, wait if missing else f"{wait.capitalize()} in {what}") if part) + "."
    if not missing and not why:
        text += " The text does not name the rank that they waited for: it is one that does not report a time-out."
    numbers = [one.line for one in run.named] + [one.line for one in run.statuses]
    numbers += [one.line for one in run.timeouts] + [one.line for one in run.waits]
    place = pid_of(run, missing[0]) if missing else None
    where = f" (process {place[0]}{f' on {place[1]}' if place[1] else ''})" if place else ""
    find = (
        f"While the job hangs look at {names(missing)}{where}: its stack and its state. If the "
        "job has ended, read its last log lines"
        if missing
        else "Record collectives in the next run: the dump of each rank shows which rank is behind (rocdoctor read "
        "FOLDER)"
    )
    record = "export TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 TORCH_FR_BUFFER_SIZE=2000"
    return error(
        text + why,
        evidence=lines(run, numbers),
        fix=Fix(find, command=look_at(missing) if missing else record, safety="safe"),
        confidence="likely",
    )
