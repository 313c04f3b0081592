"""``rocdoctor lint``: the settings in scripts, profiles, container and job files, and the false advice they follow."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocdoctor.cli.arguments import Named, evidence_arguments
from rocdoctor.cli.commands.check import JudgingOptions, Threshold, exit_code, judging_arguments
from rocdoctor.collect import collect
from rocdoctor.host import output
from rocdoctor.host.live.folder_names import TooManyNamesError, entries_of, is_folder
from rocdoctor.judging.diagnose import rank
from rocdoctor.knowledge.messages.advice import advice_named
from rocdoctor.lint.env_findings import CHECKS, judge
from rocdoctor.lint.linted_file import (
    Advised,
    advice_names,
    bounded,
    is_read,
    not_understood,
    read_advised,
    unsaid,
    wanted,
)
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Diagnosis, Verdict
from rocdoctor.model.printable import spelled
from rocdoctor.report.lint.lint_document import document
from rocdoctor.service.errors import InputError, UsageError, suggestion
from rocdoctor.service.evidence import read_text
from rocdoctor.service.options import Format
from rocdoctor.service.session import Progress, chosen_checks, open_host, print_json, rendered

HELP: str = "judge the settings in scripts, profiles and job files, and the advice they follow"
FORMATS: tuple[Format, ...] = ("text", "json", "markdown", "junit", "sarif")

_MAX_FILES = 20_000
_MOST_TOLD = 2 * 1024 * 1024
# Code of others is not what the user wrote.
_PASSED = frozenset((".git", "node_modules", "__pycache__", ".venv", "venv", "site-packages", "dist-packages"))


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
    files, notes, read = _files(options.files)
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
    sheets = [one.sheet for one in files if one.sheet is not None]
    judged = judge(sheets, machine, checks, named=options.source is not None)
    told = [] if only and not only_advice else [verdict for one in files for verdict in one.verdicts]
    told = unsaid(wanted(told, only_advice, skip_advice), judged)
    verdicts = _in_order([*told, *judged], files)
    titles = {one.name: one.title for one in checks}
    titles |= {one.check: advice.claim for one in told if (advice := advice_named(one.check)) is not None}
    diagnosis = Diagnosis(machine, tuple(verdicts), rank(verdicts), (), tuple(problems))
    if not options.include_identity:
        from rocdoctor.report.masked import Discretion, discreet

        diagnosis = discreet(diagnosis, Discretion(told=_told(files, verdicts)), places=False)
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


def _told(files: list[Advised], verdicts: list[Verdict]) -> str:
    """The texts of files that findings quote; what one of their lines tells may stand in any other."""
    named = {verdict.subject.name for verdict in verdicts if verdict.finding is not None}
    return "\n".join(one.text for one in files if one.path in named)[:_MOST_TOLD]


def _parted(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names of checks, and names of advice; ``advice`` stands for all of it."""
    usual = [name.replace("_", "-") for name in names]
    advice = [name for name in usual if name == "advice" or name.startswith("advice-")]
    known = {"advice", *advice_names()} if advice else set()
    for name in advice:
        if name not in known:
            raise UsageError(f"no advice '{name}'{suggestion(name, sorted(known))}; see docs/advice.md")
    return [name for name in usual if name not in advice], advice


def _in_order(verdicts: list[Verdict], files: list[Advised]) -> list[Verdict]:
    """Findings by file and line, then all else."""
    places = {one.path: number for number, one in enumerate(files)}

    def key(verdict: Verdict) -> tuple[int, int]:
        about = verdict.subject
        if verdict.finding is None or about.index is None or about.name not in places:
            return len(files), 0
        return places[about.name], about.index

    return sorted(verdicts, key=key)


def _files(names: Sequence[str]) -> tuple[list[Advised], list[str], int]:
    """What the files set and follow, a line for each that could not be read, and how many were."""
    files: list[Advised] = []
    notes: list[str] = []
    read = 0
    for name in names:
        if name != "-" and Path(name).is_dir():
            files += _of_folder(name, notes)
            read += 1
            continue
        try:
            text = _judged(name, read_text(name), notes)
        except InputError as error:
            notes.append(str(error))
            continue
        read += 1
        found = read_advised(name, text) if name != "-" else _piped(text)
        if found is None:
            notes.append(f"{spelled(name)}: {not_understood(name, text) or 'an unsupported file type'}")
        else:
            files.append(found)
    return files, notes, read


def _piped(text: str) -> Advised | None:
    found = read_advised("standard input", text, piped=True)
    return found if found is not None else read_advised("script.sh", text)


def _of_folder(folder: str, notes: list[str]) -> list[Advised]:
    """What is found in a folder; notes say what of it is not judged."""
    found: list[Advised] = []
    lost: list[str] = []
    for number, path in enumerate(_below(folder, notes)):
        if number == _MAX_FILES:
            notes.append(f"{spelled(folder)}: only its first {_MAX_FILES} files are judged")
            break
        one, why = _quiet(path, notes)
        if one is not None:
            found.append(one)
        elif why:
            lost.append(why)
    if lost:
        more = (
            "" if len(lost) == 1 else f" (not the only one: {len(lost)} files of {spelled(folder)} could not be read)"
        )
        notes.append(f"{lost[0]}{more}")
    return found


def _below(folder: str, notes: list[str]) -> Iterator[str]:
    todo = [folder]
    while todo:
        base = todo.pop()
        try:
            entries = sorted(entries_of(base), key=lambda one: one.name)
        except TooManyNamesError as error:
            notes.append(f"{spelled(base)}: {error.strerror}")
            continue
        except OSError:
            continue
        below = [one.name for one in entries if one.is_dir(follow_symlinks=False)]
        todo += [os.path.join(base, one) for one in reversed(below) if one not in _PASSED]
        for name in (one.name for one in entries if not is_folder(one)):
            # What a file is in a folder only its name says; others would have to be opened one by one.
            if is_read(str(Path(base, name))):
                yield str(Path(base, name))


def _judged(name: str, text: str, notes: list[str]) -> str:
    """The part of a file that is judged; a note where that is not all of it."""
    part = bounded(name, text)
    if len(part) < len(text):
        lines = part.count("\n")
        notes.append(f"{spelled(name)}: only its first {lines} lines are judged (it is larger than 512 KiB)")
    return part


def _quiet(path: str, notes: list[str]) -> tuple[Advised | None, str]:
    """A file of a folder, or why nothing is known of it; "" where it is no file to be read at all."""
    try:
        text = _judged(path, read_text(path), notes)
    except InputError as error:
        return None, str(error)
    found = read_advised(path, text)
    why = "" if found is not None else not_understood(path, text)
    return found, f"{spelled(path)}: {why}" if why else ""
