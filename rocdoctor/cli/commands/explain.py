"""``rocdoctor explain``: the manual page of whatever a finding is named after."""

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
    """What a finding is named after."""

    name: str


def arguments(parser: ArgumentParser) -> None:
    """How it is written."""
    format_arguments(parser, FORMATS)
    parser.add_argument(
        "name", metavar="NAME", help="a check, or what else a finding is named after: fleet-..., advice-..., a cause"
    )


def run(options: Options) -> int:
    """Print the page."""
    output.show(page(options.name))
    return 0
