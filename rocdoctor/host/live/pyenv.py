"""Which Python a shim of pyenv starts: a script that runs twenty others first, for longer than Python itself takes.

Where one version is named plainly, it is told from the same places (``pyenv-version-name``, ``pyenv-exec``). In all
other cases, such as several versions, a part of one ("3.12") or a folder's own, the shim itself is run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rocdoctor.host.live.regular_files import read_regular
from rocdoctor.model.lazy_re import regex

_MOST_BYTES = 4096  # a shim has 400, the file of the version a line
_VERSION = regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}\Z")
_FOLDER = "/.python-version"  # our children start in the root folder
_HOOKS = ("/etc/pyenv.d", "/usr/etc/pyenv.d", "/usr/local/etc/pyenv.d", "/usr/lib/pyenv/hooks")


def behind_shim(path: str, environment: Mapping[str, str]) -> tuple[str, dict[str, str]] | None:
    """The interpreter that a shim would start in the root folder, with the environment that it would give it.

    None where the path is no shim, or something is set for which it has rules of its own.
    """
    folder, name = os.path.split(path)
    root = os.path.dirname(folder)
    if os.path.basename(folder) != "shims" or any(environment.get(one) for one in ("PYENV_DIR", "PYENV_HOOK_PATH")):
        return None
    try:
        lines = _text(path).splitlines()
        if f'export PYENV_ROOT="{root}"' not in lines or not lines[-1].startswith(f'exec "{root}/libexec/pyenv" exec '):
            return None
        if any(map(os.path.lexists, (_FOLDER, *_HOOKS))):
            return None
        version = environment.get("PYENV_VERSION") or _text(os.path.join(root, "version")).strip()
    except OSError:
        return None
    program = os.path.join(root, "versions", version, "bin", name)
    if not _VERSION.match(version) or version == "system" or not os.access(program, os.X_OK):
        return None
    searched = os.pathsep.join((os.path.dirname(program), *filter(None, (environment.get("PATH"),))))
    return program, {**environment, "PYENV_ROOT": root, "PYENV_VERSION": version, "PYENV_DIR": "/", "PATH": searched}


def _text(path: str) -> str:
    return read_regular(Path(path), _MOST_BYTES).decode("utf-8", errors="replace")
