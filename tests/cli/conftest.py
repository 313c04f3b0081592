"""Commands are asked what they say of plans; how these are found is tested elsewhere."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _plans_once(plans_once: None) -> None:
    """Each plan is searched once a process."""
