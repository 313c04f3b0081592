"""The capability blocks, BAR lines and links of `lspci -vv`: what stands under one function.

Labels and flags are those of pciutils 3.2 to 3.13. A block may run over several lines; a line without a label belongs
to the label before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import to_bytes, to_width

Put = Callable[[str, object, int], None]

_LABEL = regex(
    r"(DevCap2?|DevCtl2?|DevSta2?|LnkCap2?|LnkCtl[23]?|LnkSta2?|SltCap|SltCtl|SltSta|RootCap|RootCtl|RootSta|RootCmd|"
    r"AtomicOpsCap|AtomicOpsCtl|ACSCap|ACSCtl|UESta|UEMsk|UESvrt|CESta|CEMsk|AERCap|HeaderLog|ErrorSrc):"
    r"[ \t]*(?![ \t])(.*)\Z"
)
_FLAG = regex(r"(?<![^\s,(])([A-Za-z0-9_./-]{1,40}?)([+-])(?=[\s,)]|\Z)")
_SPEED = regex(r"Speed[ \t]+([0-9.]{1,6})[ \t]?GT/s")
_WIDTH = regex(r"Width[ \t]+(x[0-9]{1,3})")
_REGION = regex(
    r"(?:\[virtual\] )?(?:Region \d: )?(?:Memory|I/O ports) at (?:<[^>]{1,40}>|[0-9a-fA-F]{1,16})"
    r"(?: \([^)]{1,60}\))?(.*)\Z"
)
_SIZE = regex(r"\[size=([0-9]{1,12}[KMGTPE]?)\]")


@dataclass(frozen=True, slots=True)
class Region:
    """One BAR; ``size_bytes`` None where none is given."""

    size_bytes: int | None
    line: int


@dataclass(frozen=True, slots=True)
class LinkRate:
    """What a link can do, or how it runs: ``speed_gt_s`` per lane, ``width`` in lanes."""

    speed_gt_s: float | None
    width: int | None


def region_of(line: str, number: int) -> Region | None:
    """The BAR on one line ("Region 0: Memory at ... [size=16G]" or, under -v, without the index)."""
    match = _REGION.match(line[:400])
    if match is None:
        return None
    size = _SIZE.search(match.group(1))
    return Region(to_bytes(size.group(1)) if size else None, number)


def flags_of(text: str) -> dict[str, bool]:
    """The flags of a line: "SrcValid+ TransBlk-" gives {"SrcValid": True, "TransBlk": False}."""
    return {match.group(1): match.group(2) == "+" for match in _FLAG.finditer(text[:4000])}


def capability_values(entries: Sequence[tuple[int, str]], put: Put) -> None:
    """Reads the lines under "Capabilities:" (line number, text; "" where a block begins) and puts what they say."""
    labelled: dict[str, tuple[int, list[str]]] = {}
    label = ""
    for number, line in entries:
        if not line:
            label = ""
            continue
        match = _LABEL.match(line)
        if match:
            label = match.group(1)
            # The first block of a kind speaks for the function.
            if label not in labelled:
                labelled[label] = (number, [match.group(2)])
            else:
                label = ""
        elif label and len(labelled[label][1]) < 20:
            labelled[label][1].append(line)
    for key, name in (("LnkCap", "link_cap"), ("LnkSta", "link_status")):
        if key in labelled:
            number, parts = labelled[key]
            put(name, _rate(" ".join(parts)), number)
    if "ACSCtl" in labelled:
        number, parts = labelled["ACSCtl"]
        if flags := flags_of(" ".join(parts)):
            put("acs_enabled", tuple(flag for flag, on in flags.items() if on), number)


def _rate(text: str) -> LinkRate:
    speed, width = _SPEED.search(text), _WIDTH.search(text)
    rate = _float(speed.group(1)) if speed else None
    return LinkRate(rate if rate is not None and rate > 0 else None, to_width(width.group(1)) if width else None)


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
