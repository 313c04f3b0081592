"""The limit on open files is low.

Why
  Data loader workers pass tensors as open files, and each rank keeps sockets to the others. With eight GPUs, many
  workers and the usual limit of 1024, long runs end with "Too many open files" or "received 0 items of ancdata".

Fix
  `ulimit -n 65536` in the script that starts the job (up to the hard limit), or
  torch.multiprocessing.set_sharing_strategy("file_system").

References
  https://docs.pytorch.org/docs/stable/multiprocessing.html
  https://man7.org/linux/man-pages/man2/getrlimit.2.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.access import local_ranks
from rocdoctor.judging.check import Fix, Outcome, check, cite, info, machine_with_gpus
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Machine

# The soft limit that nearly every distribution starts with; it serves one or two GPUs well.
_USUAL = 1024
_MANY_RANKS = 8


@check(machine_with_gpus)
def nofile_low(machine: Machine) -> Outcome:
    limit = known(machine.user.nofile)
    ranks = local_ranks(machine) or 1
    if limit is None or limit > _USUAL or (limit == _USUAL and ranks < _MANY_RANKS):
        return None
    return info(
        f"A process can open {limit} files; training on {ranks} GPUs with data loader workers can need more."
        if ranks > 1
        else f"A process can open {limit} files; data loader workers can need more.",
        evidence=[cite(machine.user.nofile)],
        fix=Fix(
            "Raise the limit in the script that starts the job",
            command="ulimit -n 65536",
            safety="safe",
            verify="ulimit -n",
        ),
    )
