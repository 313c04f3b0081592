"""InfiniBand and RoCE devices: the files of /sys/class/infiniband."""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import to_int, value_of

_STATE = regex(r"(\d{1,2}):[ \t]*([A-Za-z_ ]{2,40}?)[ \t]*\Z")
_RATE = regex(r"([0-9]{1,5}(?:\.[0-9]{1,3})?)[ \t]*Gb/sec(?:[ \t]*\((\d{1,2})X(?:[ \t]+([A-Z0-9]{2,5}))?\))?")


@dataclass(frozen=True, slots=True)
class IbRate:
    """The rate of a port: ``gbit_s`` of all lanes, ``lanes`` (4 for "4X"), ``generation`` ("NDR")."""

    gbit_s: float
    lanes: int | None
    generation: str | None


def port_state(text: str) -> str | None:
    """The state file in capitals: "ACTIVE" from "4: ACTIVE"."""
    stripped = text.strip()[:200]
    match = _STATE.match(stripped)
    word = value_of(match.group(2) if match else stripped)
    return word.upper() if word is not None else None


def port_rate(text: str) -> IbRate | None:
    """Reads the rate file, "400 Gb/sec (4X NDR)"; None where there is no positive rate."""
    match = _RATE.search(text[:200])
    if match is None or float(match.group(1)) <= 0:
        return None
    return IbRate(float(match.group(1)), int(match.group(2)) if match.group(2) else None, match.group(3))


def link_layer(text: str) -> str | None:
    """The layer, "InfiniBand" or "Ethernet", from the link_layer file and the tools."""
    word = (value_of(text) or "").lower()
    return {"infiniband": "InfiniBand", "ethernet": "Ethernet", "ib": "InfiniBand", "eth": "Ethernet"}.get(word)


def counter(text: str) -> int | None:
    """A counter file; None for "N/A (no PMA)" and the like."""
    value = to_int(text)
    return value if value is not None and value >= 0 else None
