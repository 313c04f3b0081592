"""PCIe paths made by hand, for tests of checks."""

from __future__ import annotations

from typing import Any

from rocdoctor.model.evidence import NOT_ASKED
from rocdoctor.model.facts import LinkState, Pcie, PcieHop
from tests.kit import k


def link(
    width: int | None = 16, max_width: int | None = 16, speed: float | None = 16.0, max_speed: float | None = 16.0
) -> LinkState:
    """One end of a link; None leaves a figure unknown."""
    values = (speed, width, max_speed, max_width)
    return LinkState(*(NOT_ASKED if value is None else k(value) for value in values))  # type: ignore[arg-type]


def hop(bdf: str, at: LinkState | None = None, vendor: str = "1022", device: str = "1483", **changes: Any) -> PcieHop:
    """A bridge with a healthy x16 link."""
    return PcieHop(bdf, k(vendor), k(device), at or link(), **changes)


def path(device: LinkState, *hops: PcieHop, **changes: Any) -> Pcie:
    """A GPU's way to the root port."""
    return Pcie(device, hops, bool(hops), **changes)


def board(slot: LinkState, root: LinkState | None = None, inside: LinkState | None = None, **changes: Any) -> Pcie:
    """A Radeon with the switch of its board: root port, the board's upstream port (the slot), its downstream port."""
    return path(
        inside or link(),
        hop("0000:00:01.1", root or slot),
        hop("0000:01:00.0", slot, "1002", "1478"),
        hop("0000:02:00.0", inside or link(), "1002", "1479"),
        **changes,
    )
