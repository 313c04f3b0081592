"""``rocdoctor check``: judge a machine."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from rocdoctor.cli.arguments import Named, evidence_arguments, import_torch_argument, job_arguments
from rocdoctor.cli.main import EXIT_FINDINGS
from rocdoctor.collect import collect, collect_on_demand
from rocdoctor.host import output
from rocdoctor.host.base import Host
from rocdoctor.judging.check import Check
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.judging.loading import is_ours
from rocdoctor.judging.needs import look_at_torch
from rocdoctor.judging.next_steps import with_missing
from rocdoctor.model.facts import Expected, Machine
from rocdoctor.model.finding import SEVERITIES, Diagnosis
from rocdoctor.service.errors import UsageError
from rocdoctor.service.options import EvidenceOptions, Format
from rocdoctor.service.session import (
    Progress,
    chosen_checks,
    open_host,
    posted,
    print_json,
    read_from,
    rendered,
    subject_of,
)

HELP: str = "judge this machine, or evidence of another one"
FORMATS: tuple[Format, ...] = ("text", "json", "markdown", "junit")
Threshold = Literal["error", "warning", "info", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingOptions(EvidenceOptions):
    """Which checks judge, and from which severity on the exit status is 1 (None: not given)."""

    fail_on: Threshold | None = None
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(JudgingOptions):
    """``names`` are checks, as ``only`` has them; ``checks`` folders with more of them; ``profile`` a file."""

    checks: tuple[str, ...] = ()
    wake: bool = False
    names: tuple[str, ...] = ()
    import_torch: bool = False
    profile: str | None = None


def judging_arguments(parser: ArgumentParser) -> None:
    """Which checks judge, and what the exit status tells."""
    add = parser.add_argument
    add("--fail-on", choices=get_args(Threshold), help="exit 1 at this severity (error; info for checks by name)")
    add("--only", action="append", metavar="NAME", help="only these checks")
    add("--skip", action="append", metavar="NAME", help="not these checks")


def checks_argument(parser: ArgumentParser) -> None:
    """Folders of checks beside our own."""
    parser.add_argument("--checks", action="append", type=Named, metavar="DIR", help="more checks from this folder")


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    evidence_arguments(parser, FORMATS)
    judging_arguments(parser)
    checks_argument(parser)
    job_arguments(parser)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="checks to run (all)")
    import_torch_argument(parser)
    add("--profile", type=Named, metavar="FILE", help="what has changed since this profile was made (emit profile)")


def run(options: Options) -> int:
    """Collect, judge, print."""
    checks, problems = chosen_checks([*options.names, *options.only], options.skip, options.checks)
    progress = Progress(options.quiet)
    progress.say("asking the machine" if options.source is None else "reading the evidence")
    expected = _profile(options.profile)
    host = open_host(options)
    machine = _collected(options, host, checks, expected)
    progress.say("judging")
    diagnosis = with_missing(diagnose(machine, checks, [*problems, *read_from(host)]), host.kind)
    seconds = progress.done()
    show(options, host, diagnosis, seconds, {one.name: one.title for one in checks})
    return exit_code(diagnosis, options.fail_on, _asked(options))


def _collected(options: Options, host: Host, checks: Sequence[Check], expected: Expected | None = None) -> Machine:
    """The machine; for named checks only what they look at is asked."""
    if options.import_torch or host.kind != "live" or not (options.names or options.only):
        return replace(collect(host, options.import_torch, wake=options.wake), expected=expected)
    if not host.available() and all(is_ours(one.path) for one in checks):  # others have a deadline of their own
        return collect_on_demand(host, options.wake, expected)
    machine = collect(host, wake=options.wake, hold_torch=True)
    if machine.gpus and look_at_torch(checks, machine):
        machine = collect(host, wake=options.wake)  # what was asked is answered already
    return replace(machine, expected=expected)


def _asked(options: Options) -> frozenset[str]:
    """The checks whose every finding counts: those that were named; and torch, where an interpreter is named for it."""
    names = {name.replace("_", "-") for name in (*options.names, *options.only)}
    if options.import_torch or options.python is not None:
        names.add("torch-not-installed")
    return frozenset(names)


def _profile(name: str | None) -> Expected | None:
    """The profile that was given; raises UsageError for a file that is none."""
    if name is None:
        return None
    from rocdoctor.compare.expected import read_expected
    from rocdoctor.service.evidence import read_text

    origin = "standard input" if name == "-" else name
    expected, problem = read_expected(read_text(name), os.path.basename(origin))
    if problem:
        raise UsageError(f"{origin}: {problem}")
    return expected


def show(options: EvidenceOptions, host: Host, diagnosis: Diagnosis, seconds: float, titles: dict[str, str]) -> None:
    """Print a diagnosis in the format that the options name."""
    form = options.format
    diagnosis = posted(options, host, diagnosis)
    if form == "json":
        from rocdoctor.report.diagnosis.json_report import report

        subject = subject_of(options, host)
        print_json(report(diagnosis, subject, {"total_s": round(seconds, 3), "slowest": []}, titles))
    elif form == "junit":
        from rocdoctor.report.diagnosis.junit import render as render_junit

        output.show(render_junit(diagnosis))
    else:
        from rocdoctor.report.diagnosis.text import document

        output.show(rendered(options, document(diagnosis, quiet=options.quiet, verbose=options.verbose)))


def exit_code(diagnosis: Diagnosis, fail_on: Threshold | None, asked: frozenset[str] = frozenset()) -> int:
    """1 when a finding is at or above the threshold; without one also when a check that was asked for has a finding."""
    if fail_on is None and any(one.finding is not None and one.check in asked for one in diagnosis.verdicts):
        return EXIT_FINDINGS
    worst, least = diagnosis.worst, fail_on or "error"
    if worst is None or least == "never":
        return 0
    return EXIT_FINDINGS if SEVERITIES.index(worst) <= SEVERITIES.index(least) else 0
