"""``rocdoctor check``: judge a machine."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from rocdoctor.cli.main import EXIT_FINDINGS
from rocdoctor.collect import collect
from rocdoctor.host import output
from rocdoctor.host.base import Host
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.model.facts import Expected
from rocdoctor.model.finding import SEVERITIES, Diagnosis
from rocdoctor.service.errors import UsageError
from rocdoctor.service.evidence import read_text
from rocdoctor.service.session import (
    Progress,
    chosen_checks,
    colour_wanted,
    open_host,
    posted,
    print_json,
    read_from,
    wants,
    width,
)


def run(options: argparse.Namespace) -> int:
    """Collect, judge, print."""
    only = [*getattr(options, "names", []), *options.only]
    checks, problems = chosen_checks(only, options.skip, options.checks)
    progress = Progress(options.quiet)
    progress.say("asking the machine" if options.source is None else "reading the evidence")
    expected = _profile(getattr(options, "profile", None))
    host = open_host(options)
    machine = replace(
        collect(host, getattr(options, "import_torch", False), wake=getattr(options, "wake", False)), expected=expected
    )
    progress.say("judging")
    diagnosis = diagnose(machine, checks, [*problems, *read_from(host)])
    seconds = progress.done()
    show(options, host, diagnosis, seconds, {one.name: one.title for one in checks})
    return exit_code(diagnosis, options.fail_on)


def _profile(name: str | None) -> Expected | None:
    """The profile that was given; raises UsageError for a file that is none."""
    if name is None:
        return None
    from rocdoctor.compare.expected import read_expected

    origin = "standard input" if name == "-" else name
    expected, problem = read_expected(read_text(name), os.path.basename(origin))
    if problem:
        raise UsageError(f"{origin}: {problem}")
    return expected


def show(options: argparse.Namespace, host: Host, diagnosis: Diagnosis, seconds: float, titles: dict[str, str]) -> None:
    """Print a diagnosis in the format that the options name."""
    form = wants(options)
    diagnosis = posted(options, host, diagnosis)
    if form == "json":
        from rocdoctor.report.diagnosis.json_report import report

        subject = {"kind": host.kind, "origin": host.origin}
        print_json(report(diagnosis, subject, {"total_s": round(seconds, 3), "slowest": []}, titles))
    elif form == "markdown":
        from rocdoctor.report.diagnosis.markdown import render as render_markdown

        output.show(render_markdown(diagnosis))
    elif form == "junit":
        from rocdoctor.report.diagnosis.junit import render as render_junit

        output.show(render_junit(diagnosis))
    else:
        from rocdoctor.report.diagnosis.text import render

        colour = colour_wanted(options)
        output.show(render(diagnosis, width=width(), colour=colour, quiet=options.quiet, verbose=options.verbose))


def exit_code(diagnosis: Diagnosis, fail_on: str) -> int:
    """1 when a finding is at or above the threshold."""
    worst = diagnosis.worst
    if worst is None or fail_on == "never":
        return 0
    return EXIT_FINDINGS if SEVERITIES.index(worst) <= SEVERITIES.index(fail_on) else 0
