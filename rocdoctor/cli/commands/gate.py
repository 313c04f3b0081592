"""``rocdoctor gate``: whether a job may start on this node, from its last record; made for prologs."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser
from dataclasses import dataclass

from rocdoctor.cli.arguments import format_arguments
from rocdoctor.cli.main import EXIT_FINDINGS
from rocdoctor.fleet.boot import GateAnswer, gate
from rocdoctor.host import output
from rocdoctor.host.live.patience import RUN
from rocdoctor.model.printable import spelled
from rocdoctor.service.node_places import record_folder, record_name
from rocdoctor.service.options import Format, PrintOptions

HELP: str = "say whether a job may start on this node, judged from its last record (for prologs)"
FORMATS: tuple[Format, ...] = ("text",)
_MINUTES = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(PrintOptions):
    """Where the record lies, and how old it may be in minutes."""

    record: str | None = None
    max_age: int = _MINUTES


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    format_arguments(parser, FORMATS)
    told = "the record, or the folder of records (where record writes it)"
    parser.add_argument("--record", metavar="FILE|DIR", help=told)
    told = f"ignore a record older than this ({_MINUTES} minutes)"
    parser.add_argument("--max-age", type=int, metavar="MINUTES", help=told)


def run(options: Options) -> int:
    """One line, and 1 where a fault is certain. Nothing is asked but two files and one folder."""
    path = options.record or record_folder()

    def look() -> GateAnswer:
        record = os.path.join(path, record_name()) if os.path.isdir(path) else path
        return gate(record, time.time(), options.max_age * 60.0)

    # A prolog that waits for a dead mount would hold the job, and with it the node.
    answer = RUN.look(path, look) or GateAnswer(True, f"{spelled(path)} gave no answer", False)
    state = "open" if answer.open else "closed"
    output.line(f"{state}{'' if answer.known else ' (not known)'}: {answer.why}")
    return 0 if answer.open else EXIT_FINDINGS
