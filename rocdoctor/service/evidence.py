"""Which host an argument means: a capture, a folder, an archive, a text."""

from __future__ import annotations

import os
import stat
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from typing import IO, BinaryIO

from rocdoctor.host.base import MAX_ANSWER_BYTES, Answer, Host
from rocdoctor.host.decoding import NotText, decode
from rocdoctor.host.evidence.capture import MAX_FILE_BYTES, CaptureError, CaptureHost, gunzip, is_capture, parse
from rocdoctor.host.evidence.folder import DiskTree, FolderTree, TreeError, TreeHost
from rocdoctor.host.evidence.job_files import folder_text, is_pickle, named, pickle_advice
from rocdoctor.host.live.named_path import open_named
from rocdoctor.host.live.regular_files import open_regular
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.model.printable import spelled
from rocdoctor.service.errors import InputError

MAX_ARCHIVE_BYTES = 1024 * 1024 * 1024


def open_evidence(argument: str) -> Host:
    """The evidence that ``--from`` names; raises InputError."""
    try:
        if argument == "-":
            return _from_bytes(_standard_input(), "standard input")
        path = _named(argument)
        opened = open_named(path)
        if stat.S_ISDIR(os.fstat(opened).st_mode):
            return _open_folder(DiskTree(path, opened), path)
        with open(opened, "rb") as stream:
            head = stream.read(512)
            stream.seek(0)
            if _looks_like_tar(head, path, stream):
                if os.fstat(opened).st_size > MAX_ARCHIVE_BYTES:
                    raise InputError(f"{argument}: larger than {MAX_ARCHIVE_BYTES // 2**20} MiB")
                from rocdoctor.host.evidence.archive import TarTree

                return _open_tree(TarTree(os.fdopen(os.dup(opened), "rb")), path.name)
            return _from_bytes(_bounded(stream.read(MAX_FILE_BYTES + 1), argument), path.name)
    except (TreeError, CaptureError, NotText) as error:
        raise InputError(f"{'standard input' if argument == '-' else argument}: {error}") from None
    except OSError as error:
        raise InputError(f"{argument}: {error.strerror or error}") from None


def _open_folder(tree: DiskTree, path: Path) -> Host:
    tree.listed(())  # a folder that may not be looked into is an error, not an empty one
    text, pickles = folder_text(tree)
    if text:
        from rocdoctor.paste import open_text

        return open_text(text, path.name or path.resolve().name)
    if pickles:
        name, head = pickles[0]
        raise InputError(f"{path / name}: {pickle_advice(head, str(path / name))}")
    return _open_tree(tree, path.name or path.resolve().name)


def _open_tree(tree: FolderTree, origin: str) -> Host:
    try:
        return TreeHost(tree, origin)
    except TreeError:  # no known layout: then what the text reader knows
        from rocdoctor.paste.unsorted_folder import open_loose

        return open_loose(tree, origin)


def read_text(argument: str) -> str:
    """The text of a file, or of standard input for "-"; "" for an empty one. Raises InputError."""
    try:
        data = _content(argument)
        return decode(data) if data.strip() else ""
    except NotText as error:
        raise InputError(f"{argument}: {error}") from None
    except OSError as error:
        raise InputError(f"{argument}: {error.strerror or error}") from None


def standard_stream() -> BinaryIO:
    """Standard input, as bytes; raises InputError where we were started without one."""
    if sys.stdin is None:
        raise InputError("standard input: it is closed")
    return sys.stdin.buffer


def _standard_input() -> bytes:
    return _bounded(standard_stream().read(MAX_FILE_BYTES + 1), "standard input")


def _named(argument: str, folders: bool = True) -> Path:
    """The path of a regular file, or of a folder; raises InputError for what is neither."""
    path = Path(argument)
    if not path.is_file() and not (folders and path.is_dir()):  # a pipe or a device could block or never end
        what = "no such file or folder" if not path.exists() else "neither a file nor a folder (use - to read a pipe)"
        raise InputError(f"{spelled(argument)}: {what}")
    return path


def _content(argument: str) -> bytes:
    """What a file holds, or standard input for "-"."""
    if argument == "-":
        return _standard_input()
    with open_regular(_named(argument, folders=False)) as stream:
        return _bounded(stream.read(MAX_FILE_BYTES + 1), argument)


def _bounded(data: bytes, name: str) -> bytes:
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"{spelled(name)}: larger than {MAX_FILE_BYTES // 2**20} MiB; cut out the part that matters")
    return data


def _looks_like_tar(head: bytes, path: Path, stream: IO[bytes]) -> bool:
    """Whether it is a tar archive, also a compressed one under another name; the stream is at its beginning again."""
    if head[:2] == b"\x1f\x8b":
        unpacker = zlib.decompressobj(wbits=31)
        try:
            return unpacker.decompress(stream.read(65536), 512)[257:262] == b"ustar"
        except zlib.error:
            return False
        finally:
            stream.seek(0)
    if head[257:262] == b"ustar":
        return True
    packed = head.startswith((b"BZh", b"\xfd7zXZ\x00"))
    return path.name.endswith((".tar", ".tar.xz", ".txz", ".tar.bz2", ".tbz2")) and (packed or path.suffix == ".tar")


def _from_bytes(data: bytes, origin: str) -> Host:
    if data[:2] == b"\x1f\x8b":
        data = gunzip(data)
    if is_capture(data):
        return CaptureHost(parse(data), origin)
    if is_pickle(data):
        raise NotText(pickle_advice(data, origin))
    from rocdoctor.host.evidence.whole_outputs import whole_output
    from rocdoctor.paste import TextHost, open_text

    text = decode(data)
    if (answer := whole_output(text)) is not None:
        return TextHost({answer.question: answer, "text": Answer("text", "ok", complete=False)}, origin)
    return open_text(named(text, origin), origin)


def add_answers(host: Host, arguments: list[str]) -> Host:
    """The host with more evidence: each argument is ``QUESTION=FILE``, or a file (or ``-``) whose kind shows."""
    extra: dict[str, Answer] = {}
    for argument in arguments:
        question, name = "", argument
        if "=" in argument and not Path(argument).is_file():
            question, _, name = argument.rpartition("=")
        label = "standard input" if name == "-" else name
        try:
            data = _content(name)
            data = gunzip(data) if data[:2] == b"\x1f\x8b" else data
            if is_pickle(data):
                raise NotText(pickle_advice(data, name))
            # The answer to a question that was named may be binary.
            text = decode(data) if not question or data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        except OSError as error:
            raise InputError(f"{spelled(name)}: {error.strerror or error}") from None
        except (CaptureError, NotText) as error:
            raise InputError(f"{spelled(label)}: {error}") from None
        if question:
            data = text.encode() or data
            cut = len(data) > MAX_ANSWER_BYTES
            data = data[:MAX_ANSWER_BYTES].rstrip(b"\n")
            extra[question] = Answer(question, "ok", data, truncated=cut, complete=False)
            continue
        from rocdoctor.paste import recognise
        from rocdoctor.paste.job_logs import MANY

        found = recognise(named(text, name))
        if not found:
            raise InputError(f"{spelled(label)}: not recognised; say what it is: --add 'run dmesg={name}'")
        for answer in found:
            # Each rank of a job writes files of its own: they are one answer together.
            before = extra.get(answer.question) or host.ask(answer.question) if answer.question in MANY else None
            if before is not None and before.ok:
                extra[answer.question] = replace(answer, data=before.data + b"\n" + answer.data)
            else:
                extra.setdefault(answer.question, answer)
    return OverlayHost(host, extra) if extra else host
