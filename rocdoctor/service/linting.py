"""Linting files: reading what they set and follow, and judging it on a machine. Commands and screens share it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from rocdoctor.host.live.folder_names import TooManyNamesError, entries_of, is_folder
from rocdoctor.judging.check import Check
from rocdoctor.judging.diagnose import rank
from rocdoctor.lint.env_findings import CHECKS, judge
from rocdoctor.lint.linted_file import Advised, bounded, is_read, not_understood, read_advised, unsaid
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Diagnosis, Verdict
from rocdoctor.model.printable import spelled
from rocdoctor.service.errors import InputError
from rocdoctor.service.evidence import read_text
from rocdoctor.service.session import chosen_checks

_MAX_FILES = 20_000
_MOST_LOOKED_AT = 200_000  # names of one folder and all below it: more than the largest trees of sources have
_MOST_TEXT = 64 * 1024 * 1024  # characters of a folder's files
_MOST_TOLD = 2 * 1024 * 1024
# Code of others is not what the user wrote.
_PASSED = frozenset((".git", "node_modules", "__pycache__", ".venv", "venv", "site-packages", "dist-packages"))


def judged(
    files: Sequence[Advised],
    told: Sequence[Verdict],
    machine: Machine,
    chosen: tuple[Sequence[Check], Sequence[str]],
    named: bool,
    masked: bool = True,
) -> Diagnosis:
    """What is found in files on a machine: by checks, and ``told`` by advice that they follow.

    ``chosen``: the checks, and the problems of loading them; ``named``: the machine is not this one.
    """
    checks, problems = chosen
    sheets = [one.sheet for one in files if one.sheet is not None]
    found = judge(sheets, machine, checks, named=named)
    verdicts = in_order([*unsaid(list(told), found), *found], files)
    diagnosis = Diagnosis(machine, tuple(verdicts), rank(verdicts), (), tuple(problems))
    if not masked:
        return diagnosis
    from rocdoctor.report.masked import Discretion, discreet

    return discreet(diagnosis, Discretion(told=told_texts(files, verdicts)), places=False)


def lint(files: Sequence[Advised], machine: Machine, named: bool) -> Diagnosis:
    """All checks and all advice, as the command has them where nobody chooses."""
    told = [verdict for one in files for verdict in one.verdicts]
    return judged(files, told, machine, chosen_checks(CHECKS, ()), named)


def told_texts(files: Sequence[Advised], verdicts: Sequence[Verdict]) -> str:
    """The texts of files that findings quote; what one of their lines tells may stand in any other."""
    named = {verdict.subject.name for verdict in verdicts if verdict.finding is not None}
    return "\n".join(one.text for one in files if one.path in named)[:_MOST_TOLD]


def in_order(verdicts: Sequence[Verdict], files: Sequence[Advised]) -> list[Verdict]:
    """Findings by file and line, then all else."""
    places = {one.path: number for number, one in enumerate(files)}

    def key(verdict: Verdict) -> tuple[int, int]:
        about = verdict.subject
        if verdict.finding is None or about.index is None or about.name not in places:
            return len(files), 0
        return places[about.name], about.index

    return sorted(verdicts, key=key)


def read_files(names: Sequence[str]) -> tuple[list[Advised], list[str], int]:
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
    length = 0
    for number, path in enumerate(_below(folder, notes)):
        if number == _MAX_FILES or length >= _MOST_TEXT:
            notes.append(f"{spelled(folder)}: only its first {number} files are judged; name the folders that matter")
            break
        one, why, read = _quiet(path, notes)
        length += read
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
    todo, seen = [folder], 0
    while todo:
        base = todo.pop()
        try:
            entries = sorted(entries_of(base), key=lambda one: one.name)
        except TooManyNamesError as error:
            notes.append(f"{spelled(base)}: {error.strerror}")
            continue
        except OSError:
            continue
        seen += 1 + len(entries)
        if seen > _MOST_LOOKED_AT:
            notes.append(
                f"{spelled(folder)}: it holds too much to be looked through, and {spelled(base)} and what comes after "
                "it was not; name the folders that matter"
            )
            return
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


def _quiet(path: str, notes: list[str]) -> tuple[Advised | None, str, int]:
    """A file of a folder, or why nothing is known of it ("" where it is no file to be read at all), and its length."""
    try:
        text = _judged(path, read_text(path), notes)
    except InputError as error:
        return None, str(error), 0
    found = read_advised(path, text)
    why = "" if found is not None else not_understood(path, text)
    return found, f"{spelled(path)}: {why}" if why else "", len(text)
