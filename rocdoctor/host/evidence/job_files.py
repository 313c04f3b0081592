"""Files that the ranks of a job left: flight recorder dumps, error files and logs in a folder.

A pickle is recognised by its first bytes and never loaded, since loading one runs what it says.
"""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from rocdoctor.parsers.logs.flight_recorder import looks_like_dump, rank_of_name

if TYPE_CHECKING:
    from rocdoctor.host.evidence.folder import DiskTree

_MAX_FILES = 8192
_MAX_DEPTH = 4
_MAX_BYTES = 64 * 1024 * 1024
_TREES = ("proc", "sys", "etc", "files", "commands", "run")  # folders of a capture or of a machine's files

# An unpickler whose find_class is no function can build plain values only. It is typed where files of a stranger lie:
# -I keeps Python from importing a json.py of that folder, and a pipe needs no file there, which could be a link. An
# empty part of PYTHONPATH means the current folder; rocdoctor cannot be given -I, so it starts in one of root's.
_PROGRAM = (
    "import json,pickle,sys; U=type('U',(pickle.Unpickler,),{'find_class':None}); "
    "[print(json.dumps({'file':f,**U(open(f,'rb')).load()})) for f in sys.argv[1:]]"
)


def is_pickle(data: bytes) -> bool:
    """Whether bytes are a Python pickle of protocol 2 or later, which is what torch writes."""
    return data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def pickle_advice(data: bytes, name: str) -> str:
    """What to say of a pickle: for a dump of the flight recorder the command that makes it JSON."""
    if b"pg_config" not in data[:4096] and b"entries" not in data[:4096] and "trace" not in name:
        return "a Python pickle, which is never loaded because that would run what it says; text is needed"
    path = Path(name).name
    stem = path.rstrip("0123456789")
    files = f"{shlex.quote(stem)}*" if stem and stem != path else shlex.quote(path)
    return (
        "a flight recorder dump as a pickle, which is never loaded because that would run what it says; make it JSON, "
        f'and read it, of all ranks at once: python3 -I -c "{_PROGRAM}" {files} | (cd / && rocdoctor read -)'
    )


def named(text: str, name: str) -> str:
    """The text of a dump with the name of its file in front, from which its rank is known; other text as it is."""
    head = text[:4096].lstrip()
    if head[:1] != "{" or not looks_like_dump(text) or rank_of_name(Path(name).name) is None:
        return text
    return f"==> {Path(name).name} <== {text}"


def folder_text(tree: DiskTree) -> tuple[str, list[tuple[str, bytes]]]:
    """(dumps, error files and logs of a folder as one text with headings, the first bytes of its pickles).

    ("", []) where it is no folder of a job. No link is followed.
    """
    if any(tree.kind((name,)) == "dir" for name in _TREES):
        return "", []
    found: list[tuple[str, ...]] = []
    _gather(tree, (), found)
    parts: list[str] = []
    pickles: list[tuple[str, bytes]] = []
    left = _MAX_BYTES
    for path in found:
        data = b""
        with contextlib.suppress(OSError):
            data = tree.data(path, max(0, left))
        name = "/".join(path)
        if is_pickle(data):
            pickles.append((name, data[:4096]))
        elif data.strip():
            left -= len(data)
            parts.append(f"==> {name} <==\n{data.decode('utf-8', errors='replace').rstrip()}\n")
    return "\n".join(parts), pickles


def _gather(tree: DiskTree, folder: tuple[str, ...], found: list[tuple[str, ...]]) -> None:
    for name in sorted(tree.names(folder), key=_order):
        if len(found) >= _MAX_FILES:
            return
        kind = tree.kind((*folder, name))
        if kind == "dir":
            if len(folder) < _MAX_DEPTH:
                _gather(tree, (*folder, name), found)
        elif kind == "file" and _is_of_a_job(name):
            found.append((*folder, name))


def _order(name: str) -> tuple[int, str]:
    rank = rank_of_name(name)
    return (-1 if rank is None else rank, name)


def _is_of_a_job(name: str) -> bool:
    if name in ("error.json", "stdout.log", "stderr.log"):  # of torchrun --log-dir
        return True
    return ("trace" in name or "rank" in name or "fr_" in name) and rank_of_name(name) is not None
