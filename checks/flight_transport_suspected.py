"""All ranks are in the same collective and none of them finishes it.

Why
  When the dumps of all ranks show one and the same call, with equal sizes, on every rank and unfinished, no rank is
  missing and the program is not out of step. What remains is the path between the GPUs (network, NVLink, XGMI, PCIe), a
  GPU that is stuck in an earlier kernel, or a fault of the library. The dumps do not tell these apart.

Fix
  Run rocdoctor check on each machine (links, network interfaces, kernel log), then the job with NCCL_DEBUG=INFO, or
  rocdoctor smoke on the same machines. If some GPUs have not begun the call, look at what they do before it.

References
  https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html
  https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
"""

from __future__ import annotations

from rocdoctor.insight.jobs.flight_recorder import by_rank, look_at, names, stalls, unlikes
from rocdoctor.insight.jobs.job_log import with_records
from rocdoctor.judging.check import Fix, Outcome, check, quote, unknown, warning
from rocdoctor.model.facts import JobRun, Machine


@check(with_records)
def flight_transport_suspected(machine: Machine, run: JobRun) -> Outcome:
    records = by_rank(run.records)
    if len(records) < 2:
        raise unknown("there are dumps of fewer than two known ranks", "undecided")
    found = stalls(run.records)
    if unlikes(run.records) or any(one.missing or one.unknown for one in found):
        return None
    for one in found:
        if len(one.waiting) < 2:
            continue
        evidence = [quote(run.dump, f"rank {rank} in {one.name}", records[rank].line) for rank in one.waiting[:4]]
        if one.not_begun:
            return warning(
                f"All ranks are in {one.name}, but the GPU of {names(one.not_begun)} has not begun it: it is still "
                "busy with, or stuck in, what was queued before.",
                evidence=evidence,
                fix=Fix(
                    f"Look at the GPU and the process of {names(one.not_begun)}: utilisation, kernel log, stack",
                    command=look_at(one.not_begun),
                    safety="safe",
                ),
                confidence="likely",
            )
        rest = f"; {names(one.done)} finished it" if one.done else ""
        return warning(
            f"All ranks entered {one.name}, and {names(one.waiting)} do not complete it{rest}: no rank is missing, "
            "so look at the path between the GPUs, or at one of them.",
            evidence=evidence,
            fix=Fix(
                "Run rocdoctor check on every machine of the job, then the job with NCCL_DEBUG=INFO",
                command="rocdoctor check; rocdoctor smoke",
                safety="safe",
            ),
            confidence="possible",
        )
    return None
