"""``rocdoctor explain``: the manual page of any name that a finding can have."""

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
    """The name of a check, finding or root cause."""

    name: str


def arguments(parser: ArgumentParser) -> None:
    """How it is written."""
    format_arguments(parser, FORMATS)
    parser.add_argument(
        "name", metavar="NAME", help="a check, or another name from a finding: fleet-..., advice-..., or a root cause"
    )


def run(options: Options) -> int:
    """Print the page."""
    output.show(page(options.name))
    return 0
