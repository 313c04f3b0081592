"""Waiting for processes of the far host to be gone."""

from __future__ import annotations

import os

from tests.sick.kit import marked, wait_until


def nothing_is_left(mark: str) -> None:
    """Wait until nothing that a test has started lives."""
    wait_until(lambda: not [pid for pid in marked(mark) if pid != os.getpid()])
