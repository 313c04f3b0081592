"""What several tests of this room make."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path


def program_file(path: Path, text: str, reader: str = "/bin/sh") -> None:
    """A script that everybody may run."""
    path.write_text(f"#!{reader}\n{text}")
    path.chmod(0o755)


def elf_file(path: Path, names: Sequence[str] = (), folders: str = "", also: bytes = b"") -> None:
    """An ELF file for 64 bits that names libraries and, as RUNPATH, folders; ``also`` stands in it as text."""
    texts, places = b"\0", []
    for one in [*names, folders]:
        places.append(len(texts))
        texts += os.fsencode(one) + b"\0"
    rows = [(1, at) for at in places[:-1]] + [(29, places[-1]), (5, 64 + 2 * 56), (10, len(texts)), (0, 0)]
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    start = 64 + 2 * 56 + len(texts)
    dynamic = b"".join(struct.pack("<QQ", *row) for row in rows)
    whole = start + len(dynamic)
    segments = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, whole, whole, 4096)
    segments += struct.pack("<IIQQQQQQ", 2, 6, start, start, start, len(dynamic), len(dynamic), 8)
    path.write_bytes(head + segments + texts + dynamic + b"\0" + also + b"\0")
    path.chmod(0o755)
