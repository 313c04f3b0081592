"""The IOMMU translates addresses on a bare-metal machine with several AMD GPUs.

Why
  With translation on, every access from a GPU to the memory of another GPU, a network card or the host goes through the
  IOMMU. RCCL warns about hangs and instability when it starts on such a machine, and peer-to-peer copies and RDMA are
  slower or refused. In pass-through mode (`iommu=pt`) the host's devices use physical addresses, while guests are still
  kept apart. In a virtual machine the hypervisor decides, and a single GPU does not need it.

Fix
  Add `iommu=pt` to the kernel command line (GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub or
  grub2-mkconfig) and reboot. /sys/kernel/iommu_groups/*/type then says `identity`.

References
  RCCL: src/init.cc ("Missing iommu=pt from kernel command line")
  https://docs.kernel.org/admin-guide/kernel-parameters.html (iommu=, iommu.passthrough=)
"""

from __future__ import annotations

from rocdoctor.insight.links.fabric import iommu_translates, pcie_pairs, training_gpus
from rocdoctor.judging.check import (
    Fix,
    Outcome,
    check,
    cite,
    finding,
    machine_with_several_gpus,
    not_applicable,
    quote,
)
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Machine


@check(machine_with_several_gpus)
def iommu_translated_p2p(machine: Machine) -> Outcome:
    gpus = training_gpus(machine, "amd")
    if len(gpus) < 2:
        return not_applicable("fewer than two AMD GPUs that could train together")
    guest = known(machine.container.virtual_machine)
    if guest is not None:
        return not_applicable(f"in a {guest} guest the hypervisor decides on the IOMMU")
    if "cray" in value_or(machine.kernel.release, "").lower():
        return not_applicable("Cray kernels are set up for this; RCCL does not check there either")
    mode = iommu_translates(machine, gpus)
    if not known(mode):
        return None
    pairs = pcie_pairs(machine, gpus)
    log = value_or(machine.kernel.log, None)
    faults = log.of("iommu-fault") if log is not None else ()
    # Every desktop with two cards starts this way and mostly works; servers run collectives between the cards all day.
    at_risk = bool(pairs) and (bool(faults) or any(value_or(gpu.gfx, "").startswith("gfx9") for gpu in gpus))
    effect = "peer-to-peer copies over PCIe can be slow or hang" if pairs else "RDMA with network cards can be slow"
    return finding(
        "warning" if at_risk else "info",
        f"The IOMMU translates addresses for {len(gpus)} AMD GPUs on bare metal, so {effect}.",
        evidence=[cite(mode, "translated"), *(quote(log.source, one.text, one.line) for one in faults[:2] if log)],
        cause="iommu-acs-p2p" if at_risk else "",
        confidence="likely",  # what is measured or logged comes before what may happen
        fix=Fix(
            "Add iommu=pt to the kernel command line and reboot",
            safety="reboots",
            effective="reboot",
            verify="cat /sys/kernel/iommu_groups/*/type | sort | uniq -c",
        ),
    )
