"""How options are written on the command line: the parser, and the arguments that several commands have."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from rocdoctor.service.errors import UsageError

if TYPE_CHECKING:
    from rocdoctor.cli.commands import CommandModule
    from rocdoctor.service.options import Format, PrintOptions

    OptionsT = TypeVar("OptionsT", bound=PrintOptions)


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are UsageErrors."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def options_of(name: str, command: CommandModule[OptionsT], arguments: Sequence[str]) -> OptionsT:
    """The options of a command from its arguments; raises UsageError. What is not given has its default there."""
    words = command.HELP[0].upper() + command.HELP[1:] + "."
    parser = Parser(prog=f"rocdoctor {name}", description=words, argument_default=argparse.SUPPRESS)
    command.arguments(parser)
    given = vars(parser.parse_args(arguments))
    values: dict[str, Any] = {key: tuple(one) if isinstance(one, list) else one for key, one in given.items()}
    return command.Options(**values)


class _Json(argparse.Action):
    """``--json``: short for ``--format json``; where both are given, ``--format`` decides."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        choices = list(self.choices or ())
        if "json" not in choices:
            names = ", ".join(map(repr, choices))
            raise argparse.ArgumentError(self, f"invalid choice: 'json' (choose from {names})")
        if not hasattr(namespace, self.dest):
            setattr(namespace, self.dest, "json")


def format_arguments(parser: argparse.ArgumentParser, formats: Sequence[Format]) -> None:
    """How the command prints; a command of one form names no choice, and refuses others as any command does."""
    one = len(formats) == 1
    parser.add_argument(
        "--json",
        action=_Json,
        dest="format",
        nargs=0,
        choices=formats,
        help=argparse.SUPPRESS if one else "short for --format json",
    )
    parser.add_argument(
        "--format", choices=formats, help=argparse.SUPPRESS if one else f"how results are printed ({formats[0]})"
    )


def evidence_arguments(parser: argparse.ArgumentParser, formats: Sequence[Format]) -> None:
    """Which evidence is read, how it is asked for, and how results are printed; without formats there is no choice."""
    add = parser.add_argument
    add(
        "--from",
        dest="source",
        type=Named,
        metavar="FILE|DIR|-",
        help="evidence instead of this machine: bundle, folder or archive",
    )
    add("--add", action="append", type=Named, metavar="FILE", help="additional evidence, such as a kernel log")
    add("--python", metavar="PATH", help="the interpreter whose torch is examined")
    add(
        "--trust-interpreter",
        action="store_true",
        help="as root: run that interpreter as root even if others can change it",
    )
    if formats:
        format_arguments(parser, formats)
    told = "time limit per query in seconds (5, plus half a second for each GPU beyond 4)"
    add("--timeout", type=seconds, metavar="S", help=told)
    add("--include-identity", action="store_true", help="do not mask host names, users and addresses")
    add("--no-color", action="store_true", help="no colours (NO_COLOR does the same)")
    add("--quiet", action="store_true", help="print findings only")
    add("--verbose", action="store_true", help="also list checks that passed or are unknown")


def job_arguments(parser: argparse.ArgumentParser) -> None:
    """A running job, and GPUs that sleep: of commands that look at the live machine closely."""
    told = "judge this running job: its environment, limits, devices and state"
    parser.add_argument("--pid", type=_pid, metavar="PID", help=told)
    told = "ask the vendor's tools even if that wakes a sleeping GPU (default: left asleep)"
    parser.add_argument("--wake", action="store_true", help=told)


def import_torch_argument(parser: argparse.ArgumentParser) -> None:
    """Whether torch is imported where no GPU asks for it."""
    parser.add_argument("--import-torch", action="store_true", help="import torch even if no GPU is seen")


class Named(str):
    """A file or folder of this machine that is named: before the command begins, it is seen that it answers."""

    __slots__ = ()

    def __new__(cls, text: str) -> Any:
        """argparse passes a default through the type too: the one that means "not given" stays what it is."""
        return text if text is argparse.SUPPRESS else super().__new__(cls, text)

    def paths(self) -> list[str]:
        """What it may name; ``--add`` takes QUESTION=FILE as well."""
        file = self.partition("=")[2]
        return [] if self == "-" else [str(self), file] if file else [str(self)]


def places_in(options: object) -> list[str]:
    """The files and folders that the options of a command name."""
    values = (getattr(options, one.name) for one in fields(options)) if is_dataclass(options) else ()
    named = (one for value in values for one in (value if isinstance(value, tuple) else (value,)))
    return [path for one in named if isinstance(one, Named) for path in one.paths()]


def seconds(text: str) -> float:
    """A deadline from the command line."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.05 <= value <= 3600:  # also false for "nan"
        raise argparse.ArgumentTypeError(f"'{text}' is not a time between 0.05 and 3600 seconds")
    return value


def _pid(text: str) -> int:
    """The number of a process from the command line."""
    if not text.isascii() or not text.isdecimal() or not 0 < int(text[:12]) < 2**31:
        raise argparse.ArgumentTypeError(f"'{text}' is not a process number")
    return int(text)


def whole_seconds(text: str) -> int:
    """A time from the command line, in whole seconds."""
    return _number(text, 3600, "a number of seconds from 1 to 3600")


def how_many(text: str) -> int:
    """How many, from the command line."""
    return _number(text, 10_000, "a number from 1 to 10000")


def _number(text: str, most: int, what: str) -> int:
    if not (text.isdecimal() and len(text) <= 9 and 1 <= int(text) <= most):
        raise argparse.ArgumentTypeError(f"'{text}' is not {what}")
    return int(text)


def percent(text: str) -> float:
    """A share from the command line, in percent."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"'{text}' is not a percentage")
    return value
