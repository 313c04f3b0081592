"""A local rank of a running job is gone.

Why
  The launcher told each process how many ranks there are on this machine. When one of them is no longer there, every
  collective that needs it waits until its time-out, and the job looks as if it hangs.

Fix
  Look for the last lines of the missing rank (torchrun: --log-dir, or the error file) and check the kernel log for the
  OOM killer. A rank that ends early on purpose must still take part in the others' collectives.

References
  https://docs.pytorch.org/docs/stable/elastic/run.html (LOCAL_RANK, LOCAL_WORLD_SIZE)
  https://docs.pytorch.org/docs/stable/elastic/errors.html
"""

from __future__ import annotations

from rocdoctor.insight.jobs.job_state import again, is_alive, place, ranks_of, runs_python, the_job
from rocdoctor.judging.check import Fix, Outcome, check, finding, not_applicable, quote, unknown
from rocdoctor.model.evidence import Known, known
from rocdoctor.model.facts import Job, Machine


@check(the_job)
def job_rank_missing(machine: Machine, job: Job) -> Outcome:
    every = known(job.processes)
    ranks = ranks_of(job)
    if not ranks:
        if any(one.variables is None for one in every if is_alive(one)):
            raise unknown("the variables of the job's processes cannot be read by this user", "denied")
        return not_applicable("no launcher gave this job a local rank")
    there = {found[0] for one in ranks if (found := place(one.variables))}
    size = max(found[1] for one in ranks if (found := place(one.variables)))
    missing = sorted(set(range(size)) - there)
    if not missing:
        return None
    # torchrun's agent is the parent of all local ranks; other launchers may start each below a parent of its own.
    whole = len(there) > 1 or all("TORCHELASTIC_RUN_ID" in (one.variables or {}) for one in ranks)
    if not whole:
        raise unknown(f"only rank {min(there)} was found; the others may run below another parent", "undecided")
    if any(one.variables is None for one in every if is_alive(one)):
        raise unknown("some processes of the job hide their variables from this user", "denied")
    killed = [one for one in every if not is_alive(one) and one.exit_signal and runs_python(one.name)]
    source = job.processes.source.question if isinstance(job.processes, Known) else ""
    names = ", ".join(str(number) for number in missing[:16])
    verb = "is" if len(missing) == 1 else "are"
    return finding(
        "error" if killed else "warning",
        f"Local rank {names} {verb} gone: the launcher started {size} ranks here, {len(there)} still live; "
        "the others wait for it in their next collective.",
        evidence=[
            quote("ranks /proc/job", f"LOCAL_WORLD_SIZE={size}, living LOCAL_RANK {sorted(there)}"),
            *(
                quote(source, f"{one.pid} ({one.name}) ended by signal {one.exit_signal}", one.line)
                for one in killed[:2]
            ),
        ],
        confidence="certain" if killed else "likely",
        fix=Fix(
            "Read the log of the missing rank and the kernel log (OOM killer), end the job and start it again",
            verify=again(job, "job-rank-missing"),
        ),
        explains=("job-zombie-children",),
    )
