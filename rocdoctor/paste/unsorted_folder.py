"""A folder or an archive of no known layout: the files in it that the text reader knows, as one text.

People send what they have: ``dmesg.log``, ``gpu/rocm-smi.out``, ``job-123.err``, logs of a hardware probe, or a dump
of ``/sys`` somewhere inside. Each file stands in the text behind a line ``$ PROGRAM`` where its name tells which
program printed it, else ``$ cat NAME``, so that no output runs into the next one. Bounded in names, files, bytes and
depth; no link is followed, and names of the evidence are only shown.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from rocdoctor.host.base import Answer, Host
from rocdoctor.host.decoding import decode
from rocdoctor.host.evidence.capture import CaptureError, gunzip, is_capture
from rocdoctor.host.evidence.folder import FolderTree, TreeError, TreeHost
from rocdoctor.host.evidence.whole_outputs import whole_output
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.model.lazy_re import regex
from rocdoctor.paste import TextHost, open_text
from rocdoctor.paste.shell_sections import question_of

_MAX_DEPTH = 6
_MAX_NAMES = 20_000
_MAX_FILES = 400
_MAX_FILE_BYTES = 8 * 1024 * 1024
_MAX_BYTES = 24 * 1024 * 1024
_LAYOUT = frozenset(("sys", "proc", "etc", "files", "commands", "sos_commands"))
# What begins a project: its texts speak of machines in general.
_PROJECT = frozenset((".git", "pyproject.toml", "setup.py", "Cargo.toml", "CMakeLists.txt", "package.json", "go.mod"))
_NO_OUTPUT = regex(
    r"(?i)\.(?:py|pyc|sh|c|cc|cpp|cu|hip|h|hpp|js|ts|css|html?|ipynb|toml|rs|go|java|so|a|o|bin|ko|pt|pth|safetensors|"
    r"ckpt|zip|tar|tgz|whl|deb|rpm|png|jpe?g|gif|svg|pdf|db|parquet|npy|npz|mp4|capture)\Z|\A(?:readme|license|changelog)"
)
_ENDINGS = frozenset(("log", "out", "txt", "err", "stdout", "stderr", "gz"))
_LOG = regex(r"(?i)\.(?:log|out|err|stdout|stderr)(?:\.gz)?\Z")
_OLDER = regex(r"(?i)[.-]\d{1,8}(?:\.log)?(?:\.gz)?\Z|\.old(?:\.gz)?\Z")
# Programs by which people name the files of their outputs; longer names first.
_PROGRAMS = (
    "journalctl",
    "nvidia-smi",
    "rocm-smi",
    "amd-smi",
    "pip list",
    "pip freeze",
    "rocminfo",
    "ibstat",
    "numactl",
    "lspci",
    "lscpu",
    "lsmod",
    "dmesg",
    "uname",
    "env",
)
_PROSE = frozenset(("stated", "voices", "sentences"))


@dataclass(frozen=True, slots=True)
class _Inside:
    """A folder of a tree as a tree."""

    tree: FolderTree
    base: tuple[str, ...]

    def kind(self, parts: tuple[str, ...]) -> str:
        return self.tree.kind((*self.base, *parts))

    def target(self, parts: tuple[str, ...]) -> str:
        return self.tree.target((*self.base, *parts))

    def names(self, parts: tuple[str, ...]) -> list[str]:
        return self.tree.names((*self.base, *parts))

    def data(self, parts: tuple[str, ...]) -> bytes:
        return self.tree.data((*self.base, *parts))


def open_loose(tree: FolderTree, origin: str) -> Host:
    """A host over the files of a tree that has no known layout; raises TreeError where nothing in it is known."""
    if _PROJECT & set(tree.names(())):
        raise TreeError("no sys, proc, etc, files, commands or sos_commands folder in it; it looks like source code")
    roots, files = _search(tree)
    if len(roots) > 1:
        names = ", ".join(_shown(root) for root in roots[:4])
        raise TreeError(f"it holds evidence of several machines: name one of the folders in it ({names})")
    text, starts, whole = _joined(tree, files)
    found = open_text(text, origin) if text or whole else None
    used = [*(name for _, name in whole), *_used(found, starts)]
    if found is not None:
        for answer, _ in whole:
            found.answers.setdefault(answer.question, answer)
    if roots:
        host = TreeHost(_Inside(tree, roots[0]), origin)
        answers = {} if found is None else {name: one for name, one in found.answers.items() if _adds(host, one)}
        said = f"the files of the machine are in {_shown(roots[0])}" + (f"; read as text: {_few(used)}" if used else "")
        return _WithText(host, answers, said)
    if found is None or not used:
        raise TreeError(
            "no sys, proc, etc, files, commands or sos_commands folder in it, and no log or output that is known"
        )
    several = [name for name in used if "/" in name]
    machines = _machines(several)
    if machines:
        raise TreeError(f"it holds evidence of several machines: name one of the folders in it ({', '.join(machines)})")
    return replace(found, read_from=f"read as text: {_few(used)} ({len(used)} of {len(starts) + len(whole)} files)")


class _WithText(OverlayHost):
    """A tree with what else was found in front, and where it was read."""

    def __init__(self, inner: Host, answers: dict[str, Answer], read_from: str) -> None:
        super().__init__(inner, answers)
        self.read_from = read_from


def _adds(host: TreeHost, answer: Answer) -> bool:
    return answer.question.startswith(("run ", "log ", "dump ")) and not host.ask(answer.question).ok


def _few(names: list[str]) -> str:
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _shown(parts: tuple[str, ...]) -> str:
    return "/".join(parts)


def _search(tree: FolderTree) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """(folders that are laid out like a machine's files, files outside of these), breadth first."""
    roots: list[tuple[str, ...]] = []
    files: list[tuple[str, ...]] = []
    folders: list[tuple[str, ...]] = [()]
    left = _MAX_NAMES
    while folders and left > 0:
        here = folders.pop(0)
        names = [name for name in islice(tree.names(here), left) if name.isprintable() and name[:1] != "."]
        left -= len(names) + 1
        if here and any(name in _LAYOUT and tree.kind((*here, name)) == "dir" for name in names):
            roots.append(here)
            continue
        for name in names:
            kind = tree.kind((*here, name))
            if kind == "dir" and len(here) < _MAX_DEPTH:
                folders.append((*here, name))
            elif kind == "file" and not _NO_OUTPUT.search(name):
                files.append((*here, name))
    return roots, sorted(files, key=_promise)


def _promise(parts: tuple[str, ...]) -> tuple[bool, bool, int]:
    """What is read first: files that are named by a program, then logs and outputs; else in the order found."""
    return (not _command(parts[-1]), not _LOG.search(parts[-1]), len(parts))


def _joined(
    tree: FolderTree, files: list[tuple[str, ...]]
) -> tuple[str, list[tuple[int, str]], list[tuple[Answer, str]]]:
    """(files as one text, the line of it at which each begins with its name, files that are one output as a whole)."""
    stems = {(*parts[:-1], _stem(parts[-1])) for parts in files if not _OLDER.search(parts[-1])}
    texts: list[str] = []
    starts: list[tuple[int, str]] = []
    whole: list[tuple[Answer, str]] = []
    line, left = 1, _MAX_BYTES
    for parts in files:
        if len(starts) + len(whole) >= _MAX_FILES or left <= 0:
            break
        if _OLDER.search(parts[-1]) and (*parts[:-1], _stem(_OLDER.sub("", parts[-1]))) in stems:
            continue  # a log that was put aside
        text = _text(tree, parts, left)
        if not text.strip():
            continue
        name = _shown(parts)
        left -= len(text)
        if (answer := whole_output(text)) is not None:
            whole.append((answer, name))
            continue
        body = f"$ {_command(parts[-1]) or 'cat ' + shlex.quote(name)}\n{text.rstrip()}\n\n"
        starts.append((line, name))
        texts.append(body)
        line += body.count("\n")
    return "".join(texts), starts, whole


def _text(tree: FolderTree, parts: tuple[str, ...], most: int) -> str:
    """The text of a file; "" for what is none, cannot be read, or is too long."""
    try:
        data = tree.data(parts)
        if data[:2] == b"\x1f\x8b":
            data = gunzip(data, _MAX_FILE_BYTES)
        if len(data) > min(_MAX_FILE_BYTES, most) or is_capture(data):
            return ""
        return decode(data)
    except (OSError, CaptureError, ValueError):
        return ""


def _command(name: str) -> str:
    """The command whose output a file's name promises, "" where it promises none that is read."""
    words = _stem(name).lower()
    plain = words.replace("_", " ")
    for program in _PROGRAMS:
        if (
            plain == program
            or plain.startswith((f"{program} ", f"{program}-", f"{program}."))
            or (" " in program and words == program.replace(" ", "-"))
        ):
            rest = [word for word in plain[len(program) :].split() if re.fullmatch(r"--?[a-z][a-z-]{0,20}", word)]
            command = " ".join([program, *rest])
            return command if question_of(command) is not None else ""
    return ""


def _used(found: TextHost | None, starts: list[tuple[int, str]]) -> list[str]:
    """The files in which something was recognised, or a known message stands."""
    if found is None:
        return []
    lines = {part.first for part in found.recognised if part.role == "now" and part.question not in _PROSE}
    lines |= set(_message_lines(found.answers["text"].text)) - {line for line, _ in starts}  # not the names themselves
    names: list[str] = []
    for at, (first, name) in enumerate(starts):
        end = starts[at + 1][0] if at + 1 < len(starts) else None
        if any(first <= line and (end is None or line < end) for line in lines):
            names.append(name)
    return names


def _message_lines(text: str) -> Iterator[int]:
    from rocdoctor.knowledge.messages.program_errors import message_literals
    from rocdoctor.parsers.logs.message_match import find_messages

    return (one.line for one in find_messages(message_literals(), text))


def _machines(names: list[str]) -> list[str]:
    """Folders that hold outputs of the same program under the same name: those of several machines."""
    where: dict[str, list[str]] = {}
    for name in names:
        folder, _, last = name.rpartition("/")
        if _command(last):
            where.setdefault(last, []).append(folder)
    return next((folders[:4] for folders in where.values() if len(folders) > 1), [])


def _stem(name: str) -> str:
    """The name of a file without what only says that it is an output: ``dmesg.log.2.gz`` is ``dmesg``."""
    while "." in name:
        front, _, ending = name.rpartition(".")
        if ending.lower() not in _ENDINGS and not (ending.isascii() and ending.isdecimal() and len(ending) <= 3):
            break
        name = front
    return name
