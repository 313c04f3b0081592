"""All machines of ``fixtures/`` that are built, not recorded."""

from __future__ import annotations

from collections.abc import Callable

from tests.machines import enclosed, guests, instinct, radeon
from tests.machines.files import Files

MACHINES: tuple[Callable[[], Files], ...] = (*instinct.MACHINES, *radeon.MACHINES, *enclosed.MACHINES, *guests.MACHINES)
