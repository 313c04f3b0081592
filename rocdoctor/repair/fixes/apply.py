"""Doing the steps of fixes, each after a copy and a line in the journal, and taking them back."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterable
from dataclasses import dataclass

from rocdoctor.host.live.regular_files import read_regular
from rocdoctor.repair.fixes.journal import Copy, Entry, Journal
from rocdoctor.repair.fixes.present_state import taken_back
from rocdoctor.repair.fixes.steps import Edit, Run, Step, Write, check_command, kernel_path
from rocdoctor.repair.fixes.target_machine import TargetMachine
from rocdoctor.repair.fixes.user_files import (
    MOST_BYTES,
    Refused,
    SeenFile,
    digest_of,
    former_mode,
    look,
    read_kernel,
    replace,
    write_kernel,
)


@dataclass(frozen=True, slots=True)
class Done:
    """How a step or its undoing ended, in a sentence."""

    ok: bool
    said: str


def apply(steps: Iterable[Step], check: str, place: TargetMachine, journal: Journal) -> list[Done]:
    """Do the steps of one fix in order; the first that fails ends it."""
    results: list[Done] = []
    for step in steps:
        try:
            if isinstance(step, Edit):
                said = _edit(step, check, place, journal)
            elif isinstance(step, Write):
                said = _write(step, check, place, journal)
            else:
                said = _run(step, check, place, journal)
        except Refused as refused:
            results.append(Done(False, str(refused)))
            break
        results.append(Done(True, said))
    return results


def _edit(step: Edit, check: str, place: TargetMachine, journal: Journal) -> str:
    copy = journal.keep(step.path, step.seen)
    digest = digest_of(step.data)
    number = journal.begin(Entry("edit", check, path=step.path, old=step.seen.digest, new=digest, copies=(copy,)))
    shown = place.shown(step.path)
    try:
        replace(step.seen, step.data)
    except Refused as refused:
        journal.end(number, "failed")
        raise Refused(f"{shown}: {refused}") from None
    journal.end(number, "done")
    return f"changed {shown}"


def _write(step: Write, check: str, place: TargetMachine, journal: Journal) -> str:
    number = journal.begin(Entry("kernel", check, path=step.path, old=step.old, new=step.new))
    real = place.real(step.path)
    try:
        write_kernel(real, step.new)
        held = read_kernel(real)
        if held != step.new:
            raise Refused(f"the kernel kept {held}")
    except Refused as refused:
        journal.end(number, "failed")
        raise Refused(f"{step.path}: {refused}") from None
    journal.end(number, "done")
    return f"wrote {step.new} to {step.path}"


def _run(step: Run, check: str, place: TargetMachine, journal: Journal) -> str:
    copies = tuple(journal.keep(path, _seen(place, path)) for path in step.changes)
    entry = Entry("command", check, words=step.words, undo=step.undo, copies=copies)
    number = journal.begin(entry)
    outcome = place.run(step.words)
    journal.end(number, "done" if outcome.ok else "failed")
    if not outcome.ok:
        raise Refused(f"{shlex.join(step.words)} failed: {outcome.said.strip()[:500] or 'it said nothing'}")
    return f"ran {shlex.join(step.words)}"


def _seen(place: TargetMachine, path: str) -> SeenFile | None:
    """A file that a command will change; None where there is none."""
    real = place.real(path)
    if not os.path.lexists(real):
        return None
    try:
        return look(real, place.uid, place.root, closed=True)
    except Refused as refused:
        raise Refused(f"{path}: {refused}") from None


# -- taking back


def told_back(journal: Journal, place: TargetMachine) -> list[str]:
    """What ``undo`` would do, in words, in its order; empty where all was taken back."""
    found: list[str] = []
    for entry in reversed(journal.entries):
        if entry.state == "undone":
            continue
        if entry.kind == "edit":
            found.append(f"bring {place.shown(entry.path)} back as it was before")
        elif entry.kind == "kernel":
            found.append(f"write {entry.old} to {entry.path} again (rocdoctor wrote {entry.new})")
        else:
            unsure = "" if entry.state == "done" else ", if the step left something"
            found += [f"run {shlex.join(command)}{unsure}" for command in entry.undo]
    return found


def undo(journal: Journal, place: TargetMachine) -> list[Done]:
    """Take back what a run did, the last step first. What somebody has changed since is left alone and said."""
    results: list[Done] = []
    for number in reversed(range(len(journal.entries))):
        entry = journal.entries[number]
        if entry.state == "undone":
            continue
        try:
            said = _undo_one(entry, place, journal)
        except Refused as refused:
            results.append(Done(False, str(refused)))
            continue
        journal.end(number, "undone")
        results.append(Done(True, said))
    return results


def _undo_one(entry: Entry, place: TargetMachine, journal: Journal) -> str:
    if entry.kind == "edit":
        return _undo_edit(entry, place, journal)
    if entry.kind == "kernel":
        return _undo_write(entry, place)
    return _undo_run(entry, place, journal)


def _undo_edit(entry: Entry, place: TargetMachine, journal: Journal) -> str:
    shown = place.shown(entry.path)
    (copy,) = entry.copies  # `opened` lets no other number through
    try:
        seen = look(place.real(entry.path), place.uid, place.root)
        if seen.digest == entry.old:
            return f"{shown} is as it was before"
        if seen.digest != entry.new:
            raise Refused("it has been changed since; the file as it was before is " + str(journal.folder / copy.copy))
        replace(seen, journal.copied(copy), copy.mtime_ns, former_mode(copy.mode, seen.mode))
    except Refused as refused:
        raise Refused(f"{shown}: {refused}") from None
    return f"{shown} is as it was before"


def _undo_write(entry: Entry, place: TargetMachine) -> str:
    path = kernel_path(entry.path, place)
    real = place.real(path)
    held = read_kernel(real)
    if held == entry.old:
        return f"{path} is {entry.old} already"
    if held != entry.new:
        raise Refused(f"{path}: it is {held} now, which rocdoctor did not write; it was {entry.old}")
    try:
        write_kernel(real, entry.old)
    except Refused as refused:
        raise Refused(f"{path}: {refused}") from None
    return f"wrote {entry.old} to {path} again"


def _undo_run(entry: Entry, place: TargetMachine, journal: Journal) -> str:
    words = shlex.join(entry.words)
    if entry.state == "failed" and all(_as_before(copy, place) for copy in entry.copies):
        return f"{words} had failed and changed nothing"
    if entry.state == "begun" and entry.copies and all(_as_before(copy, place) for copy in entry.copies):
        return f"{words} was cut off and changed nothing"
    if not entry.undo:
        return f"{words} left nothing to take back"
    ran: list[str] = []
    for command in entry.undo:
        check_command(command)
        if taken_back(command, entry.words if entry.state == "done" else (), place):
            continue
        outcome = place.run(command)
        if not outcome.ok:
            raise Refused(f"{shlex.join(command)} failed: {outcome.said.strip()[:500] or 'it said nothing'}")
        ran.append(shlex.join(command))
    said = f"ran {'; '.join(ran)}" if ran else f"what {words} did was taken back already"
    differ = [copy for copy in entry.copies if not _as_before(copy, place)]
    for copy in entry.copies:
        if copy not in differ and copy.copy:
            _same_time(copy, place)
    if differ:
        names = ", ".join(
            f"{copy.path} (before: {journal.folder / copy.copy})" if copy.copy else copy.path for copy in differ
        )
        return f"{said}; not byte for byte as before: {names}"
    return said


def _as_before(copy: Copy, place: TargetMachine) -> bool:
    try:
        data = read_regular(place.real(copy.path), MOST_BYTES)
    except OSError:
        return not copy.copy
    return bool(copy.copy) and digest_of(data) == copy.digest


def _same_time(copy: Copy, place: TargetMachine) -> None:
    """A file with its old bytes gets its old time and mode."""
    real = place.real(copy.path)
    try:
        present = os.lstat(real).st_mode
        if stat.S_ISREG(present):
            os.utime(real, ns=(copy.mtime_ns, copy.mtime_ns))
            os.chmod(real, former_mode(copy.mode, stat.S_IMODE(present)))
    except OSError:
        return
