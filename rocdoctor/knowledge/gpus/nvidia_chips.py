"""What the PCI id of an NVIDIA GPU tells before any driver runs: its compute capability, by ``nvidia_chips.yaml``."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache

from rocdoctor.knowledge.load import load_table


@cache
def _rows() -> tuple[tuple[int, int, str], ...]:
    """(first id, last id, compute capability) of each row, in the order of the ids."""
    rows = load_table("nvidia_chips")["chips"]
    return tuple(sorted((int(row["from"], 16), int(row["to"], 16), row["compute_capability"]) for row in rows))


def capability_of_device(device_id: str) -> str | None:
    """The compute capability ("8.9") of a device id in hexadecimal digits ("2684"); None where no row has it."""
    try:
        wanted = int(device_id, 16)
    except ValueError:
        return None
    at = bisect_right(_rows(), wanted, key=lambda row: row[0]) - 1
    first, last, capability = _rows()[max(at, 0)]
    return capability if first <= wanted <= last else None
