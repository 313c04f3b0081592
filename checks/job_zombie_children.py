"""A process of a running job has died and the rest continues.

Why
  A process that has ended stays as a zombie until its parent asks for its result. A worker of a data loader or a rank
  that stays like this while the others live has not been noticed: the others may wait for it until a time-out.

Fix
  The signal names the reason: SIGKILL is usually the OOM killer or a scheduler limit, SIGBUS a full /dev/shm, SIGSEGV a
  crash in native code. End the job, remove the cause, and start again from the last checkpoint.

References
  https://man7.org/linux/man-pages/man2/waitpid.2.html
  https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
"""

from __future__ import annotations

from rocdoctor.insight.jobs.job_state import again, is_alive, place, runs_python, signal_words, the_job
from rocdoctor.judging.check import Fix, Outcome, Severity, check, finding, quote
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Job, JobProcess, Machine


@check(the_job)
def job_zombie_children(machine: Machine, job: Job) -> Outcome:
    every = known(job.processes)
    alive = {one.pid for one in every if is_alive(one)}
    own = value_or(job.name, None)
    parent = next((one.parent_pid for one in every if one.relation == "self"), None)
    is_rank = place(job.ranks) is not None
    dead = [
        one
        for one in every
        if not is_alive(one)
        and one.lasting
        and (one.parent_pid in alive or (is_rank and one.parent_pid == parent and one.name == own))
    ]
    ours = [one for one in dead if runs_python(one.name) or one.name == own]
    if not dead:
        return None
    badly = [one for one in ours if one.exit_signal or one.exit_status]
    severity: Severity = "warning" if badly else "info"
    shown = badly or ours or dead
    noun = "process" if len(shown) == 1 else "processes"
    kind = "Python " if shown is not dead else ""
    source = job.processes.source.question if isinstance(job.processes, Known) else ""
    return finding(
        severity,
        f"{len(shown)} {kind}{noun} of this job ended{_how(shown)}, and no process has noticed: "
        f"{'its' if len(shown) == 1 else 'their'} parent still runs.",
        evidence=[quote(source, f"{one.pid} ({one.name}) {one.state}", one.line) for one in shown[:4]],
        confidence="certain" if badly else "possible",
        fix=Fix(
            "Find what ended it (kernel log, scheduler), then start the job again"
            if badly
            else "If the job does not move, look in its own output for why that process ended",
            command="sudo dmesg -T | tail -50" if badly else "",
            safety="safe",
            verify=again(job, "job-zombie-children"),
        ),
    )


def _how(dead: list[JobProcess]) -> str:
    signals = sorted({one.exit_signal for one in dead if one.exit_signal})
    codes = sorted({one.exit_status for one in dead if one.exit_status and not one.exit_signal})
    words = [f"by {signal_words(number)}" for number in signals] + [f"with exit status {code}" for code in codes]
    return " " + " and ".join(words) if words else ""
