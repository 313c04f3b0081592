"""``rocdoctor list``: all checks, one line each, read without importing them."""

from __future__ import annotations

from argparse import ArgumentParser

from rocdoctor.cli.arguments import format_arguments
from rocdoctor.host import output
from rocdoctor.judging.loading import check_files, checks_folder, manual_of, name_of
from rocdoctor.service.options import Format, PrintOptions

HELP: str = "all checks in one line each"
FORMATS: tuple[Format, ...] = ("text", "json")
Options = PrintOptions


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    format_arguments(parser, FORMATS)


def run(options: PrintOptions) -> int:
    """Print names and titles."""
    rows = [(name_of(path), manual_of(path).strip().split("\n", 1)[0]) for path in check_files(checks_folder())]
    if options.format == "json":
        checks = [{"check": name, "title": title} for name, title in rows]
        output.data({"schema": "rocdoctor.list/1", "checks": checks})
        return 0
    wide = max((len(name) for name, _ in rows), default=0)
    output.show("".join(f"{name:<{wide}}  {title}\n" for name, title in rows))
    return 0
