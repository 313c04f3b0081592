"""The program's entry: arguments in, exit code out."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import time
from collections.abc import Sequence
from importlib.util import cache_from_source
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocdoctor.cli.commands import ListedCommand

# Signals that follow the first one this soon are part of it: they would only break its clearing up.
_SAME_S = 1.0


class Stopped(BaseException):
    """A request to end; not one of the exceptions that anything but the entry catches."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Stop:
    """Ends the command as an interrupt does: what was started is ended first, and no second signal breaks that."""

    def __init__(self) -> None:
        self.at: float | None = None
        self.number: int | None = None
        self.ending = False

    def __call__(self, number: int, _: object) -> None:
        now = time.monotonic()
        if self.ending or (self.at is not None and now - self.at < _SAME_S):
            return
        self.at, self.number = now, number
        raise KeyboardInterrupt if number == signal.SIGINT else Stopped(number)

    def install(self) -> None:
        """What is ignored (as nohup wants it) stays ignored."""
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
            with contextlib.suppress(AttributeError, ValueError, OSError):
                number = getattr(signal, name)
                if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                    signal.signal(number, self)


def main() -> None:
    """Run the command line; the exit code is the process's."""
    # A run makes many objects and few cycles: looked for at the usual pace they cost a tenth of the time.
    gc.set_threshold(400_000, 10, 10)
    # PYTHONINTMAXSTRDIGITS=0 lifts it: then a number of millions of digits in a file takes half a minute.
    if hasattr(sys, "set_int_max_str_digits"):  # from Python 3.10.7 on
        sys.set_int_max_str_digits(sys.int_info.default_max_str_digits)
    keep_to_ourselves()
    arguments = sys.argv[1:]
    try:
        line = listed(arguments)
        if line is not None and line.apart:
            from rocdoctor.host.supervised.command_child import possible, run_apart

            if possible():
                run_apart(lambda: _run(arguments), line.slow_to_stop)
    except KeyboardInterrupt:  # before anybody listened for it
        sys.exit(128 + signal.SIGINT)
    sys.exit(_run(arguments))


def keep_to_ourselves() -> None:
    """Nobody else may write to what we make; into what root makes, the group may not either.

    Under a umask of 0, as some services have it, Python makes the folders of its byte code for everybody to write to:
    whoever put a file there had it run by the next one.
    """
    if not hasattr(os, "geteuid"):
        return
    os.umask(os.umask(0o077) | (0o022 if os.geteuid() == 0 else 0o002))
    with contextlib.suppress(OSError, TypeError):  # the one beside this file was made before its first line
        folder = os.path.dirname(cache_from_source(__file__))
        mode = os.stat(folder).st_mode
        if mode & 0o002:
            os.chmod(folder, mode & 0o7775)


def listed(arguments: Sequence[str]) -> ListedCommand | None:
    """The command of a command line, as it stands in the list of all; None for one that only wants to be told."""
    if any(one.split("=")[0] in ("--help", "-h", "--version") for one in arguments):
        return None
    from rocdoctor.cli.commands import COMMANDS
    from rocdoctor.cli.terminal import screens_or_report

    return COMMANDS.get(screens_or_report(arguments)[0][0])


def _run(arguments: Sequence[str]) -> int:
    stop = Stop()
    try:
        stop.install()
        from rocdoctor.cli.main import run

        return run(arguments, lambda: stop.number)
    except Stopped as stopped:
        return 128 + stopped.number
    except KeyboardInterrupt:  # while modules were loaded, or where nobody else met it
        return 128 + signal.SIGINT
    finally:
        stop.ending = True


if __name__ == "__main__":
    main()
