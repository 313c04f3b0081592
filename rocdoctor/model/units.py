"""Sizes in words."""

from __future__ import annotations

_STEPS = (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10))


def binary_size(size_bytes: int) -> str:
    """Bytes in binary units with at most one decimal: ``64 MiB``, ``1.5 GiB``, ``512 bytes``."""
    for unit, shift in _STEPS:
        if size_bytes >= 1 << shift:
            amount = size_bytes / (1 << shift)
            return f"{amount:.0f} {unit}" if amount >= 100 else f"{amount:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size_bytes} bytes"
