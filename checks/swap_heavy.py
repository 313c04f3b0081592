"""The machine has run out of memory and swaps.

Why
  When swap is full and hardly any memory is left, every step of training may wait for the disk, and the kernel soon
  kills a process. A full swap with memory to spare is healthy: the kernel has moved out what nobody used.

Fix
  End the processes that use the memory, use fewer data loader workers, or turn CPU offload off.

References
  https://docs.kernel.org/admin-guide/sysctl/vm.html
"""

from __future__ import annotations

from rocdoctor.judging.check import Fix, Outcome, check, cite, machine_with_gpus, warning
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Machine
from rocdoctor.model.units import binary_size

_FULL = 0.9
_LEFT = 0.05


@check(machine_with_gpus)
def swap_heavy(machine: Machine) -> Outcome:
    memory = machine.memory
    swap, free = known(memory.swap_total_bytes), known(memory.swap_free_bytes)
    if not swap or swap - free < _FULL * swap:
        return None
    total, left = known(memory.total_bytes), known(memory.available_bytes)
    if left >= _LEFT * total:
        return None
    return warning(
        f"Swap is full ({binary_size(swap - free)} of {binary_size(swap)}) and only "
        f"{binary_size(left)} of memory is left.",
        evidence=[
            cite(memory.swap_free_bytes, f"{binary_size(free)} free"),
            cite(memory.available_bytes, binary_size(left)),
        ],
        fix=Fix(
            "Find what uses the memory, and end it",
            command="ps aux --sort=-rss | head",
            safety="safe",
            verify="free -h",
        ),
    )
