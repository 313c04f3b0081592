"""``rocdoctor list``: all checks, one line each, read without importing them; ``--tables`` how old the tables are."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass

from rocdoctor.cli.arguments import format_arguments
from rocdoctor.host import output
from rocdoctor.judging.loading import check_files, checks_folder, manual_of, name_of
from rocdoctor.service.options import Format, PrintOptions

HELP: str = "list all checks, one per line"
FORMATS: tuple[Format, ...] = ("text", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(PrintOptions):
    """The checks, or the tables that they judge by."""

    tables: bool = False


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    format_arguments(parser, FORMATS)
    parser.add_argument("--tables", action="store_true", help="list the tables of facts, and when each was last read")


def run(options: Options) -> int:
    """Print names and titles, or the ages of tables."""
    if options.tables:
        return _tables(options)
    rows = [(name_of(path), manual_of(path).strip().split("\n", 1)[0]) for path in check_files(checks_folder())]
    if options.format == "json":
        checks = [{"check": name, "title": title} for name, title in rows]
        output.data({"schema": "rocdoctor.list/1", "checks": checks})
        return 0
    wide = max((len(name) for name, _ in rows), default=0)
    output.show("".join(f"{name:<{wide}}  {title}\n" for name, title in rows))
    return 0


def _tables(options: Options) -> int:
    from rocdoctor.knowledge.ages import table_ages  # parses every table

    rows = table_ages()
    if options.format == "json":
        tables = [
            {
                "table": one.name,
                "newest": one.newest,
                "oldest": one.oldest,
                "sources": one.sources,
            }
            for one in rows
        ]
        output.data({"schema": "rocdoctor.tables/1", "tables": tables})
        return 0
    wide = max(len(one.name) for one in rows)
    lines = [f"{'table':<{wide}}  newest      oldest      sources, and those not verified"]
    for one in rows:
        memory = one.sources["not-verified"]
        told = f"{sum(one.sources.values())}" + (f", {memory} not verified" if memory else "")
        lines.append(f"{one.name:<{wide}}  {one.newest:<10}  {one.oldest:<10}  {told}")
    output.show("\n".join(lines) + "\n")
    return 0
