"""Checks from their files: which files are checks, their manual pages, and the functions in them."""

from __future__ import annotations

import ast
import inspect
import os
import re
import stat
import sys
from collections.abc import Mapping
from functools import cache, partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from rocdoctor.host.live.folder_names import names_in
from rocdoctor.host.live.patience import within
from rocdoctor.host.live.regular_files import read_regular
from rocdoctor.host.live.trust import owner_of, read_code
from rocdoctor.judging.check import Check
from rocdoctor.knowledge.load import kept, knowledge_folder

_MOST_BYTES = 4 << 20
OWN_LIMIT_S = 5.0  # for what somebody's own check does at once: ours all take a fraction of that together
NO_ANSWER = f"no answer within {OWN_LIMIT_S:g} s"
_MANY = 50  # checks: of fewer it is cheaper to read each one's byte code


class CheckLoadError(Exception):
    """A check file that cannot be loaded; the message names the file."""


def checks_folder() -> Path:
    """Where our own checks lie: inside the package, or beside it in a checkout of this project."""
    inside = Path(__file__).parents[1] / "checks"
    if inside.is_dir():
        return inside
    beside = Path(__file__).parents[2]
    try:
        ours = 'name = "rocdoctor"' in (beside / "pyproject.toml").read_text(encoding="utf-8")
    except OSError:
        ours = False
    if ours:
        return beside / "checks"
    raise CheckLoadError("rocdoctor is not installed completely: its checks are missing")


def check_files(folder: Path) -> list[Path]:
    """The check files of a folder, sorted by name; names with a leading underscore are helpers."""
    try:
        names = sorted(names_in(str(folder)))
    except OSError:
        return []
    return [
        path
        for name in names
        if (path := folder / name).suffix == ".py" and re.fullmatch(r"[a-z][a-z0-9_]*", path.stem)
    ]


def is_ours(path: Path) -> bool:
    """Whether a check is one of those that rocdoctor ships."""
    try:
        return path.parent == _ours()
    except CheckLoadError:
        return False


@cache
def _ours() -> Path:
    return checks_folder()


def manual_of(path: Path) -> str:
    """The manual page of a check file: its docstring, read without importing it."""
    try:
        text = read_regular(path, _MOST_BYTES).decode("utf-8")
        end = text.find('"""', 3)
        if text.startswith('"""') and end > 0 and "\\" not in text[:end]:  # the usual form: no parsing needed
            return inspect.cleandoc(text[3:end])
        return ast.get_docstring(ast.parse(text)) or ""
    except (OSError, SyntaxError, ValueError):
        return ""


def name_of(path: Path) -> str:
    """A check's name from its file name."""
    return path.stem.replace("_", "-")


def load_together(count: int) -> None:
    """Before many checks are loaded: takes the byte code of all of our own in one piece, which costs half."""
    if count >= _MANY and not _together and _byte_code_is_ours(checks_folder()):
        _together.update(_codes(checks_folder()))


_together: dict[Path, CodeType] = {}


def _codes(folder: Path) -> Mapping[Path, CodeType]:
    """The byte code of all checks of a folder, kept as tables are; none where it cannot be kept."""
    files = check_files(folder)
    try:
        # The text of a file is read after its state: one that changes meanwhile does not fit the next run.
        states = [(path.name, one.st_mtime_ns, one.st_size) for path in files for one in (os.stat(path),)]
        stamp = (sys.version, str(folder), *states)
        found = kept(knowledge_folder(), "checks-code", stamp, lambda: tuple(_code_of(path) for path in files))
    except (ImportError, OSError, SyntaxError, ValueError):  # who loads that one says so
        return {}
    return dict(zip(files, found, strict=True)) if isinstance(found, tuple) else {}


def _code_of(path: Path) -> CodeType | None:
    name = _module_name(path)
    return SourceFileLoader(name, str(path)).get_code(name)


def _module_name(path: Path) -> str:
    return f"rocdoctor.checks.{path.stem}"


def _module(path: Path) -> ModuleType:
    module = ModuleType(_module_name(path))
    module.__file__ = str(path)
    try:
        code = _together.get(path)
        if code is None and _byte_code_is_ours(path.parent):
            code = _code_of(path)
        elif code is None:  # never what lies in a __pycache__ there, and what is judged is what runs
            code = compile(read_code(path), str(path), "exec", dont_inherit=True)
            module.__dict__["print"] = _print_aside
        assert code is not None  # a loader of sources gives code
        if is_ours(path):
            exec(code, module.__dict__)
        elif not within(OWN_LIMIT_S, partial(exec, code, module.__dict__)):
            raise TimeoutError(NO_ANSWER)
    except (Exception, SystemExit) as problem:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
        raise CheckLoadError(f"{path}: {type(problem).__name__}: {why}") from problem
    return module


def _print_aside(*words: object, sep: str | None = " ", end: str | None = "\n", file: Any = None, **_: Any) -> None:
    """``print`` for a check of somebody, as while it is tried: the report, which may be JSON, has standard output."""
    (file or sys.stderr).write((" " if sep is None else sep).join(map(str, words)) + ("\n" if end is None else end))


@cache
def _byte_code_is_ours(folder: Path) -> bool:
    """Whether these are our own checks, and their byte code is as safe as that of the package that runs."""
    try:
        if folder != checks_folder():
            return False
        owners = (0, os.stat(__file__).st_uid, getattr(os, "geteuid", lambda: 0)())
        places = [(os.stat(one), one) for one in (folder, folder / "__pycache__") if os.path.lexists(one)]
    except (CheckLoadError, OSError):
        return False
    return all(owner_of(*one) in owners and not one[0].st_mode & stat.S_IWOTH for one in places)


def load_check(path: Path) -> Check:
    """The check in one file; raises CheckLoadError when there is none of the file's name.

    Our own are read in once a process, as modules are: the screens ask for them at each look.
    """
    return _own(path) if _byte_code_is_ours(path.parent) else _read_in(path)


@cache
def _own(path: Path) -> Check:
    return _read_in(path)


def _read_in(path: Path) -> Check:
    module = _module(path)
    function = getattr(module, path.stem, None)
    marked = getattr(function, "__rocdoctor__", None)
    if function is None or marked is None:
        raise CheckLoadError(f"{path}: no function '{path.stem}' with the @check decorator")
    selector, cause = marked
    manual = inspect.cleandoc(module.__doc__) if module.__doc__ else manual_of(path)  # Python may have dropped it
    return Check(name_of(path), function, selector, cause, manual, path)
