"""Whether this process gets the random numbers that everybody gets from a seed."""

from __future__ import annotations

from typing import Any

# torch's generator on the CPU is std::mt19937, whose first number with the usual seed of the C++ standard
# ([rand.predef]) is 3499211612. Numbers below 2^16 are what remains of it in every release of torch.
_SEED, BELOW = 5489, 65521
FIRST = 3499211612 % BELOW
CHANGED = "are not those of the standard generator: something in this process changes seeds or draws"


def first(torch: Any) -> int:
    """The first random number from a known seed."""
    torch.manual_seed(_SEED)
    return int(torch.randint(0, BELOW, (1,), dtype=torch.int64, device="cpu"))


def as_usual(torch: Any) -> bool:
    """Else something in this process changes seeds, or draws numbers in between."""
    return first(torch) == FIRST
