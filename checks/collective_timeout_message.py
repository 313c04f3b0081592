"""A collective ran into its time limit because some rank did not take part.

Why
  The watchdog ends a job when a collective does not finish. The rank that prints the message is a victim: another one
  crashed, waits in other code (a longer batch, a checkpoint, an evaluation on rank 0 only), or never started the same
  collective. Raising the limit hides that.

Fix
  Find the rank that is missing: the one with the lowest "last enqueued" number, or whose log ends first. Look at its
  last lines, and record collectives (TORCH_NCCL_TRACE_BUFFER_SIZE, TORCH_NCCL_DUMP_ON_TIMEOUT) to see who is behind.

References
  https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html
  https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html
"""

from __future__ import annotations

from rocdoctor.check import Fix, Outcome, check, info
from rocdoctor.facts import Machine
from rocdoctor.pasted import all_values, first_value, said, shown, when_said


@check(when_said("collective-timeout"))
def collective_timeout_message(machine: Machine) -> Outcome:
    messages, failed = said(machine, "collective-timeout"), said(machine, "rank-failed")
    operation = first_value(messages, "op")
    number = first_value(messages, "seq")
    waiting = [rank for rank in all_values(messages, "rank") if rank.isdigit()]
    missing = first_value(messages, "missing") or first_value(failed, "rank")
    what = f"the collective {operation}" if operation else "a collective"
    what += f" (number {number})" if number else ""
    who = f" Rank {missing.strip()} did not take part or failed first." if missing else ""
    known_waiting = f" Rank {', '.join(waiting[:8])} waited for it." if waiting else ""
    return info(
        f"Some rank did not take part in {what}, which ran into its time limit.{known_waiting}{who}",
        evidence=shown((*messages, *failed)),
        fix=Fix(
            f"Read the log of {f'rank {missing.strip()}' if missing else 'the rank that does not report the time-out'} "
            "first; run with TORCH_NCCL_TRACE_BUFFER_SIZE=2000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1 to see which rank is "
            "behind, and with NCCL_DEBUG=INFO for the network",
            command="export TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 NCCL_DEBUG=INFO",
            safety="safe",
        ),
        confidence="likely",
    )
