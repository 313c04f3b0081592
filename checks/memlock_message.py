"""Memory could not be locked for RDMA: the locked-memory limit is too small.

Why
  InfiniBand and RoCE register the memory they use, which locks it. With the default locked-memory limit (64 KiB to 8
  MiB) that fails with "Cannot allocate memory" although the machine has plenty. What counts is the limit of the process
  that starts the job: a daemon such as slurmd, a service, or the container engine.

Fix
  Raise it: memlock unlimited in /etc/security/limits.conf, LimitMEMLOCK=infinity in the daemon's unit file, or --ulimit
  memlock=-1 for containers. Then log in again.

References
  https://docs.nvidia.com/networking/display/ofed/
  https://man7.org/linux/man-pages/man2/getrlimit.2.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import first_value, in_container, in_slurm, said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import Machine
from rocdoctor.model.units import binary_size


@check(when_said("memory-registration-failed"), cause="memlock-limit")
def memlock_message(machine: Machine) -> Outcome:
    messages = said(machine, "memory-registration-failed")
    limit = machine.user.memlock_bytes
    if isinstance(limit, Known) and limit.value is None:
        return None  # unlimited: the memory itself or a device limit is at its end
    call = first_value(messages, "call") or "memory registration"
    has = f" (ulimit -l: {binary_size(limit.value)})" if isinstance(limit, Known) and limit.value is not None else ""
    where = " Slurm jobs inherit slurmd's limit (LimitMEMLOCK=infinity in its unit file)." if in_slurm(machine) else ""
    inside = " Containers need --ulimit memlock=-1." if in_container(machine) else ""
    return error(
        f"{call} could not lock memory for RDMA: the locked-memory limit (memlock) is too small{has}.",
        evidence=shown(messages),
        fix=Fix(
            "Raise the locked-memory limit of the job: ulimit -l unlimited, memlock in /etc/security/limits.conf, "
            f"LimitMEMLOCK=infinity for services, --ulimit memlock=-1 for containers; check it inside the job.{where}"
            f"{inside}",
            command="ulimit -l; grep -i locked /proc/self/limits",
            safety="manual",
            effective="new-login",
            verify="ulimit -l",
        ),
        confidence="likely",
        explains=("network-interface-wrong",),
    )
