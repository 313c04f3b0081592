"""A large part of main memory is set aside for huge pages.

Why
  Pages reserved with vm.nr_hugepages belong to programs that request them (databases, virtual machines, DPDK). PyTorch,
  data loaders and checkpoints cannot use them: the machine looks full although nothing runs. On a host of virtual
  machines this is on purpose.

Fix
  Lower vm.nr_hugepages (and remove hugepages= from the kernel command line) if nothing here needs them.

References
  https://docs.kernel.org/admin-guide/mm/hugetlbpage.html
"""

from __future__ import annotations

from rocdoctor.judging.check import Fix, Outcome, check, cite, finding, machine_with_gpus
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.units import binary_size

_LARGE = 0.5
_LITTLE = 8 << 30


@check(machine_with_gpus)
def hugepages_reserved(machine: Machine) -> Outcome:
    memory = machine.memory
    count = known(memory.hugepages_total)
    if count == 0:
        return None
    total = known(memory.total_bytes)
    reserved = count * known(memory.hugepage_size_bytes)
    if reserved < _LARGE * total:
        return None
    left = value_or(memory.available_bytes, None)
    short = left is not None and left < min(_LITTLE, total // 8)
    return finding(
        "warning" if short else "info",
        f"{binary_size(reserved)} of {binary_size(total)} main memory are set aside for huge pages"
        + (f"; {binary_size(left)} are left for everything else." if short and left is not None else "."),
        evidence=(cite(memory.hugepages_total, f"{count} pages"), cite(memory.hugepage_size_bytes)),
        fix=Fix(
            "If nothing here needs them, release them",
            command="sudo sysctl vm.nr_hugepages=0",
            safety="safe",
            verify="grep -i huge /proc/meminfo",
        ),
    )
