"""A change on one machine: which files, which words, and why it cannot be made. Looks, and changes nothing."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rocdoctor.host.live.regular_files import read_regular
from rocdoctor.model.change import USER, Change, Command, KernelValue, Unset
from rocdoctor.model.finding import Effective, Fix
from rocdoctor.model.shell_command import shell
from rocdoctor.repair.fixes.known_changes import is_command, is_kernel, is_undoing
from rocdoctor.repair.fixes.present_state import is_member
from rocdoctor.repair.fixes.startup_lines import Kind, by_hand, off_already, places, switched_off
from rocdoctor.repair.fixes.target_machine import TargetMachine
from rocdoctor.repair.fixes.user_files import MOST_BYTES, Refused, SeenFile, look, read_kernel
from rocdoctor.repair.setup.command_lines import quoted


@dataclass(frozen=True, slots=True)
class Edit:
    """A file with some lines switched off."""

    path: str
    kind: Kind
    lines: tuple[int, ...]
    seen: SeenFile
    data: bytes


@dataclass(frozen=True, slots=True)
class Write:
    """A word for a file of the kernel, and the one that it holds."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Run:
    """A command of root; its words name the person."""

    words: tuple[str, ...]
    undo: tuple[tuple[str, ...], ...]
    changes: tuple[str, ...]


Step = Edit | Write | Run


@dataclass(frozen=True, slots=True)
class FixWork:
    """What a fix comes to on this machine. ``left`` are sentences on what the person has to do, and ``typed`` the
    commands for it. Without steps nothing is done. ``effective`` counts what the changes are, not what is typed."""

    steps: tuple[Step, ...] = ()
    left: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    effective: Effective = "now"


def work_of(fix: Fix, changes: Iterable[Change], check: str, place: TargetMachine) -> FixWork:
    """The steps of a fix on this machine. What cannot be done whole is not begun."""
    steps: list[Step] = []
    left: list[str] = []
    typed: list[str] = []
    effective = fix.effective
    for change in changes:
        if isinstance(change, Unset):
            effective = "new-login" if effective == "now" else effective
            found, reasons, commands = _unset(change, check, place)
            steps += found
            left += reasons
            typed += [*commands, shell("unset {name:name}", name=change.name)]
        elif not place.privileged:
            left.append("it needs root: type the command, or start rocdoctor fix as root")
            typed.append(fix.command)
        else:
            try:
                steps += _written(change, place) if isinstance(change, KernelValue) else [_run(change, place)]
            except Refused as refused:
                left.append(str(refused))
                typed.append(fix.command)
    if left and steps:
        typed += [
            _typed(place, step.path, number, step.kind)
            for step in steps
            if isinstance(step, Edit)
            for number in step.lines
        ]
        steps = []
    return FixWork(tuple(steps), tuple(dict.fromkeys(left)), tuple(dict.fromkeys(typed)), effective)


def _unset(change: Unset, check: str, place: TargetMachine) -> tuple[list[Step], list[str], list[str]]:
    """(edits, what is left to the person, commands for that)."""
    value = place.environment.get(change.name)
    if value is None:
        return [], [f"{change.name} is not set in this session"], []
    edits: list[Step] = []
    left: list[str] = []
    typed: list[str] = []
    found = False
    off: list[str] = []
    for path, kind in place.startup_files():
        text = _text(place.real(path))
        if text is None and _too_large(place.real(path)):
            left.append(
                f"{place.shown(path)} is larger than {MOST_BYTES >> 20} MiB and was not read: check whether it "
                f"sets {change.name}"
            )
        if text is None or change.name not in text:
            continue
        where = places(text, kind, change.name, value)
        found = found or bool(where.plain or where.mixed)
        off += [f"{place.shown(path)}:{number}" for number in off_already(text, kind, change.name, value)]
        left += [f"{place.shown(path)}:{number} sets it among other things: change that line" for number in where.mixed]
        if not where.plain:
            continue
        try:
            edits.append(_edit(place, path, kind, where.plain, check))
        except Refused as refused:
            left.append(f"{place.shown(path)}:{where.plain[0]} sets it, and is left alone: {refused}")
            typed += [_typed(place, path, number, kind) for number in where.plain]
    if not found and off:
        left.append(f"{off[0]} is switched off already: this session has the value from before, a new one has not")
    elif not found:
        left.append(
            f"no start-up file was found that sets {change.name}={value[:60]}: it comes from a script, a file that a "
            "start-up file reads, a container, a service, or from what was typed in this session"
        )
    return edits, left, typed


def set_in(fix: Fix, place: TargetMachine) -> tuple[str, ...]:
    """Files with lines that set the variables which a fix unsets, as a person would write them."""
    found: list[str] = []
    for name in fix.unsets:
        value = place.environment.get(name)
        for path, kind in place.startup_files() if value is not None else ():
            text = _text(place.real(path))
            if value is not None and text is not None and name in text:
                where = places(text, kind, name, value)
                found += [f"{place.shown(path)}:{number}" for number in sorted((*where.plain, *where.mixed))]
    return tuple(dict.fromkeys(found))


def _typed(place: TargetMachine, path: str, number: int, kind: Kind) -> str:
    """The command by which a person switches a line off."""
    front = "" if place.privileged or path.startswith(f"{place.home}/") else "sudo "
    linked = place.real(path).is_symlink()
    return front + " ".join(quoted(word) for word in by_hand(kind, number, place.shown(path), linked))


def _text(path: Path) -> str | None:
    try:
        # Any byte is one sign and comes back as it was.
        return read_regular(path, MOST_BYTES).decode("latin-1")
    except OSError:
        return None


def _too_large(path: Path) -> bool:
    """Whether it is a file that a shell reads and we do not."""
    try:
        return path.is_file() and path.stat().st_size > MOST_BYTES
    except OSError:
        return False


def _edit(place: TargetMachine, path: str, kind: Kind, numbers: tuple[int, ...], check: str) -> Edit:
    seen = look(place.real(path), place.uid, place.root)
    data = switched_off(seen.data.decode("latin-1"), kind, numbers, check).encode("latin-1")
    return Edit(path, kind, numbers, seen, data)


def _written(change: KernelValue, place: TargetMachine) -> list[Step]:
    found: list[Step] = []
    for path in place.matching(change.path):
        path = kernel_path(path, place)
        old = read_kernel(place.real(path))
        if not is_kernel(path, old, change.value):
            raise Refused(f"{path} holds {old[:80]!r}, which rocdoctor could not take back")
        if old != change.value:
            found.append(Write(path, old, change.value))
    if not found and not place.matching(change.path):
        raise Refused(f"there is no {change.path} here")
    return found


def kernel_path(path: str, place: TargetMachine) -> str:
    """The file of the kernel behind a path; raises Refused for one that leads to none whose words a fix changes."""
    top = os.path.realpath(place.root).rstrip("/")
    real = os.path.realpath(place.real(path))
    inside = real[len(top) :] if real.startswith(f"{top}/") else real
    if not is_kernel(inside):
        raise Refused(f"{path} leads to {inside}, which rocdoctor does not change")
    return inside


def _run(change: Command, place: TargetMachine) -> Run:
    if any(USER in words for words in (change.words, *change.undo)) and not place.user:
        raise Refused("the name of the user is not known here")
    words, *undo = (
        tuple(place.user if word == USER else word for word in command) for command in (change.words, *change.undo)
    )
    for command in (words, *undo):
        check_command(command)
    if not is_undoing(words, undo, change.changes):
        raise Refused(f"{shlex.join(words)[:80]} is not what its list of changes says")
    return Run(words, tuple(command for command in undo if not _held(command, place)), change.changes)


def _held(command: tuple[str, ...], place: TargetMachine) -> bool:
    """Whether a command that takes a person out of a group would take away what was there before."""
    if command[:2] != ("gpasswd", "-d"):
        return False
    return bool(is_member(command[2], command[3], place))


def check_command(words: tuple[str, ...]) -> None:
    """Raise Refused for a command that is not one of those that findings may have run."""
    if not is_command(words):
        raise Refused(f"{' '.join(words)[:80]!r} is not a command that rocdoctor runs")


def told(step: Step, place: TargetMachine) -> str:
    """What a step does, in words."""
    if isinstance(step, Edit):
        lines = ", ".join(map(str, step.lines))
        return f"switch off line{'s' if len(step.lines) > 1 else ''} {lines} of {place.shown(step.path)}"
    if isinstance(step, Write):
        return f"write {step.new} to {step.path} (now {step.old})"
    return f"run {shlex.join(step.words)}" + (f", which changes {', '.join(step.changes)}" if step.changes else "")
