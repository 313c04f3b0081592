"""As whom an interpreter under test is run: root runs none that somebody else can change.

Whoever can change it runs what he likes with the rights of the one who starts it. So root starts such an interpreter as
the person who called sudo, whose interpreter it is to examine anyway; in a root shell and in a container as the one
user who can change it, without asking its torch for GPUs, since those are another user's rights than root's. Smoke
tests are refused: their ranks need the rights of the one who trains. ``--trust-interpreter`` is the way out for
machines and containers where nobody else counts.
"""

from __future__ import annotations

import ast
import contextlib
import glob
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rocdoctor.host.live.programs import (
    environment_of,
    find_interpreter,
    interpreter_environment,
    invoking_user,
    program_folders,
)
from rocdoctor.host.live.trust import Weakness, privileged, weaknesses
from rocdoctor.host.live.trusted_content import doubtful_below, doubtful_in, entries, looks_weak, readers

PROBE = Path(__file__).parents[1] / "probe" / "interpreter.py"
TRUST_OPTION = "--trust-interpreter"
# Below a prefix: what an interpreter reads and runs at its start, and the folders that it imports from.
_SETTINGS = ("pyvenv.cfg", "bin/pyvenv.cfg")
_SEARCHED = ("lib*/python3*", "lib*/python3*/lib-dynload", "lib*/python3*/*-packages", "local/lib*/python3*/*-packages")
# Two thirds of torch's files are headers, a third of a large environment types and manuals: no import runs them.
_NOT_IMPORTED = (".h", ".hpp", ".cuh", ".inl", ".pyi", ".rst", ".md", ".html")

Use = Literal["start", "import", "build"]
"""What an interpreter is started for: to look around, to import torch, or also to build with torch's headers."""


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

    ``not_imported`` is why it shall not tell what torch sees, ``refused`` why it is not run at all.
    """

    path: str
    who: Identity | None = None
    environment: Mapping[str, str] | None = field(default=None, repr=False)
    not_imported: str = ""
    refused: str = ""


def weak_interpreter(path: str, use: Use = "build") -> list[Weakness]:
    """Where somebody else than root can change an interpreter: its file, its prefixes and what it reads for that use.

    Raises OSError where there is no such file, or there are more to look at than any interpreter has.
    """
    found = dict.fromkeys(weaknesses(path))

    def judge(place: str) -> None:
        found.update(dict.fromkeys(weaknesses(place, missing_ok=True)))

    for one in readers(path, program_folders()):  # where it is a script that starts the one that is meant (pyenv)
        judge(one)
    for one in (path, os.path.realpath(path)):  # a pyvenv.cfg beside it is obeyed
        judge(os.path.dirname(one))
    for prefix in _prefixes(path):
        for library in (one for folder in _below(prefix, ("lib*",)) for one in doubtful_in(folder)):
            judge(library)
        searched = _below(prefix, _SEARCHED)
        for place in (prefix, *_below(prefix, _SETTINGS), *searched):
            judge(place)
        named = [one for folder in searched for one in _named_folders(folder)]
        # At its start an interpreter only learns where these lie.
        mapped = [one for folder in searched for one in _mapped_by_finders(folder)] if use != "start" else []
        for folder in (*named, *mapped):
            judge(folder)
        run = [one for folder in searched for one in _run_at_start(folder)]
        for one in _doubtful([*searched, *named], [*mapped, *run], use):
            judge(one)
    return list(found)


def _below(prefix: str, patterns: tuple[str, ...]) -> list[str]:
    return [place for one in patterns for place in glob.glob(f"{glob.escape(prefix)}/{one}")]


def _named_folders(folder: str) -> list[str]:
    """The folders that the .pth files of a folder add to the search path; they may be named relative to it."""
    found: list[str] = []
    for path in glob.glob(f"{glob.escape(folder)}/*.pth"):
        with contextlib.suppress(OSError):
            lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
            plain = [line.rstrip() for line in lines if not line.startswith(("#", "import ", "import\t"))]
            found += [os.path.join(folder, line) for line in plain if line and "\0" not in line]
    return found


def _mapped_by_finders(folder: str) -> list[str]:
    """Where the finders of editable installs take packages from (setuptools writes their mapping into them)."""
    found: list[str] = []
    for path in glob.glob(f"{glob.escape(folder)}/__editable__*finder.py"):
        with contextlib.suppress(OSError, SyntaxError, ValueError, RecursionError):
            tree = ast.parse(Path(path).read_text(encoding="utf-8", errors="replace"))
            for node in tree.body:
                value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
                texts = [one.value for one in ast.walk(value) if isinstance(one, ast.Constant)] if value else []
                found += [one for one in texts if isinstance(one, str) and os.path.isabs(one) and "\0" not in one]
    return found


def _run_at_start(folder: str) -> list[str]:
    """The packages that the .pth files of a folder import: their code runs at every start."""
    found: list[str] = []
    for path in glob.glob(f"{glob.escape(folder)}/*.pth"):
        with contextlib.suppress(OSError):
            text = Path(path).read_text(encoding="utf-8", errors="replace")
            named = re.findall(r"(?:^|[;\s])import[ \t]+(\w[\w., \t]*)", text)
            named += re.findall(r"(?:^|[;\s])from[ \t]+(\w+)", text) + re.findall(r"__import__\(['\"](\w+)", text)
            names = [one.strip().partition(".")[0] for some in named for one in some.split(",")]
            found += [os.path.join(folder, one) for one in names if one]
    return found


# Folders of the standard library that neither the start nor the probe imports; packages of others are judged apart.
_NOT_AT_START = frozenset(
    (
        "site-packages",
        "dist-packages",
        "test",
        "idlelib",
        "lib2to3",
        "turtledemo",
        "tkinter",
        "ensurepip",
        "config-3",
        "pydoc_data",
        "distutils",
        "unittest",
        "sqlite3",
        "wsgiref",
        "xmlrpc",
    )
)
_CUSTOMIZE = ("sitecustomize", "usercustomize")


def _doubtful(searched: Iterable[str], whole: Iterable[str], use: Use) -> Iterator[str]:
    """What is imported from some folders and, by a first look, may not be root's alone.

    Of ``searched`` all that lies in them, and below unless nothing but the start counts: torch imports other packages.
    ``whole``: places that count to the last file.
    """
    seen: set[str] = set()
    skipped = _NOT_IMPORTED if use == "import" else ()
    for folder in dict.fromkeys(searched):
        if use != "start":
            yield from doubtful_below(folder, seen, skipped)
            continue
        library = os.path.isfile(os.path.join(folder, "os.py"))  # of which the start and the probe import packages
        for one in entries(folder):
            if looks_weak(one):
                yield one.path
            elif one.name == "__pycache__":  # byte code is preferred to its source
                yield from (inner.path for inner in entries(one.path) if looks_weak(inner))
            elif (library and one.name not in _NOT_AT_START) or one.name in _CUSTOMIZE:
                yield from doubtful_below(one.path, seen) if one.is_dir() else ()
    for place in dict.fromkeys(whole):
        if os.path.lexists(place):
            yield place
            yield from doubtful_below(place, seen, skipped)


def _prefixes(path: str) -> list[str]:
    """The folders above ``bin``: of the interpreter as it was called, of what that is, and of what it was made from."""
    found = [os.path.dirname(os.path.dirname(one)) for one in (path, os.path.realpath(path))]
    for folder in (os.path.dirname(path), found[0]):
        try:
            lines = Path(folder, "pyvenv.cfg").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        homes = [value.strip() for name, _, value in (line.partition("=") for line in lines) if name.strip() == "home"]
        found += [os.path.dirname(one) for one in homes if os.path.isabs(one)]
    return [one for one in dict.fromkeys(found) if one != "/"]


def chosen(path: str, use: Use, given: Mapping[str, str] | None = None, trust: bool = False) -> ChosenInterpreter:
    """As whom an interpreter is asked what it holds; ``given`` is the environment under test where it is not ours."""
    if not privileged():
        return ChosenInterpreter(path, environment=given)
    if trust:
        return ChosenInterpreter(path, environment=dict(os.environ) if given is None else given)
    ours = ChosenInterpreter(path, environment=interpreter_environment(os.environ if given is None else given))
    try:
        weak = weak_interpreter(path, use)
    except OSError as error:
        return ChosenInterpreter(path, refused=f"{path}: {error.strerror}")
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
                path, refused=f"root does not run {path} itself, and user {who.uid} may not read {one}"
            )
    return ChosenInterpreter(path, who, environment_of(who.name, who.home), not_imported)


def refused_to_root(path: str, trust: bool = False) -> str:
    """Why root does not run an interpreter with its own rights, in one sentence with the way out; "" where it may."""
    if trust or not privileged():
        return ""
    try:
        weak = weak_interpreter(path)
    except OSError as error:
        return f"{path}: {error.strerror}"
    return _refusal(path, weak) if weak else ""


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
    path = find_interpreter(which)
    if path is None:
        return None, "no Python interpreter found"
    why = refused_to_root(path, trust)
    return (None, why) if why else (path, "")


def keep_trusted_environment() -> None:
    """As root take out of our own environment what ``interpreter_environment`` leaves out, for all that we start."""
    if privileged():
        kept = interpreter_environment(os.environ)
        os.environ.clear()
        os.environ.update(kept)


def identity(uid: int, gid: int | None = None) -> Identity:
    """A user with all groups, as a login gives them; one without an account has the group of his number alone."""
    import pwd

    try:
        account = pwd.getpwuid(uid)
    except KeyError:
        number = uid if gid is None else gid
        return Identity(uid, number, (number,), str(uid), "/")
    groups = os.getgrouplist(account.pw_name, account.pw_gid)
    return Identity(uid, account.pw_gid, tuple(groups), account.pw_name, account.pw_dir)


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
