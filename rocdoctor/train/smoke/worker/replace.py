"""Becomes another program that ends when the one that started it ends: ``replace PROGRAM ARGUMENT ...``."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Does not return; the setting outlives the change of program."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    os.execvp(arguments[0], arguments)
