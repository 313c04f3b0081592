"""Numbers that name one device or one machine: 64-bit ids, UUIDs, serial numbers, machine ids, WWNs.

Each is replaced by a pseudonym of the same form, so that every parser still reads it and equal ids stay equal. A
pseudonym is known by its shape (``0x5eed0000........``, ``........-5eed-4000-8000-............``): masking again,
also in a later run, leaves it alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rocdoctor.host.masking.rules import sub_lines
from rocdoctor.model.lazy_re import regex

_MARK = 0x5EED0000
_EFI_PUBLIC = {"8be4df61-93ca-11d2-aa0d-00e098032b8c", "c12a7328-f81f-11d2-ba4b-00a0c93ec93b"}

_NUMBER = r"0x[0-9a-fA-F]{9,16}|[0-9a-fA-F]{16}|\d{10,20}"
_ID_KEYED = regex(
    r"(?<![A-Za-z])(?P<k>(?:xgmi|amd|node|port|base|board|hca|ca|switch|sys(?:tem)?[_ ]?image|gpu|asic|device)?[_ ]?"
    r"(?:unique[_ ]?id|hive[_ ]?id|guid|uuid|asic[_ ]?serial|serial|(?<![A-Za-z])pdi))"
    r"(?:\"|'|\\\")?(?:[ \t]{1,8}value)?[ \t:=\"'>\\]{1,60}"
    rf"(?P<s>{_NUMBER})(?![0-9A-Za-z_:-])",
    re.IGNORECASE,
)
_GPU_ID = regex(r"(?<![0-9A-Za-z])(?P<p>GPU-)(?P<s>[0-9a-fA-F]{16})(?![0-9A-Za-z-])")
_LONE_ID = regex(r"\s*(?P<s>(?:0x)?[0-9a-fA-F]{16})\s*")
_BARE_NUMBER = regex(r"(?<![0-9A-Za-z_])(?:0x)?[0-9a-fA-F]{9,20}(?![0-9A-Za-z_])")
_GUID_WORDS = regex(r"(?<![0-9A-Za-z:.])[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3}(?![0-9A-Za-z:.])")
_GUID_BYTES = regex(
    r"(?<![0-9A-Za-z:-])(?:(?P<head>(?:[0-9a-fA-F]{2}:){12})?)"
    r"(?P<s>[0-9a-fA-F]{2}(?P<c>[:-])(?:[0-9a-fA-F]{2}(?P=c)){6}[0-9a-fA-F]{2})(?![0-9A-Za-z:-])"
)
# A vendor:device:subvendor:subdevice quadruple has the shape of a GUID and must survive.
_PCI_VENDORS = {"1002", "1022", "10de", "8086", "15b3", "14e4", "1da3", "1d0f", "1af4", "102b", "1a03", "0000"}

_UUID = regex(
    r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}(?![0-9A-Za-z])"
)
_UUID_MARK = regex(r"[0-9a-f]{8}-5eed-4000-8000-[0-9a-f]{12}", re.IGNORECASE)
_SHORT_UUID = regex(r"(?<![0-9A-Za-z])(?P<p>GPU-|MIG-)(?P<s>[0-9a-fA-F]{6,8})(?![0-9A-Za-z-])")
_BUILD = regex(r"build[ _-]?(?:id|uuid)?[\"':= ]{1,6}\Z", re.IGNORECASE)
_FS_UUID = regex(
    r"(?<![A-Za-z])(?P<k>(?:PART|PT|FS|SUB)?UUID[=: \t\"']{1,8})"
    r"(?P<s>[0-9A-F]{4}-[0-9A-F]{4}|[0-9a-fA-F]{8}-[0-9]{2}|[0-9A-F]{16}|[0-9a-f]{8})(?![0-9A-Za-z-])",
    re.IGNORECASE,
)
_SERIAL = regex(
    r"(?P<k>(?:(?<![A-Za-z])(?:asset[_ ]?tag|service[_ ]?tag|s/n)|serial(?:[_ -]?(?:number|num|no|id))?\.?)"
    r"(?:\\?[\"'])?(?:[ \t]{1,8}value)?[ \t]{0,40}[:=>][ \t\"'\\]{0,40})"
    r"(?P<s>[A-Za-z0-9][A-Za-z0-9._-]{3,60})(?![A-Za-z0-9/])",
    re.IGNORECASE,
)
_MACHINE_ID = regex(
    r"(?P<k>(?:(?:machine|boot|invocation)[_ -]?id(?:\\?[\"'])?[ \t:=\"'\\]{1,30}|/journal/))"
    r"(?P<s>[0-9a-f]{32})(?![0-9A-Za-z])",
    re.IGNORECASE,
)
_LONE_MACHINE_ID = regex(r"\s*(?P<s>[0-9a-f]{32})\s*")
_WWN = regex(
    r"(?P<k>(?<![A-Za-z0-9])(?:wwn-0x|eui\.|naa\.|nvme\.)|/by-id/(?:nvme|ata|scsi|usb|mmc|virtio|md-uuid|lvm-pv-uuid)-)"
    r"(?P<s>[0-9A-Za-z][0-9A-Za-z._:-]{5,200})"
)
_NOT_SET = regex(r"(?:0+|0x0+|f+|0xf+|[^0-9]*|.*not.*|ttys?\d.*|(?:default|system|to)[ _].*)", re.IGNORECASE)
_SERIAL_QUESTION = regex(r"(?:serial|serial_number|product_serial|board_serial|chassis_serial|asset_tag|wwid)\s*\Z")


class Pseudonyms:
    """The run's replacement maps: class and original -> number, counted from 1; not thread-safe on its own."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}
        self._distinct: dict[str, set[int]] = {}
        self.totals: dict[str, int] = {}
        # First digits of the UUIDs seen -> the UUID; "" where two have the same.
        self._uuids: dict[str, str] = {}

    def number(self, cls: str, key: str, count: bool = True) -> int:
        """The number of this original within its class, the same for the whole run."""
        known = self._numbers.setdefault(cls, {})
        if count:
            self.note(cls, key)
        return known.setdefault(key, len(known) + 1)

    def known(self, cls: str) -> Mapping[str, int]:
        """The originals of a class with their numbers."""
        return self._numbers.get(cls, {})

    def uuid(self, value: str) -> int:
        """The number of a UUID, or of its first 6 to 8 digits, in lower case: an abbreviation means the same device."""
        if len(value) > 8:
            short = next((value[:size] for size in (8, 7, 6) if value[:size] in self.known("uuid")), None)
            for size in (6, 7, 8):
                first = self._uuids.setdefault(value[:size], value)
                if first != value:
                    self._uuids[value[:size]] = ""
            return self.number("uuid", short or value)
        return self.number("uuid", self._uuids.get(value) or value)

    def note(self, cls: str, value: str) -> None:
        """Counts one replacement; only a hash of the value is kept."""
        self.totals[cls] = self.totals.get(cls, 0) + 1
        self._distinct.setdefault(cls, set()).add(hash(value))

    def distinct(self) -> dict[str, int]:
        return {cls: len(values) for cls, values in self._distinct.items()}


def mask_ids(text: str, pseudonyms: Pseudonyms) -> str:
    """The text with device and machine ids replaced."""
    if "-" in text:
        text = _UUID.sub(lambda m: _uuid(m, pseudonyms), text)
        text = _SHORT_UUID.sub(lambda m: m["p"] + _short_uuid(m["s"], pseudonyms), text)
        text = _GPU_ID.sub(lambda m: m["p"] + id64(m["s"], pseudonyms), text)
    words: tuple[str, ...] = ("unique", "hive", "guid", "uuid", "serial", "pdi")
    text = sub_lines(_ID_KEYED, lambda m: _tail(m, _keyed(m["k"], m["s"], pseudonyms)), text, words)
    words = ("machine", "boot", "invocation", "/journal/")
    text = sub_lines(_MACHINE_ID, lambda m: m["k"] + _machine_id(m["s"], pseudonyms), text, words)
    text = sub_lines(_FS_UUID, lambda m: m["k"] + _fs_uuid(m["s"], pseudonyms), text, ("uuid",))
    text = sub_lines(_SERIAL, lambda m: m["k"] + serial(m["s"], pseudonyms), text, ("serial", "tag", "s/n"))
    words = ("wwn-", "eui.", "naa.", "nvme.", "/by-id/")
    text = sub_lines(_WWN, lambda m: m["k"] + _wwn(m["s"], pseudonyms), text, words)
    if ":" in text or "-" in text:
        text = _GUID_WORDS.sub(lambda m: _guid(m.group(), ":", pseudonyms), text)
        text = _GUID_BYTES.sub(lambda m: (m["head"] or "") + _guid(m["s"], m["c"], pseudonyms), text)
    return text


def bare_numbers(text: str) -> Iterator[int]:
    """Where numbers stand that could be a device's id."""
    return (match.start() for match in _BARE_NUMBER.finditer(text))


def numbered_lines(text: str) -> Iterator[str]:
    """The lines in which such numbers stand."""
    for at in bare_numbers(text):
        end = text.find("\n", at)
        yield text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else len(text)]


def mask_bare_numbers(text: str, pseudonyms: Pseudonyms) -> str:
    """The text with the ids replaced that were seen beside their names before."""
    wanted = pseudonyms.known("device-id")
    return _BARE_NUMBER.sub(lambda m: _bare(m.group(), wanted, pseudonyms), text) if wanted else text


def id64(value: str, pseudonyms: Pseudonyms, decimal: bool = False) -> str:
    """A 64-bit id in the form it has: decimal, hexadecimal, with or without 0x; 0, all ones and small numbers stay."""
    number = int(value, 10 if decimal else 16)
    if number < 1 << 32 or number >= (1 << 64) - 1 or number >> 32 == _MARK:
        return value
    fresh = (_MARK << 32) | pseudonyms.number("device-id", str(number))
    if decimal:
        return str(fresh)
    digits = f"{fresh:016x}"
    if any(char in "ABCDEF" for char in value):
        digits = digits.upper()
    return (value[:2] if value[:2].lower() == "0x" else "") + digits


# What masking itself writes, here or for another class, is not masked again.
_MASKED = regex(
    r"(?:serial|email|user|host|domain|ip|wwn|uuid)-\d+(?:[.\[].*)?|0x5eed0000[0-9a-f]{8}|masked-.*", re.IGNORECASE
)


def serial(value: str, pseudonyms: Pseudonyms) -> str:
    """A serial number; placeholders such as "Not Specified" or zeros stay."""
    if _NOT_SET.fullmatch(value) or _MASKED.fullmatch(value):
        return value
    return f"serial-{pseudonyms.number('serial', value)}"


def _tail(match: re.Match[str], new: str) -> str:
    return match.group()[: match.start("s") - match.start()] + new


def _keyed(key: str, value: str, pseudonyms: Pseudonyms) -> str:
    if key.lower().endswith("serial") and not value.lower().startswith("0x"):
        return value
    # sysfs and lstopo print sixteen hexadecimal digits; only KFD prints decimal, as `unique_id N` and `hive_id N`.
    decimal = value.isdigit() and (len(value) != 16 or key.lower() in ("unique_id", "hive_id"))
    return id64(value, pseudonyms, decimal)


def _bare(value: str, wanted: Mapping[str, int], pseudonyms: Pseudonyms) -> str:
    if str(int(value, 16)) in wanted:
        return id64(value, pseudonyms)
    if value.isdigit() and value in wanted:
        return id64(value, pseudonyms, decimal=True)
    return value


def _guid(value: str, separator: str, pseudonyms: Pseudonyms) -> str:
    digits = value.replace(separator, "")
    if value[:4].lower() in _PCI_VENDORS and separator == ":" and value[4:5] == ":":
        return value
    new = id64(digits, pseudonyms)
    if new == digits:
        return value
    step = value.index(separator)
    return separator.join(new[at : at + step] for at in range(0, 16, step))


def _uuid(match: re.Match[str], pseudonyms: Pseudonyms) -> str:
    value = match.group()
    low = value.lower()
    if _UUID_MARK.fullmatch(low) or low in _EFI_PUBLIC or len(set(low)) <= 2:
        return value
    if _BUILD.search(match.string, max(0, match.start() - 20), match.start()):
        return value
    number = pseudonyms.uuid(low)
    new = f"{number:08x}-5eed-4000-8000-{number:012x}"
    return new.upper() if any(char in "ABCDEF" for char in value) else new


def _short_uuid(value: str, pseudonyms: Pseudonyms) -> str:
    """The abbreviation that CUDA_VISIBLE_DEVICES takes: the first digits of the UUID, of its pseudonym afterwards."""
    low = value.lower()
    if low.startswith("000000"):
        return value
    return f"{pseudonyms.uuid(low):08x}"


def _machine_id(value: str, pseudonyms: Pseudonyms) -> str:
    if value.lower().startswith("5eed0000") or len(set(value)) == 1:
        return value
    return f"5eed0000{pseudonyms.number('machine-id', value.lower()):024x}"


def _fs_uuid(value: str, pseudonyms: Pseudonyms) -> str:
    """The short ids of FAT, NTFS and partition tables; digits only could be a pseudonym's first part or a size."""
    return value if value.startswith("0000") else f"uuid-{pseudonyms.number('uuid', value.lower())}"


def _wwn(value: str, pseudonyms: Pseudonyms) -> str:
    if re.fullmatch(r"wwn-\d+(?:-part\d+)?", value):
        return value
    if re.fullmatch(r"[0-9a-f]{16}", value):
        return id64(value, pseudonyms)
    part = re.search(r"-part\d{1,3}\Z", value)
    head = value[: part.start()] if part else value
    return f"wwn-{pseudonyms.number('wwn', head)}" + (part.group() if part else "")


def serial_question(question: str) -> bool:
    """Whether the answer to this question is a serial number."""
    return _SERIAL_QUESTION.search(question) is not None


def mask_whole_answer(text: str, pseudonyms: Pseudonyms, question: str) -> str:
    """An answer that is one bare id replaced; ``question`` tells what a file with one bare value holds."""
    if len(text) > 200:
        return text
    lone = _LONE_ID.fullmatch(text)
    if lone and not _SERIAL_QUESTION.search(question):
        return text[: lone.start("s")] + id64(lone["s"], pseudonyms) + text[lone.end("s") :]
    lone = _LONE_MACHINE_ID.fullmatch(text)
    if lone:
        return text[: lone.start("s")] + _machine_id(lone["s"], pseudonyms) + text[lone.end("s") :]
    if _SERIAL_QUESTION.search(question) and text.strip() and "\n" not in text.strip():
        return text.replace(text.strip(), serial(text.strip(), pseudonyms))
    return text
