"""``rocdoctor read``: diagnose pasted text."""

from __future__ import annotations

import argparse
import time

from rocdoctor.cli.commands.check import exit_code, show
from rocdoctor.host import output
from rocdoctor.report.diagnosis.json_report import report
from rocdoctor.service.reading import judged, listing, named_parts, recognised, with_lines_of_text
from rocdoctor.service.session import (
    chosen_checks,
    colour_wanted,
    open_host,
    posted,
    print_json,
    wants,
    width,
)


def run(options: argparse.Namespace) -> int:
    """The same as ``check --from`` with the text named directly, and what was recognised in it."""
    options.source = options.file
    checks, problems = chosen_checks(options.only, options.skip, options.checks)
    began = time.monotonic()
    host = open_host(options)
    diagnosis = judged(host, checks, problems)
    parts = recognised(host)
    seconds = time.monotonic() - began
    titles = {one.name: one.title for one in checks}
    if wants(options) == "json":
        subject = {"kind": host.kind, "origin": host.origin}
        data = report(posted(options, host, diagnosis), subject, {"total_s": round(seconds, 3), "slowest": []}, titles)
        print_json({**data, "recognised": parts})
        return exit_code(diagnosis, options.fail_on)
    shown = posted(options, host, with_lines_of_text(diagnosis, host))
    if wants(options) == "markdown":
        from rocdoctor.report.diagnosis.reply import render

        output.show(render(shown, named_parts(parts)))
    elif wants(options) == "text" and host.kind == "text":
        from rocdoctor.report.diagnosis.text import render as render_text

        output.show(
            render_text(
                shown, width=width(), colour=colour_wanted(options), quiet=options.quiet, verbose=options.verbose,
                pasted=True,
            )
        )  # fmt: skip
        if not options.quiet:
            output.show(listing(parts))
    else:
        show(options, host, shown, seconds, titles)
    return exit_code(diagnosis, options.fail_on)
