"""NCCL or RCCL stopped with an error whose error class shows where to look.

Why
  torch shows only the class. ncclRemoteError and "Connection closed by remote peer" mean that another rank ended first
  or the network broke. ncclSystemError means that a system call failed (sockets, shared memory, RDMA), and
  ncclUnhandledCudaError that a call of the GPU runtime failed. ncclInvalidUsage is often two ranks on one GPU. The
  reason is in the WARN lines of the library, or in the log of the rank that ended first.

Fix
  Run again with NCCL_DEBUG=WARN (or INFO) and read the first WARN line, and the log of the rank that ended first.

References
  https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
  https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import all_values, first_value, said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, info
from rocdoctor.model.facts import Machine

# The order is that of what says most: a failed call of this rank stands before a peer that went away.
_MEANS = {
    "ncclUnhandledCudaError": "a GPU runtime call failed in it (memory, peer access, an earlier fault)",
    "ncclSystemError": "a system call failed in it (socket, shared memory, RDMA)",
    "ncclInvalidUsage": "it was used in a way that is not allowed, such as two ranks on one GPU",
    "ncclInternalError": "one of its own checks failed",
    "ncclRemoteError": "another rank ended first, or the network to it broke: this rank is only affected by that",
}


@check(when_said("collective-error"))
def collective_error_message(machine: Machine) -> Outcome:
    messages, failed = said(machine, "collective-error"), said(machine, "rank-failed")
    said_errors = all_values(messages, "error")
    error = next((name for name in _MEANS if name in said_errors), said_errors[0] if said_errors else "")
    address, rank = first_value(messages, "address"), first_value(failed, "rank")
    peer = f" The peer is {address}." if address else ""
    first = f" Rank {rank} failed first." if rank else ""
    return info(
        f"The collective library (NCCL/RCCL) stopped with {error}: {_MEANS.get(error, 'it failed')}.{peer}{first}",
        evidence=shown((*messages, *failed)),
        fix=Fix(
            "Read the first NCCL WARN line above the traceback and the log of the rank that ended first; if there is "
            "none, run again with NCCL_DEBUG=INFO",
            command="export NCCL_DEBUG=INFO",
            safety="safe",
        ),
        confidence="likely",
    )
