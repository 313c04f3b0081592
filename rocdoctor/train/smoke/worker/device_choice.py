"""Which GPU a rank takes, and what of the user's settings is kept while it is tested."""

from __future__ import annotations

import os
from typing import Any

# The numbers of the GPUs to use, where that are not simply the first ones: the runner spreads ranks over partitions.
NUMBERS = "ROCDOCTOR_SMOKE_GPUS"


def choose(torch: Any, local: int) -> Any:
    """Make the GPU of a node's rank number ``local`` current, and give its device.

    Products and convolutions in fp32 are computed as such: comparisons are too narrow for TF32, which ``compute`` tries
    by itself.
    """
    numbers = [int(one) for one in os.environ.get(NUMBERS, "").split(",") if one.isdigit()]
    count = torch.cuda.device_count()
    number = numbers[local % len(numbers)] if numbers else local % count
    torch.cuda.set_device(number)
    allow_tf32(torch, False)
    return torch.device("cuda", number)


def allow_tf32(torch: Any, allowed: bool) -> None:
    """Whether products and convolutions in fp32 may be rounded to 10 bits of mantissa."""
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def used_numbers(torch: Any, world: int) -> list[int]:
    """The GPUs of this node that ranks of this test have."""
    numbers = [int(one) for one in os.environ.get(NUMBERS, "").split(",") if one.isdigit()]
    local = min(int(os.environ.get("LOCAL_WORLD_SIZE", world)), torch.cuda.device_count())
    return numbers[:local] or list(range(local))


def pci_address(torch: Any, number: int) -> str | None:
    """The PCI address of a GPU as torch names it (torch 2.8 and later), else None."""
    found = torch.cuda.get_device_properties(number)
    if not hasattr(found, "pci_bus_id"):
        return None
    return f"{getattr(found, 'pci_domain_id', 0):04x}:{found.pci_bus_id:02x}:{found.pci_device_id:02x}.0"
