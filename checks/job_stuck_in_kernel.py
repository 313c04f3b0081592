"""A running job waits inside the kernel and cannot be ended.

Why
  A thread in state D waits in the kernel and takes no signal. Short waits are normal; the same thread in the same
  function, without having run once in a second, is stuck in whatever that function belongs to: a GPU driver whose GPU
  does not answer, a file server that is gone. No setting of torch or RCCL helps then.

Fix
  Look at the kernel log from that time: a reset, a ring timeout or an Xid names the GPU. A GPU that does not come back
  needs a reset by the operator or a reboot. For a file server, restore the mount; the threads then continue.

References
  https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
  https://man7.org/linux/man-pages/man5/proc_pid_wchan.5.html
  https://docs.kernel.org/admin-guide/sysctl/kernel.html (hung_task_timeout_secs)
"""

from __future__ import annotations

from rocdoctor.insight.jobs.job_state import again, age_s, is_alive, owner, place, ranks_of, the_job
from rocdoctor.insight.texts.log_events import is_recent
from rocdoctor.judging.check import Evidence, Fix, Outcome, Severity, check, finding, info, quote, warning
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Job, JobThread, Machine
from rocdoctor.model.shell_command import ShellCommand, shell

# Start-up waits for the driver too: the first process initialises the GPUs while the others queue for its lock.
_SETTLED_S = 60.0
_EVENTS = ("hung-task", "gpu-ring-timeout", "gpu-reset-begin", "gpu-reset-failed", "kfd-queue-preemption-failed")


@check(the_job)
def job_stuck_in_kernel(machine: Machine, job: Job) -> Outcome:
    threads = known(job.threads)
    stuck = [one for one in threads if one.stuck]
    of_gpu = [one for one in stuck if _kind(one) == "gpu"]
    if of_gpu:
        return _gpu(machine, job, of_gpu, len(threads))
    of_network = [one for one in stuck if _kind(one) == "network"]
    if of_network:
        return warning(
            f"{_count(of_network, len(threads))} in the kernel for {_owners(of_network)} "
            "and did not run for a second: the file system does not answer.",
            evidence=_evidence(job, of_network),
            confidence="likely",
            fix=Fix("Check the file server and its mount; the threads continue once it answers", verify="df -h"),
        )
    other = [one for one in stuck if _kind(one) is None]
    if other:
        hidden = all(one.wchan is None for one in other)
        return info(
            f"{_count(other, len(threads))} in the kernel and did not run for a second; "
            + ("which function they wait in is not shown to this user." if hidden else "no GPU driver is involved."),
            evidence=_evidence(job, other),
            fix=Fix(
                "Read the kernel stack of the threads as root",
                command=_stack(job),
                safety="safe",
                verify=again(job, "job-stuck-in-kernel"),
            ),
        )
    return None


def _gpu(machine: Machine, job: Job, stuck: list[JobThread], count: int) -> Outcome:
    pid = known(job.pid)
    main = any(one.tid == pid for one in stuck)
    ranks = (
        [one for one in ranks_of(job) if place(one.variables) is not None] if isinstance(job.processes, Known) else []
    )
    leading = {one.pid for one in ranks} - {
        one.pid for one in ranks if one.parent_pid in {other.pid for other in ranks}
    }
    waiting = [one for one in ranks if one.pid in leading and is_alive(one) and one.state == "D" and one.lasting]
    together = main and len(leading) > 1 and len(waiting) == len(leading)
    log = value_or(machine.kernel.log, None)
    logged = log is not None and any(is_recent(event) for event in log.of(*_EVENTS))
    settled = (age_s(job) or 0.0) > _SETTLED_S
    severity: Severity = "error" if settled and main and (together or logged) else "warning"
    who = f"All {len(leading)} ranks wait" if together else _count(stuck, count)
    return finding(
        severity,
        f"{who} in the kernel inside {_owners(stuck)} and did not run for a second: "
        "the GPU or its driver does not answer, and the process cannot be ended.",
        evidence=_evidence(job, stuck),
        confidence="likely",
        fix=Fix(
            "Read the kernel log and the kernel stacks; a GPU that does not come back needs a reset or a reboot",
            command=_stack(job),
            safety="reboots",
            effective="reboot",
            verify=again(job, "job-stuck-in-kernel"),
        ),
    )


def _kind(one: JobThread) -> str | None:
    found = owner(one.wchan)
    return found[0] if found else None


def _owners(threads: list[JobThread]) -> str:
    return " and ".join(sorted({found[1] for one in threads if (found := owner(one.wchan))}))


def _count(threads: list[JobThread], every: int) -> str:
    if every == 1:
        return "The job's only thread waits"
    return (
        f"{'One' if len(threads) == 1 else len(threads)} of the job's {every} threads wait{'s' * (len(threads) == 1)}"
    )


def _stack(job: Job) -> ShellCommand:
    return shell("sudo sh -c 'cat /proc/{pid:number}/task/*/stack'", pid=value_or(job.pid, 0))


def _evidence(job: Job, threads: list[JobThread]) -> list[Evidence]:
    source = job.threads.source.question if isinstance(job.threads, Known) else ""
    return [quote(source, f"{one.tid} ({one.name}) {one.state} in {one.wchan or '?'}", one.line) for one in threads[:4]]
