"""The commands: one module each, loaded when its command is run.

A command's module has ``HELP`` (its line in ``rocdoctor --help``), ``FORMATS`` (how it can print, the usual form
first), ``Options`` (what may be said to it, with the defaults), ``arguments(parser)`` (how that is written) and
``run(options)``, which returns the exit status. The lines stand here too, so that a cold start loads none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from rocdoctor.service.options import Format, PrintOptions

OptionsT = TypeVar("OptionsT", bound="PrintOptions")


class ListedCommand(NamedTuple):
    """A command as it stands in the list of all.

    ``apart``: it reads what may hang, of this machine or named to it, so it runs in a child that can be left behind.
    ``slow_to_stop``: an interrupt asks it for the result so far.
    """

    help: str
    apart: bool = True
    slow_to_stop: bool = False


class CommandModule(Protocol[OptionsT]):
    """The module of a command."""

    HELP: str
    FORMATS: tuple[Format, ...]
    Options: type[OptionsT]

    def arguments(self, parser: ArgumentParser) -> None:
        """Add the command's arguments to a parser that leaves out what is not given."""

    def run(self, options: OptionsT) -> int:
        """Do it and return the exit status; raises UsageError."""
        ...


COMMANDS: Mapping[str, ListedCommand] = {
    "check": ListedCommand("judge this machine, or evidence of another one"),
    "facts": ListedCommand("print what the machine is, as JSON or text"),
    "read": ListedCommand("diagnose pasted text: a bug report, a log (- for standard input)"),
    "lint": ListedCommand("judge the settings in scripts, profiles and job files, and the advice they follow"),
    "setup": ListedCommand(
        "what to do, in order, until this machine trains: steps, commands, and what is done already"
    ),
    "fix": ListedCommand("the commands that repair what check finds; --apply runs those that are safe"),
    "smoke": ListedCommand("prove that distributed training computes correctly, mode by mode", slow_to_stop=True),
    "recommend": ListedCommand("a training configuration for this machine, with reasons"),
    "estimate": ListedCommand("memory and speed of one training configuration"),
    "emit": ListedCommand("write a training configuration as files for launchers"),
    "bundle": ListedCommand("record the evidence in one text file that is safe to post"),
    "diff": ListedCommand("what differs between machines, or between two bundles of the same one"),
    "record": ListedCommand("write what this node of a fleet is and what is wrong with it, as a record of about 8 KB"),
    "fleet": ListedCommand("which of many nodes to drain and why, judged from the records of all nodes"),
    "gate": ListedCommand("say whether a job may start on this node, judged from its last record (for prologs)"),
    "explain": ListedCommand("the manual page of a check", apart=False),
    "list": ListedCommand("list all checks, one per line", apart=False),
    "tui": ListedCommand("the screens (also without a command on a terminal)", apart=False),
}


def command(name: str) -> CommandModule[PrintOptions]:
    """The module of a command; KeyError for a name that is none."""
    if name not in COMMANDS:
        raise KeyError(name)
    return cast("CommandModule[PrintOptions]", import_module(f"rocdoctor.cli.commands.{name}"))
