"""What a Python reads as code: below its prefixes, in its folders of packages, and where these lead.

For each use: a start alone, the import of torch (which imports whatever else is installed, also by entry points), or a
build with torch's headers.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from rocdoctor.host.live.folder_names import matching
from rocdoctor.host.live.regular_files import read_regular
from rocdoctor.host.live.trust import mounted_in
from rocdoctor.host.live.trusted_content import Looked, doubtful_below, doubtful_in, entries, looks_weak

Use = Literal["start", "import", "build"]
"""What an interpreter is started for: to look around, to import torch, or also to build with torch's headers."""

# Below a prefix: what an interpreter reads and runs at its start, and the folders that it imports from.
_SETTINGS = ("pyvenv.cfg", "bin/pyvenv.cfg")
_LIBRARY = ("lib*/python3*", "lib*/python3*/lib-dynload")
_PACKAGES = ("lib*/python3*/*-packages", "local/lib*/python3*/*-packages")
# Of the standard library what no package imports: tests and programs, thousands of files.
_PROGRAMS = ("lib*/python3*/test", "lib*/python3*/idlelib", "lib*/python3*/turtledemo")
_MOST_BYTES = 1 << 20  # of a pyvenv.cfg, a .pth file, a finder: they have some lines, the longest some kilobytes
# Of one interpreter: small files of a folder, what they name, and what it was made from.
_MOST_SMALL, _MOST_NAMED, _MOST_PREFIXES = 1000, 10_000, 500
# Two thirds of torch's files are headers, a third of a large environment types and manuals: no import runs them.
_NOT_IMPORTED = (".h", ".hpp", ".cuh", ".inl", ".pyi", ".rst", ".md", ".html")


def read_by_python(path: str, use: Use) -> Iterator[str]:
    """The places that an interpreter reads as code for that use; those inside folders only where they look weak.

    Raises OSError where there are more to look at than any interpreter has.
    """
    for one in (path, os.path.realpath(path)):  # a pyvenv.cfg beside it is obeyed
        yield os.path.dirname(one)
    prefixes = _prefixes(path)
    looked = Looked()
    alone = _without_packages_of_others(path)
    for prefix in prefixes:
        yield from (one for folder in _below(prefix, ("lib*",)) for one in doubtful_in(folder))
        others = alone and prefix != os.path.dirname(os.path.dirname(path))
        searched = _below(prefix, _LIBRARY if others else (*_LIBRARY, *_PACKAGES))
        aside = _below(prefix, (*_PROGRAMS, *_PACKAGES) if others else _PROGRAMS)
        yield from (prefix, *_below(prefix, _SETTINGS), *searched)
        if os.path.basename(os.path.dirname(prefix)) == "versions":  # of pyenv, whose shim may start it
            yield from _below(prefix, ("bin/python*",))
        named = [one for folder in searched for one in _named_folders(folder)]
        # At its start an interpreter only learns where these lie.
        mapped = [one for folder in searched for one in _mapped_by_finders(folder)] if use != "start" else []
        yield from (*named, *mapped)
        run = [one for folder in searched for one in _run_at_start(folder)]
        yield from _doubtful([*searched, *named], [*mapped, *run], use, aside, looked)


def _below(prefix: str, patterns: tuple[str, ...]) -> list[str]:
    return [place for one in patterns for place in matching(one, prefix)]


def _named_folders(folder: str) -> list[str]:
    """The folders that the .pth files of a folder add to the search path; they may be named relative to it."""
    found: dict[str, None] = {}
    for path in _small_files(folder, "*.pth"):
        lines = dict.fromkeys(_text(path).splitlines())
        plain = [line.rstrip() for line in lines if not line.startswith(("#", "import ", "import\t"))]
        _add(found, (line for line in plain if line and "\0" not in line), folder)
    return list(found)


def _mapped_by_finders(folder: str) -> list[str]:
    """Where the finders of editable installs take packages from (setuptools writes their mapping into them)."""
    found: dict[str, None] = {}
    for path in _small_files(folder, "__editable__*finder.py"):
        text = _text(path)
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):
            tree = ast.parse(text)
            for node in tree.body:
                value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
                texts = [one.value for one in ast.walk(value) if isinstance(one, ast.Constant)] if value else []
                told = (one for one in texts if isinstance(one, str) and os.path.isabs(one) and "\0" not in one)
                _add(found, told, folder)
    return list(found)


def _run_at_start(folder: str) -> list[str]:
    """The packages that the .pth files of a folder import: their code runs at every start."""
    found: dict[str, None] = {}
    for path in _small_files(folder, "*.pth"):
        text = _text(path)
        named = re.findall(r"(?:^|[;\s])import[ \t]+(\w[\w., \t]*)", text)
        named += re.findall(r"(?:^|[;\s])from[ \t]+(\w+)", text) + re.findall(r"__import__\(['\"](\w+)", text)
        names = dict.fromkeys(one.strip().partition(".")[0] for some in named for one in some.split(","))
        _add(found, filter(None, names), folder)
    return list(found)


def _small_files(folder: str, pattern: str) -> list[str]:
    """Those of a folder whose name matches; raises OSError where there are more than any environment has."""
    found = matching(pattern, folder)
    if len(found) > _MOST_SMALL:
        raise OSError(errno.E2BIG, f"holds more than {_MOST_SMALL} files {pattern}", folder)
    return found


def _add(found: dict[str, None], names: Iterable[str], folder: str) -> None:
    """Keep what these names mean in a folder; raises OSError where they are more than can be looked at."""
    for name in names:
        found[os.path.join(folder, name)] = None
        if len(found) > _MOST_NAMED:
            raise OSError(errno.E2BIG, f"has files that name more than {_MOST_NAMED} places", folder)


def _text(path: str) -> str:
    """A small file of an interpreter; "" where there is none, or none that Python could read either.

    Raises OSError for what can be read without end, waits, or is longer than any such file: whoever owns the
    environment chooses what stands there, and how much of it.
    """
    try:
        return read_regular(Path(path), _MOST_BYTES).decode("utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
        return ""


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


def _doubtful(
    searched: Iterable[str], whole: Iterable[str], use: Use, aside: Iterable[str], looked: Looked
) -> Iterator[str]:
    """What is imported from some folders and, by a first look, may not be root's alone.

    Of ``searched`` all that lies in them, and below unless nothing but the start counts: torch imports other packages.
    ``whole``: places that count to the last file; ``aside``: folders that are not looked up.
    """
    seen = set(map(os.path.realpath, aside))
    skipped = _NOT_IMPORTED if use == "import" else ()
    for folder in dict.fromkeys(searched):
        if use != "start":
            yield from doubtful_below(folder, seen, skipped, looked=looked)
            continue
        library = os.path.isfile(os.path.join(folder, "os.py"))  # of which the start and the probe import packages
        mounted = mounted_in(folder)
        for one in entries(folder):
            if looks_weak(one, mounted):
                yield one.path
            elif one.name == "__pycache__":  # byte code is preferred to its source
                inside = mounted_in(one.path)
                yield from (inner.path for inner in entries(one.path) if looks_weak(inner, inside))
            elif (library and one.name not in _NOT_AT_START) or one.name in _CUSTOMIZE:
                yield from doubtful_below(one.path, seen, looked=looked) if one.is_dir() else ()
    for place in dict.fromkeys(whole):
        if os.path.lexists(place):
            yield place
            yield from doubtful_below(place, seen, skipped, looked=looked)


def _prefixes(path: str) -> list[str]:
    """The folders above ``bin``: of the interpreter as it was called, of what that is, and of what it was made from."""
    found = [os.path.dirname(os.path.dirname(one)) for one in (path, os.path.realpath(path))]
    homes = dict.fromkeys(value for name, value in _environment(path) if name == "home")
    found += [os.path.dirname(one) for one in homes if os.path.isabs(one)]
    # pyenv's programs are scripts that start one of several Pythons
    made_from = list(dict.fromkeys(found))[: _MOST_PREFIXES + 1]
    found += [one for prefix in made_from for one in _below(prefix, ("versions/*",)) if prefix != "/"]
    if len(found) > _MOST_PREFIXES:
        raise OSError(errno.E2BIG, "was made from more interpreters than can be looked at", path)
    return [one for one in dict.fromkeys(found) if one != "/"]


def _environment(path: str) -> list[tuple[str, str]]:
    """What the pyvenv.cfg of an interpreter says, beside it or one folder above; [] without one."""
    found: list[tuple[str, str]] = []
    beside = os.path.dirname(path)
    for folder in (beside, os.path.dirname(beside)):
        pairs = (line.partition("=") for line in _text(os.path.join(folder, "pyvenv.cfg")).splitlines())
        found += [(name.strip().lower(), value.strip()) for name, _, value in pairs]
    return found


def _without_packages_of_others(path: str) -> bool:
    """Whether an environment has its own packages alone: site.py of Python's, venv(); the default is the other way."""
    values = [value.lower() for name, value in _environment(path) if name == "include-system-site-packages"]
    return bool(values) and all(one == "false" for one in values)
