"""Which host an argument means: this machine, a capture, a folder, an archive."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from rocdoctor.host.base import Answer, Host
from rocdoctor.host.capture import MAX_FILE_BYTES, CaptureError, CaptureHost, gunzip, is_capture, parse
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.host.tree import DiskTree, TarTree, TreeError, TreeHost


class InputError(Exception):
    """An input that cannot be read; the message names it and says why."""


def open_live(timeout_s: float, python: str | None, include_identity: bool = False) -> Host:
    """This machine, masked unless the identity was asked for, and recorded."""
    from rocdoctor.host.live import LiveHost
    from rocdoctor.host.recorder import MaskedHost, Recorder

    host: Host = LiveHost(timeout_s, python)
    if not include_identity:
        from rocdoctor.host.masking import Masker

        masker = Masker()
        user = os.environ.get("SUDO_USER") or os.environ.get("USER") or os.environ.get("LOGNAME")
        try:
            accounts = Path("/etc/passwd").read_text(encoding="utf-8", errors="replace")
        except OSError:
            accounts = None
        masker.learn(hostname=socket.gethostname(), user=user, home=os.path.expanduser("~"), passwd=accounts)
        host = MaskedHost(host, masker)
    return Recorder(host)


def open_evidence(argument: str) -> Host:
    """The evidence that ``--from`` names; raises InputError."""
    if argument == "-":
        return _from_bytes(sys.stdin.buffer.read(MAX_FILE_BYTES + 1), "standard input")
    path = Path(argument)
    try:
        if path.is_dir():
            return TreeHost(DiskTree(path), path.name)
        if not path.is_file():
            what = "no such file or folder" if not path.exists() else "neither a file nor a folder"
            raise InputError(f"{argument}: {what}")
        if path.stat().st_size > MAX_FILE_BYTES * 8:
            raise InputError(f"{argument}: larger than {MAX_FILE_BYTES * 8 // 2**20} MiB")
        with path.open("rb") as stream:
            head = stream.read(512)
        if _looks_like_tar(head, path.name):
            return TreeHost(TarTree(path), path.name)
        return _from_bytes(path.read_bytes(), path.name)
    except (TreeError, CaptureError) as error:
        raise InputError(f"{argument}: {error}") from None
    except OSError as error:
        raise InputError(f"{argument}: {error.strerror or error}") from None


def _looks_like_tar(head: bytes, name: str) -> bool:
    if head[257:262] == b"ustar":
        return True
    return name.endswith((".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2"))


def _from_bytes(data: bytes, origin: str) -> Host:
    if data[:2] == b"\x1f\x8b":
        data = gunzip(data)
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"{origin}: larger than {MAX_FILE_BYTES // 2**20} MiB")
    if is_capture(data):
        return CaptureHost(parse(data), origin)
    from rocdoctor.host.text import open_text

    return open_text(data.decode("utf-8", errors="replace"), origin)


def add_answers(host: Host, arguments: list[str]) -> Host:
    """The host with more evidence: each argument is ``QUESTION=FILE``, or a file (or ``-``) whose kind shows."""
    extra: dict[str, Answer] = {}
    for argument in arguments:
        question, _, name = argument.rpartition("=") if "=" in argument else ("", "", argument)
        try:
            data = sys.stdin.buffer.read(MAX_FILE_BYTES) if name == "-" else Path(name).read_bytes()[:MAX_FILE_BYTES]
        except OSError as error:
            raise InputError(f"{name}: {error.strerror or error}") from None
        if question:
            extra[question] = Answer(question, "ok", data.rstrip(b"\n"), complete=False)
            continue
        from rocdoctor.host.text import recognise

        found = recognise(data.decode("utf-8", errors="replace"))
        if not found:
            raise InputError(f"{name}: not recognised; say what it is: --add 'run dmesg={name}'")
        for answer in found:
            extra.setdefault(answer.question, answer)
    return OverlayHost(host, extra) if extra else host
