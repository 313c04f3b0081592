"""A folder laid out like the root of a machine, and a place there: programs record how they are called."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rocdoctor.model.change import Change
from rocdoctor.model.finding import Fix
from rocdoctor.repair.fixes.apply import Done, apply, undo
from rocdoctor.repair.fixes.journal import Journal, alone, opened
from rocdoctor.repair.fixes.steps import FixWork, work_of
from rocdoctor.repair.fixes.target_machine import ProgramOutcome, TargetMachine

BASHRC = """# of the distribution
export PATH=$HOME/bin:$PATH

if [ -d /opt/rocm ]; then
    export HSA_OVERRIDE_GFX_VERSION=10.3.0  # from a guide
fi
alias ll='ls -l'
"""


class Scratch:
    """A root with one person, alice; ``calls`` are the commands that were run."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.home = self.root / "home" / "alice"
        self.home.mkdir(parents=True)
        for name in ("etc/profile.d", "etc/environment.d", "proc/sys/kernel", "sys/kernel/mm/transparent_hugepage"):
            (self.root / name).mkdir(parents=True)
        self.calls: list[tuple[str, ...]] = []
        self.programs: dict[str, Callable[[Sequence[str]], ProgramOutcome]] = {}
        self.state = folder / "state"
        self.file("home/alice/.bashrc", BASHRC, 0o644)
        self.file("proc/sys/kernel/numa_balancing", "1\n", 0o644)
        self.file("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n", 0o644)
        self.file("etc/group", "root:x:0:\nrender:x:992:\nvideo:x:44:bob\n", 0o644)
        self.file("etc/gshadow", "render:!::\nvideo:!::bob\n", 0o640)

    def file(self, name: str, text: str, mode: int = 0o644) -> Path:
        """A file of the machine with an old date."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        path.chmod(mode)
        os.utime(path, ns=(1_600_000_000_123_456_789, 1_600_000_000_123_456_789))
        return path

    def run(self, words: Sequence[str]) -> ProgramOutcome:
        """What stands in for programs."""
        self.calls.append(tuple(words))
        program = self.programs.get(words[0])
        return program(words) if program is not None else ProgramOutcome(False, f"there is no program {words[0]} here")

    def place(self, environment: Mapping[str, str] | None = None, *, privileged: bool = False) -> TargetMachine:
        """The machine as the user that runs the tests sees it."""
        variables = {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"} if environment is None else environment
        return TargetMachine(
            self.root, "/home/alice", os.geteuid(), "alice", self.state, self.run, privileged, variables
        )

    def fresh(self) -> Journal:
        """A folder of backups, made without the lock."""
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Journal.make(self.state, self.root)

    def groups(self) -> None:
        """usermod and gpasswd that change the two files as the real ones do."""

        def change(user: str, groups: Sequence[str], adding: bool) -> ProgramOutcome:
            for name in ("etc/group", "etc/gshadow"):
                path = self.root / name
                lines = [
                    _member(line, user, adding) if line.split(":")[0] in groups else line
                    for line in path.read_text().splitlines()
                ]
                path.write_text("\n".join(lines) + "\n")
            return ProgramOutcome(True, "")

        self.programs["usermod"] = lambda words: change(words[3], words[2].split(","), True)
        self.programs["gpasswd"] = lambda words: change(words[2], [words[3]], False)


def _member(line: str, user: str, adding: bool) -> str:
    head, _, members = line.rpartition(":")
    names = [one for one in members.split(",") if one and one != user]
    return f"{head}:{','.join([*names, user] if adding else names)}"


def tree(folder: Path) -> dict[str, tuple[object, ...]]:
    """Every file below a folder: kind, mode, owner, content or target, and of files the time."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        what: tuple[object, ...] = (
            stat.S_IFMT(status.st_mode),
            stat.S_IMODE(status.st_mode),
            status.st_uid,
            status.st_gid,
        )
        if path.is_symlink():
            what += (os.readlink(path),)
        elif path.is_file():
            what += (path.read_bytes(), status.st_mtime_ns)
        found[str(path.relative_to(folder))] = what
    return found


def changed(before: Mapping[str, object], after: Mapping[str, object]) -> set[str]:
    """The names that differ."""
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


def work(changes: Sequence[Change], place: TargetMachine) -> FixWork:
    """What changes come to at a place."""
    return work_of(Fix("words", "sudo command", "safe", changes=tuple(changes)), changes, "a-check", place)


def done(changes: Sequence[Change], place: TargetMachine) -> tuple[list[Done], Journal]:
    """Apply changes as the command does, under the lock."""
    with alone(place.state, place.uid):
        journal = Journal.make(place.state, place.root)
        return apply(work(changes, place).steps, "a-check", place, journal), journal


def undone(folder: Path, place: TargetMachine) -> list[Done]:
    """Undo a run as the command does."""
    with alone(place.state, place.uid):
        return undo(opened(folder, place), place)
