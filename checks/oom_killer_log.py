"""The kernel killed processes because main memory (not GPU memory) ran out.

Why
  A rank or a data loader worker that the OOM killer ends leaves no Python traceback: the others wait in a
  collective until its timeout, or torchrun reports signal 9. With scope "cgroup" the limit of the container, Slurm
  job or service was reached, not that of the machine.

Fix
  Use fewer or smaller loader workers and less pinned and shared memory, or raise the memory limit of the job.

References
  https://docs.kernel.org/admin-guide/mm/concepts.html (OOM killer)
  https://docs.kernel.org/admin-guide/cgroup-v2.html (memory.max)
"""

from __future__ import annotations

from rocdoctor.insight.texts.log_events import age, events_of, is_recent, quotes, times
from rocdoctor.judging.check import Fix, Outcome, check, info, warning, whole_machine
from rocdoctor.model.facts import LogEvent, Machine

_CAUSE = "out-of-memory"


@check(whole_machine)
def oom_killer_log(machine: Machine) -> Outcome:
    events = events_of(machine, "out-of-memory-kill")
    if not events:
        return None
    limited = all(_by_limit(event) for event in events)
    what = "the memory limit of a container or job was reached" if limited else "main memory ran out"
    words = f"The kernel's OOM killer ended processes {times(len(events))} because {what}, last {age(machine, events)}."
    evidence = quotes(machine, events)
    if not any(is_recent(event) for event in events):
        return info(
            words,
            evidence=evidence,
            fix=Fix("If the job is to run again, give it more memory or fewer data loader workers", safety="manual"),
        )
    return warning(
        words,
        evidence=evidence,
        fix=Fix(
            "Raise the memory limit of the job"
            if limited
            else "Use fewer loader workers or give the job more main memory",
            safety="manual",
        ),
        confidence="likely",
        cause=_CAUSE,
        finer="host-memory",
    )


def _by_limit(event: LogEvent) -> bool:
    return event.values.get("scope") == "cgroup" or "MEMCG" in str(event.values.get("constraint", ""))
