"""``rocdoctor lint``: the settings in scripts, profiles, container and job files, and the false advice they follow."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass

from rocdoctor.cli.arguments import Named, evidence_arguments
from rocdoctor.cli.commands.check import JudgingOptions, Threshold, exit_code, judging_arguments
from rocdoctor.collect import collect
from rocdoctor.host import output
from rocdoctor.knowledge.messages.advice import advice_named
from rocdoctor.lint.env_findings import CHECKS
from rocdoctor.lint.linted_file import advice_names, wanted
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Diagnosis, Verdict
from rocdoctor.report.lint.lint_document import document
from rocdoctor.service.errors import UsageError, suggestion
from rocdoctor.service.linting import judged, read_files
from rocdoctor.service.options import Format
from rocdoctor.service.session import Progress, chosen_checks, open_host, print_json, rendered

HELP: str = "judge the settings in scripts, profiles and job files, and the advice they follow"
FORMATS: tuple[Format, ...] = ("text", "json", "markdown", "junit", "sarif")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(JudgingOptions):
    """``files`` are files and folders; ``no_machine``: the text alone is judged."""

    fail_on: Threshold | None = "never"
    files: tuple[str, ...]
    no_machine: bool = False


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    evidence_arguments(parser, FORMATS)
    judging_arguments(parser)
    add = parser.add_argument
    add(
        "files",
        nargs="+",
        type=Named,
        metavar="FILE|DIR|-",
        help="scripts, Python, .env files, Dockerfiles, YAML, job files",
    )
    add("--no-machine", action="store_true", help="judge only the text, not this machine")


def run(options: Options) -> int:
    """Read the files, judge their settings on the machine, print. Without --fail-on the exit status tells nothing."""
    began = time.monotonic()
    only, only_advice = _parted(options.only)
    skip, skip_advice = _parted(options.skip)
    checks, problems = chosen_checks(only or CHECKS, skip) if only or not only_advice else ([], [])
    files, notes, read = read_files(options.files)
    if not read:
        raise UsageError(notes[0] if notes else "no file to read")
    for note in notes:
        output.note(note)
    machine = Machine()
    if not options.no_machine:
        progress = Progress(options.quiet)
        progress.say("asking the machine" if options.source is None else "reading the evidence")
        machine = collect(open_host(options))
        progress.done()
    told = [] if only and not only_advice else [verdict for one in files for verdict in one.verdicts]
    told = wanted(told, only_advice, skip_advice)
    named, masked = options.source is not None, not options.include_identity
    diagnosis = judged(files, told, machine, (checks, problems), named, masked)
    titles = {one.name: one.title for one in checks}
    advised = ((one.check, advice_named(one.check)) for one in told)
    titles |= {name: advice.claim for name, advice in advised if advice is not None}
    _show(options, diagnosis, titles, len(files), time.monotonic() - began)
    return exit_code(diagnosis, options.fail_on)


def _show(options: Options, diagnosis: Diagnosis, titles: dict[str, str], count: int, seconds: float) -> None:
    form = options.format
    verdicts: tuple[Verdict, ...] = diagnosis.verdicts
    if form == "json":
        from rocdoctor.report.diagnosis.json_report import report

        subject = {"kind": "text", "origin": ", ".join(options.files)[:500]}
        print_json(report(diagnosis, subject, {"total_s": round(seconds, 3), "slowest": []}, titles))
    elif form == "sarif":
        from rocdoctor.report.diagnosis.sarif import render as render_sarif

        output.structured(render_sarif(verdicts, titles))
    elif form == "junit":
        from rocdoctor.report.diagnosis.junit import render as render_junit

        output.show(render_junit(diagnosis))
    else:
        output.show(rendered(options, document(verdicts, count)))


def _parted(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names of checks, and names of advice; ``advice`` stands for all of it."""
    usual = [name.replace("_", "-") for name in names]
    advice = [name for name in usual if name == "advice" or name.startswith("advice-")]
    known = {"advice", *advice_names()} if advice else set()
    for name in advice:
        if name not in known:
            raise UsageError(f"no advice '{name}'{suggestion(name, sorted(known))}; see docs/advice.md")
    return [name for name in usual if name not in advice], advice
