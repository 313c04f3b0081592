"""``rocdoctor explain``: the manual page of a check, read without importing it, or of a piece of advice."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass

from rocdoctor.cli.arguments import format_arguments
from rocdoctor.host import output
from rocdoctor.service.manual_pages import page
from rocdoctor.service.options import Format, PrintOptions

HELP: str = "the manual page of a check"
FORMATS: tuple[Format, ...] = ("text",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(PrintOptions):
    """A check, or a piece of advice."""

    name: str


def arguments(parser: ArgumentParser) -> None:
    """How it is written."""
    format_arguments(parser, FORMATS)
    parser.add_argument("name", metavar="NAME", help="a check, or advice-<id>")


def run(options: Options) -> int:
    """Print the page."""
    output.show(page(options.name))
    return 0
