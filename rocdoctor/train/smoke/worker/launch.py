"""torchrun, as ``python -m torch.distributed.run`` starts it, that ends together with the process that wanted it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import runpy
import signal

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """``PARENT-PID TORCHRUN-ARGUMENT...``; torchrun ends its workers when it is told to terminate."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(arguments[0]):
        return 1
    import sys

    sys.argv[1:] = arguments[1:]
    runpy.run_module("torch.distributed.run", run_name="__main__", alter_sys=True)
    return 0
