"""Bytes of a file as text, or what they are instead."""

from __future__ import annotations

# How files begin that people attach by mistake.
_FORMATS = (
    (b"PK\x03\x04", "a zip archive; unpack it and name the folder"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\xfd7zXZ\x00", "compressed with xz; unpack it first"),
    (b"BZh", "compressed with bzip2; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it and name the folder"),
    (b"\x89PNG", "a picture; text is needed"),
    (b"\xff\xd8\xff", "a picture; text is needed"),
    (b"%PDF-", "a PDF document; text is needed"),
    (b"\x7fELF", "a program, not text"),
)
# Byte order marks of the forms in which PowerShell and editors on Windows write text.
_WIDE = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"


class NotText(ValueError):
    """Bytes that are no text; the message says what they are instead."""


def decode(data: bytes) -> str:
    """Bytes of a text file as text; raises ValueError saying what they are when they are none."""
    for begin, what in _FORMATS:
        if data.startswith(begin):
            raise NotText(what)
    for mark, coding in _WIDE:
        if data.startswith(mark):
            return data.decode(coding, errors="replace").removeprefix("\ufeff")
    if data[257:262] == b"ustar":
        raise NotText("a tar archive can only be read from a file, not from a pipe")
    head = data[:65536]
    if not head.strip() and not data.strip():
        raise NotText("it is empty")
    strange = len(head) - len(head.translate(None, _CONTROLS))
    if strange > len(head) // 32 + 8:  # a tenth of the bytes of packed or encrypted data, next to none of any text
        raise NotText("binary data, neither text nor a capture nor an archive")
    return data.decode("utf-8", errors="replace").removeprefix("\ufeff")
