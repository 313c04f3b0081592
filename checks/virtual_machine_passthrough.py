"""The GPUs are passed through to this virtual machine.

Why
  A guest sees virtual PCIe ports: their link speeds, NUMA nodes and bridges need not be those of the hardware.
  Whether PCIe atomics, direct copies between GPUs, resets and large BARs work is decided by the hypervisor, and
  hardware faults show in the host's log, not here. Nothing is wrong with that.

Fix
  Compare bandwidth by measuring it. For missing atomics, peer access or resets, look at the hypervisor's configuration.

References
  https://docs.kernel.org/driver-api/vfio.html
"""

from __future__ import annotations

from rocdoctor.judging.check import Fix, Outcome, check, cite, info, machine_with_gpus
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Machine


@check(machine_with_gpus)
def virtual_machine_passthrough(machine: Machine) -> Outcome:
    hypervisor = known(machine.container.virtual_machine)
    if hypervisor is None:
        return None
    return info(
        f"This is a virtual machine ({hypervisor}): PCIe links and NUMA nodes are those of the "
        "hypervisor, and hardware faults are visible only on the host.",
        evidence=[cite(machine.container.virtual_machine)],
        fix=Fix(
            "If you suspect a hardware fault, ask who runs the host for its kernel log and PCIe links",
            safety="manual",
        ),
    )
