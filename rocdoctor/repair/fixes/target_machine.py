"""Where fixes are applied: the root of the files, as whom, and how a program is started."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rocdoctor.host.live.state_folder import state_folder
from rocdoctor.model.lazy_re import regex
from rocdoctor.repair.fixes.startup_lines import Kind

USER_NAME = regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}\$?\Z")
_IN_HOME: tuple[tuple[str, Kind], ...] = (
    (".bashrc", "shell"),
    (".bash_profile", "shell"),
    (".bash_login", "shell"),
    (".profile", "shell"),
    (".zshenv", "shell"),
    (".zprofile", "shell"),
    (".zshrc", "shell"),
    (".zlogin", "shell"),
    (".config/environment.d/*.conf", "env"),
)
_OF_SYSTEM: tuple[tuple[str, Kind], ...] = (
    ("/etc/environment", "env"),
    ("/etc/environment.d/*.conf", "env"),
    ("/etc/profile", "shell"),
    ("/etc/profile.d/*.sh", "shell"),
    ("/etc/bash.bashrc", "shell"),
    ("/etc/bashrc", "shell"),
    ("/etc/zsh/zshenv", "shell"),
    ("/etc/zshenv", "shell"),
    ("/etc/zsh/zprofile", "shell"),
    ("/etc/zsh/zshrc", "shell"),
)


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """How a program ended: what it said, and whether it succeeded."""

    ok: bool
    said: str


Runner = Callable[[Sequence[str]], ProgramOutcome]


@dataclass(frozen=True)
class TargetMachine:
    """One machine, or a folder laid out like its root.

    ``home`` and every path of a change are seen from ``root``; ``state`` (where backups go) is a real path.
    ``environment``: the variables of the session. ``privileged``: we have the rights of root.
    """

    root: Path
    home: str
    uid: int
    user: str
    state: Path
    run: Runner
    privileged: bool
    environment: Mapping[str, str] = field(default_factory=dict)

    def real(self, path: str) -> Path:
        """The file that a path of the machine means."""
        return self.root / path.lstrip("/")

    def shown(self, path: str) -> str:
        """A path as the person would write it."""
        return f"~{path[len(self.home) :]}" if path.startswith(f"{self.home}/") else path

    def startup_files(self) -> list[tuple[str, Kind]]:
        """The files that set variables at a login, as far as they exist: the person's, then those of the system."""
        return [
            (path, kind) for pattern, kind in startup_patterns(self.home).items() for path in self.matching(pattern)
        ]

    def matching(self, pattern: str) -> list[str]:
        """The paths that a pattern means (``*`` in the parts of a path), in order."""
        if "*" not in pattern:
            return [pattern] if os.path.lexists(self.real(pattern)) else []
        found = sorted(self.root.glob(pattern.lstrip("/")))[:4096]
        return ["/" + str(path.relative_to(self.root)) for path in found]


def startup_patterns(home: str) -> dict[str, Kind]:
    """The paths of start-up files (``*`` in the parts of a path) with how they are read: the person's come first."""
    found: dict[str, Kind] = {f"{home}/{name}": kind for name, kind in _IN_HOME}
    return found | dict(_OF_SYSTEM)


def this_machine() -> TargetMachine:
    """The machine that we run on, as the user that we run as; programs and accounts are those of the system."""
    from rocdoctor.host.live.accounts import account
    from rocdoctor.host.live.programs import invoking_user

    uid = os.geteuid()
    try:
        known = account(uid)
        name, home = known.pw_name, known.pw_dir
    except KeyError:
        name, home = "", os.environ.get("HOME", "")
    if uid != 0 and _owned(os.environ.get("HOME", ""), uid):
        home = os.environ["HOME"]  # where the shells of this session look for their start-up files
    through_sudo = invoking_user()
    state = state_folder(uid, home) / "fixes"
    person = through_sudo[0] if through_sudo is not None else name
    return TargetMachine(
        Path("/"),
        home.rstrip("/"),
        uid,
        person if USER_NAME.match(person) else "",
        state,
        run_program,
        uid == 0,
        dict(os.environ),
    )


def _owned(folder: str, uid: int) -> bool:
    """Whether it is a folder of this user, by a whole path that is no pattern of others."""
    try:
        whole = os.path.isabs(folder) and glob.escape(folder) == folder
        return whole and os.path.isdir(folder) and os.stat(folder).st_uid == uid
    except OSError:
        return False


def run_program(words: Sequence[str]) -> ProgramOutcome:
    """Run a program of the system (as root only from folders that root alone can write), with a deadline of 60 s."""
    from rocdoctor.host.live.programs import find_program, refusal
    from rocdoctor.host.live.run_program import run_bounded

    program = find_program(words[0])
    if program is None:
        return ProgramOutcome(False, refusal(words[0]) or f"there is no program {words[0]} here")
    answer = run_bounded(f"run {' '.join(words)}", [program, *words[1:]], 60.0)
    if answer.status != "ok":
        return ProgramOutcome(False, answer.note or answer.status)
    return ProgramOutcome(answer.exit_code == 0, answer.text)
