"""Main memory is short.

Why
  A checkpoint passes through main memory on its way to the GPU, and offloading keeps states there. With less main
  memory than the GPU has, models that fit the GPU may not load. If hardly any main memory is free, the next job
  is killed or starts to swap.

Fix
  End the processes that use the memory (`ps aux --sort=-rss | head`). Load checkpoints in safetensors form or with
  mmap=True, which need no full copy.

References
  https://docs.pytorch.org/docs/stable/generated/torch.load.html
  https://docs.kernel.org/filesystems/proc.html
"""

from __future__ import annotations

from rocdoctor.judging.check import Finding, Fix, Outcome, check, cite, info, machine_with_gpus
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.units import binary_size

_LITTLE = 2 << 30


@check(machine_with_gpus)
def host_memory_low(machine: Machine) -> Outcome:
    memory = machine.memory
    total = known(memory.total_bytes)
    found: list[Finding] = []
    if isinstance(memory.available_bytes, Known) and memory.available_bytes.value < min(_LITTLE, total // 8):
        left = memory.available_bytes
        found.append(
            info(
                f"Only {binary_size(left.value)} of {binary_size(total)} main memory are available at this moment.",
                evidence=[cite(left, binary_size(left.value))],
                fix=Fix(
                    "See what uses the memory", command="ps aux --sort=-rss | head", safety="safe", verify="free -h"
                ),
            )
        )
    cards = [
        gpu.vram_bytes
        for gpu in machine.gpus
        if isinstance(gpu.vram_bytes, Known) and not value_or(gpu.integrated, False)
    ]
    largest = max(cards, key=lambda fact: fact.value, default=None)
    if largest is not None and total < largest.value:
        found.append(
            info(
                f"The machine has {binary_size(total)} of main memory, less than the {binary_size(largest.value)} of "
                "one GPU.",
                evidence=[cite(memory.total_bytes, binary_size(total)), cite(largest, binary_size(largest.value))],
                fix=Fix("Load checkpoints with safetensors or mmap=True, and leave CPU offload off"),
            )
        )
    return found
