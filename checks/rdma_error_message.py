"""An RDMA adapter could not deliver packets to the peer, or is of a different kind than the peer's.

Why
  "Got completion from peer ... with error 12" is the adapter's own time-out: no answer came from the peer (status 12
  and 13, retry exceeded). A wrong GID index, a port that is down, a firewall, different link types (InfiniBand and
  RoCE) or a peer that died are the usual reasons. Status 5 (flushed) only follows another error.

Fix
  Name the adapters that all nodes share (NCCL_IB_HCA) and, for RoCE, the GID of version 2 (NCCL_IB_GID_INDEX); test
  the path with ib_write_bw. To confirm, run once with NCCL_IB_DISABLE=1.

References
  https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
  https://rocm.docs.amd.com/projects/rccl/en/latest/how-to/troubleshooting-rccl.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import first_value, said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error, warning
from rocdoctor.model.facts import Machine

# Completion status (enum ibv_wc_status of libibverbs): no answer from the peer in time.
_NO_ANSWER = ("12", "13")


@check(when_said("rdma-error"), cause="network-interface-wrong")
def rdma_error_message(machine: Machine) -> Outcome:
    messages = said(machine, "rdma-error")
    fix = Fix(
        "Name adapters of one kind that all nodes have (NCCL_IB_HCA), check their ports (ibstat) and, for RoCE, the "
        "GID index; NCCL_IB_DISABLE=1 shows whether the rest works",
        command="ibstat; ibv_devinfo | grep -E 'hca_id|state|link_layer'; export NCCL_IB_HCA=mlx5",
        safety="safe",
        verify="ib_write_bw  # between two nodes",
    )
    if any("differ" in one.values for one in messages):
        return error(
            "NCCL cannot connect RDMA adapters of different kinds (InfiniBand and RoCE, or other generations) with "
            "each other.",
            evidence=shown(messages),
            fix=fix,
            confidence="certain",
        )
    device = first_value(messages, "device")
    status = first_value(messages, "status", "error")
    address = first_value(messages, "address")
    to = f" to {address}" if address else ""
    text = f"An RDMA transfer{to} failed (completion status {status})."
    if status in _NO_ANSWER:
        text = f"RDMA packets{to} got no answer in time (completion status {status}, retry exceeded)."
    elif status is None:
        text = f"The RDMA adapter {device} reported a fatal event."
    return warning(
        f"{text} The usual reasons are a broken path between the adapters, or a peer that ended.",
        evidence=shown(messages),
        fix=fix,
        confidence="likely" if status in _NO_ANSWER else "possible",
    )
