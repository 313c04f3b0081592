"""The locked-memory limit is too small for RDMA.

Why
  InfiniBand and RoCE adapters can only use memory that is locked. If the limit is a few kilobytes or megabytes,
  UCX, NCCL and RCCL fail to register their buffers: "ibv_create_cq ... Cannot allocate memory", "ibv_reg_mr failed",
  or they fall back to slow sockets. A job on one machine does not need it.

Fix
  Raise the limit for the process that starts the job: /etc/security/limits.d for logins, LimitMEMLOCK=infinity for
  services such as slurmd and docker, `--ulimit memlock=-1` for containers. Then log in again and look at `ulimit -l`
  inside the job.

References
  https://man7.org/linux/man-pages/man2/getrlimit.2.html
  https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
  https://github.com/openucx/ucx/issues/8229
"""

from __future__ import annotations

from rocdoctor.insight.gpus.access import enclosure, several_nodes
from rocdoctor.judging.check import Fix, Outcome, check, cite, finding, not_applicable, whole_machine
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import shell
from rocdoctor.model.units import binary_size

# The kernel's default is 64 KiB, 8 MiB since Linux 5.16 (include/uapi/linux/resource.h): nobody chose such a limit.
_DEFAULT = 8 << 20
_SMALL = 256 << 20


@check(whole_machine, cause="memlock-limit")
def memlock_low(machine: Machine) -> Outcome:
    adapters = [
        nic
        for nic in machine.network
        if nic.kind in ("infiniband", "roce", "omnipath") and value_or(nic.state, "active") in ("active", "up")
    ]
    if not adapters:
        return not_applicable("no active InfiniBand or RoCE adapter in this evidence")
    if several_nodes(machine) is False:
        return not_applicable("the job runs on one machine")
    limit = known(machine.user.memlock_bytes)
    if limit is None or limit >= _SMALL:
        return None
    # Outside of containers root has CAP_IPC_LOCK, which the limit does not bind.
    if value_or(machine.user.uid, None) == 0 and value_or(machine.container.kind, None) == "none":
        return None
    inside = enclosure(machine)
    if inside in ("docker", "podman"):
        fix = Fix(
            "Start the container without that limit",
            command=shell("{inside} run --ulimit memlock=-1 ...", inside=inside),
            safety="safe",
            verify="ulimit -l",
        )
    elif inside == "kubernetes":
        fix = Fix("Give the container the capability IPC_LOCK (securityContext.capabilities.add)", verify="ulimit -l")
    else:
        fix = Fix(
            "Set the limit to unlimited for logins and for the service that starts jobs (LimitMEMLOCK=infinity)",
            command="printf '* - memlock unlimited\\n' | sudo tee /etc/security/limits.d/90-memlock.conf",
            effective="new-login",
            verify="ulimit -l",
        )
    # Nearly every server card for Ethernet can do RDMA (RoCE); few machines ever use it.
    meant = several_nodes(machine) or any(nic.kind != "roce" for nic in adapters)
    return finding(
        "warning" if meant and limit <= _DEFAULT else "info",
        f"Only {binary_size(limit)} of memory can be locked (memlock, ulimit -l), too little for RDMA over "
        f"{adapters[0].name}.",
        evidence=(cite(machine.user.memlock_bytes, binary_size(limit)), cite(adapters[0].state, adapters[0].name)),
        fix=fix,
    )
