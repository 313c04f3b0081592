"""How much an installation fetches, from ``install_sizes.yaml``; None where nobody has published a figure."""

from __future__ import annotations

from fnmatch import fnmatchcase

from rocdoctor.knowledge.load import load_table

# The line for which times are told: nobody knows the reader's.
LINE_MBIT_S = 100


def wheel_download_gb(flavour: str) -> float | None:
    """The wheel of torch of a flavour of pytorch.org (``rocm7.2``), in 10^9 bytes."""
    rows = load_table("install_sizes")["wheels"]
    return next((float(row["download_gb"]) for row in rows if fnmatchcase(flavour, row["flavour"])), None)


def minutes(download_gb: float) -> int:
    """How long a download takes at ``LINE_MBIT_S``, one minute at least."""
    return max(1, round(download_gb * 8000 / LINE_MBIT_S / 60))
