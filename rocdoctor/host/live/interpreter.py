"""As whom an interpreter under test is run: root runs none that somebody else can change.

Whoever can change it runs what he likes with the rights of the one who starts it. So root starts such an interpreter as
the person who called sudo, whose interpreter it is to examine anyway; in a root shell and in a container as the one
user who can change it, without asking its torch for GPUs, since those are another user's rights than root's. Smoke
tests are refused: their ranks need the rights of the one who trains. ``--trust-interpreter`` is the way out for
machines and containers where nobody else counts.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rocdoctor.host.live.accounts import NoAnswerError, account, groups_of
from rocdoctor.host.live.code_read import CodeReader
from rocdoctor.host.live.patience import DEADLINE_S, within
from rocdoctor.host.live.programs import (
    child_environment,
    environment_of,
    find_interpreter,
    interpreter_environment,
    interpreter_named,
    invoking_user,
    program_folders,
)
from rocdoctor.host.live.pyenv import behind_shim
from rocdoctor.host.live.python_code import Use
from rocdoctor.host.live.silent_places import no_answer
from rocdoctor.host.live.trust import Weakness, privileged
from rocdoctor.host.live.trusted_content import ALL

PROBE = Path(__file__).parents[1] / "probe" / "interpreter.py"
TRUST_OPTION = "--trust-interpreter"
NO_INTERPRETER = "no Python interpreter found"
_MOST_NAMED = 100


@dataclass(frozen=True, slots=True)
class Identity:
    """Another user as whom root starts a program."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    name: str
    home: str


@dataclass(frozen=True, slots=True)
class ChosenInterpreter:
    """How an interpreter is run: ``who`` is None for ourselves, ``environment`` where it is the usual one of programs.

    ``not_imported`` is why it shall not tell what torch sees, ``refused`` why it is not run at all. ``behind``: what a
    shim starts, with the environment of that, where this was judged instead of the shim.
    """

    path: str
    who: Identity | None = None
    environment: Mapping[str, str] | None = field(default=None, repr=False)
    not_imported: str = ""
    refused: str = ""
    behind: tuple[str, Mapping[str, str]] | None = field(default=None, repr=False)

    def command(self, options: Iterable[str]) -> tuple[list[str], Mapping[str, str] | None]:
        """The command that has it tell about itself, and the environment of that."""
        given = child_environment() if self.environment is None else self.environment
        behind = self.behind or (behind_shim(self.path, given) if self.who is None else None)
        program, environment = behind or (self.path, self.environment)
        return [program, "-B", str(PROBE), *options], environment


def weak_interpreter(
    path: str, use: Use = "build", most: float = math.inf, step: Callable[[], None] | None = None
) -> list[Weakness]:
    """Where somebody else than root can change what an interpreter runs for that use; about ``most`` such places.

    ``step`` is called before each place that is looked at.
    Raises OSError where there is no such file, or what it runs cannot be known.
    """
    return CodeReader(program_folders(), most, step).weak(path, use)


def chosen(
    path: str,
    use: Use,
    given: Mapping[str, str] | None = None,
    trust: bool = False,
    step: Callable[[], None] | None = None,
) -> ChosenInterpreter:
    """As whom an interpreter is asked what it holds; ``given`` is the environment under test where it is not ours.

    ``step`` is called before each place that is looked at.
    """
    if not privileged():
        return ChosenInterpreter(path, environment=given)
    if trust:
        return ChosenInterpreter(path, environment=dict(os.environ) if given is None else given)
    environment = interpreter_environment(os.environ if given is None else given)
    behind = behind_shim(path, environment)
    try:
        # The other Pythons of the same pyenv do not run. As whom the shim is run hangs on all that it may start.
        weak = weak_interpreter(behind[0] if behind else path, use, step=step)
        if weak and behind:
            weak = [*weak, *weak_interpreter(path, use, step=step)]
    except OSError as error:
        return ChosenInterpreter(path, refused=f"{path}: {error.strerror}")
    try:
        return _as_whom(path, weak, ChosenInterpreter(path, environment=environment, behind=None if weak else behind))
    except NoAnswerError as error:  # with fewer groups that user would see fewer GPUs
        return ChosenInterpreter(path, refused=f"root does not run {path}: {error.args[0]}, so its user is not known")


def _as_whom(path: str, weak: list[Weakness], ours: ChosenInterpreter) -> ChosenInterpreter:
    caller = invoking_user()
    if caller is not None:
        who = identity(caller[1], caller[2])
        if not weak and not (may(path, who) and may(str(PROBE), who)):
            return ours  # of root alone: the caller cannot know it
        return _as(path, who)
    if not weak:
        return ours
    owners = {one.uid for one in weak}
    owner = owners.pop() if len(owners) == 1 else None
    if owner is None:
        return ChosenInterpreter(path, refused=_refusal(path, weak))
    why = f"torch was not imported: root does not do it, since {weak[0]}, and that user may have other rights to GPUs"
    return _as(path, identity(owner), f"{why}; {TRUST_OPTION} has root do it")


def _as(path: str, who: Identity, not_imported: str = "") -> ChosenInterpreter:
    for one in (path, str(PROBE)):
        if not may(one, who):
            return ChosenInterpreter(
                path, refused=f"root does not run {path} itself, and user {who.uid} is not allowed to read {one}"
            )
    return ChosenInterpreter(path, who, environment_of(who.name, who.home), not_imported)


def refused_to_root(path: str, trust: bool = False) -> str:
    """Why root does not run an interpreter with its own rights, in one sentence with the way out; "" where it may."""
    if trust or not privileged():
        return ""
    try:  # an environment of a user has as many as it has files
        found = within(DEADLINE_S, lambda: weak_interpreter(path, most=_MOST_NAMED), lambda: ALL.files)
    except OSError as error:
        return f"{path}: {error.strerror}"
    if not found:
        told = "root runs only what nobody else can change, and one of its folders gave no answer"
        return f"root does not run {path}: {told} within {DEADLINE_S:g} s (is what is mounted there gone?)"
    return _refusal(path, found[0]) if found[0] else ""


def _refusal(path: str, weak: list[Weakness]) -> str:
    if invoking_user() is not None:
        how = "run it without sudo"
    else:
        uids = {one.uid for one in weak}
        one = next(iter(uids)) if len(uids) == 1 else None
        how = f"run rocdoctor as {'a user who may' if one is None else f'user {one}'}"
    return f"root does not run {path}: {weak[0]}; {how}, or add {TRUST_OPTION} where nobody else counts"


def interpreter_of_root(which: str | None, trust: bool = False) -> tuple[str | None, str]:
    """(the interpreter that runs with our own rights, "") or (None, why there is none)."""
    found = within(DEADLINE_S, lambda: find_interpreter(which))
    if not found:
        return None, no_answer(interpreter_named(which), DEADLINE_S)
    if (path := found[0]) is None:
        return None, NO_INTERPRETER
    why = refused_to_root(path, trust)
    return (None, why) if why else (path, "")


def keep_trusted_environment() -> None:
    """As root take out of our own environment what ``interpreter_environment`` leaves out, for all that we start."""
    if privileged():
        kept = interpreter_environment(os.environ)
        os.environ.clear()
        os.environ.update(kept)


def identity(uid: int, gid: int | None = None) -> Identity:
    """A user with all groups, as a login gives them; one without an account has the group of his number alone.

    Raises NoAnswerError where nobody tells.
    """
    try:
        known = account(uid)
        groups = groups_of(known.pw_name, known.pw_gid)
    except NoAnswerError:
        raise
    except KeyError:
        number = uid if gid is None else gid
        return Identity(uid, number, (number,), str(uid), "/")
    return Identity(uid, known.pw_gid, tuple(groups), known.pw_name, known.pw_dir)


def may(path: str, who: Identity) -> bool:
    """Whether a user may read a file and reach it, as far as modes tell."""
    real = Path(os.path.realpath(path))
    try:
        return _allows(os.stat(real), 4, who) and all(_allows(os.stat(above), 1, who) for above in real.parents)
    except OSError:
        return False


def _allows(status: os.stat_result, wanted: int, who: Identity) -> bool:
    mode, groups = stat.S_IMODE(status.st_mode), _groups(who)
    bits = mode >> 6 if status.st_uid == who.uid else mode >> 3 if status.st_gid in groups else mode
    return bool(bits & wanted)


def _groups(who: Identity) -> Collection[int]:
    return {who.gid, *who.groups}
