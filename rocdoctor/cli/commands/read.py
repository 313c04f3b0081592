"""``rocdoctor read``: diagnose pasted text."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from dataclasses import dataclass, replace

from rocdoctor.cli.arguments import Named, evidence_arguments
from rocdoctor.cli.commands.check import JudgingOptions, checks_argument, exit_code, judging_arguments, show
from rocdoctor.host import output
from rocdoctor.report.diagnosis.json_report import report
from rocdoctor.service.options import Format
from rocdoctor.service.reading import judged, listing, named_parts, recognised, with_lines_of_text
from rocdoctor.service.session import chosen_checks, open_host, posted, print_json, rendered, subject_of

HELP: str = "diagnose pasted text: a bug report, a log (- for standard input)"
FORMATS: tuple[Format, ...] = ("text", "json", "markdown", "junit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(JudgingOptions):
    """``file`` is the text, ``checks`` folders with more checks."""

    checks: tuple[str, ...] = ()
    file: str


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    evidence_arguments(parser, FORMATS)
    judging_arguments(parser)
    checks_argument(parser)
    parser.add_argument("file", type=Named, metavar="FILE|-", help="the text")


def run(options: Options) -> int:
    """The same as ``check --from`` with the text named directly, and what was recognised in it."""
    options = replace(options, source=options.file)
    checks, problems = chosen_checks(options.only, options.skip, options.checks)
    began = time.monotonic()
    host = open_host(options)
    diagnosis = judged(host, checks, problems)
    parts = recognised(host)
    seconds = time.monotonic() - began
    titles = {one.name: one.title for one in checks}
    if options.format == "json":
        subject = subject_of(options, host)
        data = report(posted(options, host, diagnosis), subject, {"total_s": round(seconds, 3), "slowest": []}, titles)
        print_json({**data, "recognised": parts})
        return exit_code(diagnosis, options.fail_on)
    shown = posted(options, host, with_lines_of_text(diagnosis, host))
    if options.format == "markdown":
        from rocdoctor.report.diagnosis.reply import document as reply

        output.show(rendered(options, reply(shown, named_parts(parts))))
    elif options.format == "text" and host.kind == "text":
        from rocdoctor.report.diagnosis.text import document

        output.show(rendered(options, document(shown, quiet=options.quiet, verbose=options.verbose, pasted=True)))
        if not options.quiet:
            output.show(listing(parts))
    else:
        show(options, host, shown, seconds, titles)
    return exit_code(diagnosis, options.fail_on)
