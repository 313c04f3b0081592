"""Secrets in disguise: base64, hexadecimal, percent and backslash escapes that hide one, and known values in any code.

What decodes to readable text is judged by the same rules as plain text. A value that stood beside a secret-like name
once is known from then on, and is replaced wherever it stands again, also in code at any offset.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable
from itertools import islice
from urllib.parse import quote, unquote

from rocdoctor.host.masking.rules import CODED_TOKEN, VALUE_TOKEN, MaskingTables
from rocdoctor.host.masking.secrets import mask_secrets
from rocdoctor.model.lazy_re import regex

Note = Callable[[str, str], None]

# Words and paths are not base64: the code has a capital among its first signs.
_RUN = regex(r"(?<![A-Za-z0-9+/_-])(?=[a-z0-9+/_-]{0,80}[A-Z])[A-Za-z0-9+/_-]{20,}={0,2}")
_HEX_RUN = regex(r"(?:[0-9a-fA-F]{2}){10,}(?![0-9a-fA-F])|[0-9a-fA-F]{2}(?:[: ][0-9a-fA-F]{2}){12,}")
_ESCAPES = regex(r"(?:\\{1,2}x[0-9a-fA-F]{2}|\\{1,2}u00[0-9a-fA-F]{2}){8,}")
_PERCENT = regex(r"[^\s\"'<>&?;=]+")
_PERCENT_SIGN = regex(r"%[0-9A-Fa-f]{2}")
_PRINTABLE = bytes(range(32, 127)) + b"\t\n\r"
_LONGEST = 200_000
_MOST_UNQUOTED = 4  # an address in an address in an address
_MOST_UNPACKED = 65_536
_MIXED = regex(r"(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])")

# Signs that spell a letter in another way, or that nobody sees: a name that is written so tells as much.
_UNSEEN = r"[\u00ad\u034f\u061c\u115f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]"
_WIDE = r"[\uff01-\uff5e]"
OTHER_SIGNS = rf"{_UNSEEN}|{_WIDE}"
_SPELLED = regex(
    rf"{_UNSEEN}|(?P<w>{_WIDE})|"
    r"&(?:#(?P<d>\d{2,3})|#[xX](?P<h>[2-7][0-9a-fA-F])|(?P<n>quot|apos|equals|colon));|"
    r"(?:\\{1,2}x|%)(?P<x>[2-7][0-9a-fA-F])"
)
_SIGNS = {"quot": '"', "apos": "'", "equals": "=", "colon": ":"}


def mask_spelled(text: str, tables: MaskingTables, note: Note) -> str:
    """The text with secrets whose names, quotes or separators are spelled in another way; other lines stay."""
    if not ("\\x" in text or "%" in text or "&" in text or not text.isascii()) or not _SPELLED.search(text):
        return text
    lines = text.split("\n")
    plain = {at: said for at, line in enumerate(lines) if (said := _SPELLED.sub(_letter, line)) != line}
    masked = _masked_lines(plain, tables, _nowhere)
    telling = {at: said for at, said in plain.items() if masked[at] != said}
    for at, said in _masked_lines(telling, tables, note).items():
        lines[at] = said
    return "\n".join(lines)


def _masked_lines(lines: dict[int, str], tables: MaskingTables, note: Note) -> dict[int, str]:
    """Lines by their numbers, masked together: one by one each would cost all rules."""
    if not lines:
        return {}
    masked = mask_secrets("\n".join(lines.values()), tables, note).split("\n")
    if len(masked) != len(lines):  # no rule reaches over a line end; should one ever, nothing may slip through
        masked = [VALUE_TOKEN] * len(lines)
    return dict(zip(lines, masked, strict=True))


def _letter(match: re.Match[str]) -> str:
    if match["w"]:
        return chr(ord(match["w"]) - 0xFEE0)
    if match["n"]:
        return _SIGNS[match["n"]]
    number = int(match["d"]) if match["d"] else int(match["h"] or match["x"] or "0", 16)
    return chr(number) if 32 <= number < 127 else match.group() if number else ""


def mask_coded(text: str, tables: MaskingTables, note: Note) -> str:
    """The text with each run replaced that decodes to text which holds a secret."""
    text = _RUN.sub(lambda match: _run(match, tables, note), text)
    if "\\x" in text or "\\u00" in text:
        text = _ESCAPES.sub(lambda match: _run(match, tables, note), text)
    if _PERCENT_SIGN.search(text):
        text = "\n".join(_percent(line, tables, note) if "%" in line else line for line in text.split("\n"))
    if "3" in text or "6" in text or "7" in text:
        text = _HEX_RUN.sub(lambda match: _run(match, tables, note), text)
    return text


def _percent(line: str, tables: MaskingTables, note: Note) -> str:
    if not _PERCENT_SIGN.search(line):
        return line
    return _PERCENT.sub(lambda match: _run(match, tables, note) if "%" in match.group() else match.group(), line)


def _run(match: re.Match[str], tables: MaskingTables, note: Note) -> str:
    run = match.group()
    if not holds_secret(run, tables):
        return run
    note("coded-secret", run)
    return CODED_TOKEN


def holds_secret(run: str, tables: MaskingTables, depth: int = 2) -> bool:
    """Whether the run decodes to readable text that masking would change; it may be in code twice."""
    for text in _readings(run[:_LONGEST]):
        if _changes(text, tables):
            return True
        inner = _RUN.search("".join(text.split())) if depth > 1 else None
        if inner is not None and holds_secret(inner.group(), tables, depth - 1):
            return True
    return False


def _changes(text: str, tables: MaskingTables) -> bool:
    """Whether masking would change a decoded text; a secret may follow any sign there."""
    if mask_secrets(text, tables, _nowhere) != text or "/home/" in text:
        return True
    low = text.lower()
    return any(
        tables.secrets[number].pattern.match(text[at.start() :])
        for word, numbers in tables.literals.items()
        if len(word) > 2 and word in low
        for at in islice(re.finditer(re.escape(word), low), 5)
        for number in numbers
    )


def _nowhere(_cls: str, _value: str) -> None:
    pass


def _readings(run: str) -> list[str]:
    """What a run may mean, as far as it is readable."""
    if "%" in run:
        unquoted = [unquote(run)]
        while "%25" in run and len(unquoted) < _MOST_UNQUOTED and (more := unquote(unquoted[-1])) != unquoted[-1]:
            unquoted.append(more)
        return unquoted
    if "\\" in run:
        return [readable(bytes(int(pair, 16) for pair in re.findall(r"[xu](?:00)?([0-9a-fA-F]{2})", run)))]
    digits = run.replace(":", "").replace(" ", "")
    if re.fullmatch(r"[0-9a-fA-F]+", digits):
        return [text] if len(digits) % 2 == 0 and (text := readable(bytes.fromhex(digits))) else []
    if not _MIXED.match(run):
        return []
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    found: list[str] = []
    for offset in range(4):
        part = plain[offset:]
        part = part[: len(part) - (len(part) % 4 == 1)]
        try:
            data = binascii.a2b_base64(part + "=" * (-len(part) % 4))
        except binascii.Error:
            continue
        if text := readable(data):
            found.append(text)
    return found


def readable(data: bytes) -> str:
    """The bytes as text, unpacked where they are packed, where nearly all of them are printable; "" otherwise."""
    if data[:2] == b"\x1f\x8b" or data[:2] in (b"\x78\x9c", b"\x78\xda", b"\x78\x01"):
        unpacker = zlib.decompressobj(wbits=47)  # gzip or zlib, as its head says
        try:
            data = unpacker.decompress(data, _MOST_UNPACKED)
        except zlib.error:
            return ""
    strange = len(data.translate(None, _PRINTABLE))
    # Arguments of a process are parted by zeros.
    return data.replace(b"\0", b" ").decode("ascii", errors="replace") if strange * 8 <= len(data) else ""


class KnownValues:
    """Secrets that were seen beside their names, to be found again in any code; not thread-safe on its own."""

    MOST = 24
    _FORM = regex(r"[A-Za-z0-9+/=_.~!@#$%^&*-]{8,400}")

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._needles: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    def learn(self, value: str, sure: bool = False) -> bool:
        """Remembers a value that cannot be a word of the tools' output; ``sure``: its name alone says what it is."""
        value = value.strip()
        if value in self._values or len(self._values) >= self.MOST or not self._FORM.fullmatch(value):
            return False
        kinds = any(c.isdigit() for c in value) + any(c.isupper() for c in value) + any(c.islower() for c in value)
        if value.startswith("masked-") or value[0] in "/~<" or kinds < (1 if sure and len(value) >= 12 else 2):
            return False
        if re.fullmatch(r"0x[0-9a-f]+|[\d.:+-]+|v?\d+(?:\.\w+)+(?:-\w+)*|gfx\w+|\w{1,20}[-_]\d{1,4}", value):
            return False
        if not sure and re.fullmatch(r"[A-Z][a-z]+[.,:;!?]?", value):  # a word as any sentence begins with
            return False
        self._values.add(value)
        for needle in _codes(value):
            if len(needle) >= 8:
                self._needles[needle] = VALUE_TOKEN if needle == value else CODED_TOKEN
        self._pattern = None
        return True

    def full(self) -> bool:
        """Whether no more values are remembered."""
        return len(self._values) >= self.MOST

    def known(self) -> list[str]:
        """The values, in lower case."""
        return [value.lower() for value in self._values]

    def adopt(self, other: KnownValues) -> int:
        """Remembers the values that another run knows; how many are new."""
        before = len(self._values)
        self._values |= other._values
        self._needles.update(other._needles)
        return len(self._values) - before

    def mask(self, text: str, note: Note) -> str:
        """The text without the known values."""
        present = [needle for needle in self._needles if needle in text]
        if not present:
            return text
        for needle in sorted(present, key=len, reverse=True):
            if needle in text:
                note("secret-value" if self._needles[needle] == VALUE_TOKEN else "coded-secret", needle)
                text = re.sub(_bounded(needle, self._needles[needle] == VALUE_TOKEN), self._needles[needle], text)
        return text


def _bounded(needle: str, plain: bool) -> str:
    """The expression of a known value: in code the signs around it belong to the same code word."""
    around = "" if plain else r"[A-Za-z0-9+/_%-]{0,400}"
    return f"{around}{re.escape(needle)}{around}" + ("" if plain else "={0,2}")


def _codes(value: str) -> set[str]:
    """The value as it stands in plain text, percent escapes, hexadecimal, and base64 at each of three offsets."""
    data = value.encode()
    found = {value, quote(value, safe=""), "".join(f"%{byte:02X}" for byte in data), data.hex(), data.hex().upper()}
    found.add("".join(f"\\x{byte:02x}" for byte in data))
    for offset in range(3):
        coded = base64.b64encode(b"\0" * offset + data).decode().rstrip("=")
        # The first and the last signs also hold bits of the neighbours.
        inner = coded[(0, 2, 3)[offset] :]
        if (offset + len(data)) % 3:
            inner = inner[:-1]
        found |= {inner, inner.replace("+", "-").replace("/", "_")}
    return found
