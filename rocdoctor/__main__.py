"""The program's entry: arguments in, exit code out."""

from __future__ import annotations

import contextlib
import gc
import signal
import sys
from typing import NoReturn


def main() -> None:
    """Run the command line; the exit code is the process's."""
    # A run makes many objects and few cycles: looked for at the usual pace they cost a tenth of the time.
    gc.set_threshold(100_000, 10, 10)
    from rocdoctor.cli import run

    for name in ("SIGTERM", "SIGHUP"):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            if signal.getsignal(getattr(signal, name)) is signal.SIG_DFL:  # nohup ignores it, and so it stays
                signal.signal(getattr(signal, name), _stop)
    sys.exit(run(sys.argv[1:]))


def _stop(number: int, _: object) -> NoReturn:
    """End as an interrupt does: what was started is ended first."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
