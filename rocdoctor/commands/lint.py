"""``rocdoctor lint``: the environment settings in scripts, profiles, container and job files."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from rocdoctor.check import Verdict
from rocdoctor.cli import UsageError
from rocdoctor.collect import collect
from rocdoctor.commands.check import exit_code
from rocdoctor.commands.common import Progress, chosen_checks, colour_wanted, open_host, print_json, wants, width
from rocdoctor.diagnose import Diagnosis, rank
from rocdoctor.facts import Machine
from rocdoctor.host.open import InputError, read_text
from rocdoctor.lint.files import kind_of, read_sheet
from rocdoctor.lint.judge import CHECKS, judge
from rocdoctor.lint.scopes import Sheet
from rocdoctor.report.lint_text import render

_MAX_FILES = 20_000
_PASSED = frozenset((".git", "node_modules", "__pycache__", ".venv"))


def run(options: argparse.Namespace) -> int:
    """Read the files, judge their settings on the machine, print. Without --fail-on the exit status tells nothing."""
    began = time.monotonic()
    checks, problems = chosen_checks(options.only or CHECKS, options.skip)
    sheets, notes, read = _sheets(options.files)
    if not read:
        raise UsageError(notes[0] if notes else "no file to read")
    for note in notes:
        print(f"rocdoctor: {note}", file=sys.stderr)
    machine = Machine()
    if not options.no_machine:
        progress = Progress(options.quiet)
        progress.say("asking the machine" if options.source is None else "reading the evidence")
        machine = collect(open_host(options))
        progress.done()
    verdicts = judge(sheets, machine, checks, named=options.source is not None)
    titles = {one.name: one.title for one in checks}
    diagnosis = Diagnosis(machine, tuple(verdicts), rank(verdicts), (), tuple(problems))
    _show(options, diagnosis, titles, len(sheets), time.monotonic() - began)
    return exit_code(diagnosis, options.fail_on)


def _show(
    options: argparse.Namespace, diagnosis: Diagnosis, titles: dict[str, str], count: int, seconds: float
) -> None:
    form = wants(options)
    verdicts: tuple[Verdict, ...] = diagnosis.verdicts
    if form == "json":
        from rocdoctor.report.json_report import report

        subject = {"kind": "text", "origin": ", ".join(options.files)[:500]}
        print_json(report(diagnosis, subject, {"total_s": round(seconds, 3), "slowest": []}, titles))
    elif form == "sarif":
        from rocdoctor.report.sarif import render as render_sarif

        sys.stdout.write(render_sarif(verdicts, titles))
    elif form == "junit":
        from rocdoctor.report.junit import render as render_junit

        sys.stdout.write(render_junit(diagnosis))
    else:
        colour = colour_wanted(options) and form == "text"
        sys.stdout.write(render(verdicts, count, width=width(), colour=colour, markdown=form == "markdown"))


def _sheets(names: list[str]) -> tuple[list[Sheet], list[str], int]:
    """What the files set, a line for each that could not be read or is no kind that is read, and how many were."""
    sheets: list[Sheet] = []
    notes: list[str] = []
    read = 0
    for name in names:
        if name != "-" and Path(name).is_dir():
            found = [sheet for path in _below(name) if (sheet := _quiet(path)) is not None]
            sheets += found
            read += 1
            continue
        try:
            text = read_text(name)
        except InputError as error:
            notes.append(str(error))
            continue
        read += 1
        sheet = read_sheet(name, text) if name != "-" else _piped(text)
        if sheet is None:
            notes.append(f"{name}: no file that sets variables, as far as this release reads them")
        else:
            sheets.append(sheet)
    return sheets, notes, read


def _piped(text: str) -> Sheet | None:
    name = "script.sh" if kind_of("standard input", text) is None else "standard input"
    return read_sheet(name, text)


def _below(folder: str) -> Iterator[str]:
    count = 0
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in _PASSED)
        for name in sorted(files):
            # What a file is in a folder only its name says; others would have to be opened one by one.
            if kind_of(name, "") is not None:
                count += 1
                if count > _MAX_FILES:
                    return
                yield str(Path(base, name))


def _quiet(path: str) -> Sheet | None:
    try:
        return read_sheet(path, read_text(path))
    except InputError:
        return None
