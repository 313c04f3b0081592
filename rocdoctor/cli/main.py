"""The command line: arguments in, exit code out. Each command lives in ``rocdoctor.cli.commands``."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence

from rocdoctor import __version__
from rocdoctor.cli.arguments import Parser, options_of, places_in
from rocdoctor.cli.commands import COMMANDS, command
from rocdoctor.host import output
from rocdoctor.host.live.accounts import expanded
from rocdoctor.host.live.patience import DEADLINE_S, RUN
from rocdoctor.knowledge.kept_code import use_kept_code
from rocdoctor.service.errors import UsageError, suggestion

DESCRIPTION = "Diagnose this machine for GPU training: what it is, what is wrong, what to do first."
EXIT_FINDINGS, EXIT_USAGE, EXIT_BROKEN = 1, 2, 3


def _overview() -> Parser:
    """The parser that answers ``--help`` and ``--version``; building it loads no command."""
    top = Parser(
        prog="rocdoctor",
        description=DESCRIPTION,
        epilog="Exit status: 0 nothing found, 1 findings at or above --fail-on, 2 wrong usage, 3 rocdoctor broke.",
    )
    top.add_argument("--version", action="version", version=f"rocdoctor {__version__}")
    commands = top.add_subparsers(metavar="COMMAND")
    for name, line in COMMANDS.items():
        commands.add_parser(name, help=line.help)
    return top


def run(arguments: Sequence[str], stopped: Callable[[], int | None] = lambda: None) -> int:
    """Run one command line and return its exit code; never shows a traceback unless ROCDOCTOR_DEBUG is set.

    ``stopped`` tells the signal that asked for an end, if one did: what breaks after that broke because of it.
    """
    _prepare_streams()
    try:
        code = _run(list(arguments))
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader (head, less) has seen enough
        _drop_output()
        return 0
    except KeyboardInterrupt:
        output.note("interrupted")
        return 130
    except OSError as error:
        if error.errno == errno.ENOSPC:
            _drop_output()
            output.note(f"cannot write: {error.strerror}")
            return EXIT_USAGE
        if not _named(error, arguments):
            return _broke(error)
        output.note(f"{str(error.filename)[:300]}: {error.strerror}")
        return EXIT_USAGE
    except Exception as error:
        number = stopped()
        return _broke(error) if number is None else 128 + number


def _named(error: OSError, arguments: Sequence[str]) -> bool:
    """Whether it is about a file that the user named, or something in it: a closed folder is no fault of ours."""
    file = os.fspath(error.filename) if isinstance(error.filename, str | bytes | os.PathLike) else ""
    places = [one.partition("=")[2] if one.startswith("--") else one for one in arguments[1:]]
    places = [os.path.abspath(expanded(place)) for place in places if place]
    found = os.path.abspath(os.fsdecode(file)) if file else ""
    return any(found == place or found.startswith(f"{place.rstrip('/')}/") for place in places)


def _run(arguments: list[str]) -> int:
    from rocdoctor.cli.terminal import screens_or_report

    try:
        arguments, why = screens_or_report(arguments)
        if why:
            output.note(f"{why}: the report as text instead of the screens")
        name, rest = arguments[0], arguments[1:]
        if name not in COMMANDS:
            if not name.startswith("-"):
                raise UsageError(f"no command '{name}'{suggestion(name, list(COMMANDS))}; see rocdoctor --help")
            _overview().parse_args(arguments)
            return EXIT_USAGE
        ended = use_kept_code(name)
        try:
            chosen = command(name)
            options = options_of(name, chosen, rest)
            RUN.begin(getattr(options, "timeout", None) or DEADLINE_S)
            _answering(places_in(options), COMMANDS[name].apart)
            code = chosen.run(options)
        finally:
            ended()
        for folder in RUN.silent:
            output.note(f"{_from_home(folder)} gave no answer: nothing was looked up there")
        return code
    except UsageError as error:
        output.note(str(error))
        return EXIT_USAGE


def _answering(places: Sequence[str], apart: bool) -> None:
    """Raises UsageError where a file or folder that was named gives no answer: reading it would wait for ever.

    ``apart``: this process is a child already.
    """
    if not places:
        return
    from rocdoctor.host.live.silent_places import no_answer, silent_place, silent_place_apart

    look = silent_place if apart else silent_place_apart
    if silent := look(places, RUN.whole_s):
        raise UsageError(no_answer(silent, RUN.whole_s))


def _from_home(path: str) -> str:
    """A path without the name of the one who asks."""
    home = expanded("~")
    return f"~{path[len(home) :]}" if f"{path}/".startswith(f"{home}/") else path


def _prepare_streams() -> None:
    """Output that any stream takes: a character that its encoding lacks is written as an escape sequence."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Let the interpreter's own flush at its end go nowhere."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _broke(error: Exception) -> int:
    if os.environ.get("ROCDOCTOR_DEBUG"):
        raise error
    if isinstance(error, MemoryError):
        output.note("out of memory")
    else:
        what = f"{type(error).__name__}: {error}"
        output.note(f"{what[:300]} (ROCDOCTOR_DEBUG=1 shows where; please report it)", "rocdoctor broke:")
    return EXIT_BROKEN
