"""The capability blocks, BAR lines and links of `lspci -vv`: what stands under one function.

Labels and flags are those of pciutils 3.2 to 3.13. A block may run over several lines; a line without a label belongs
to the label before it.
"""

from __future__ import annotations

import re
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
_SPEED = regex(r"Speed[ \t]+([0-9.]{1,6})[ \t]?GT/s(?:[ \t]\((\w{1,20})\))?")
_WIDTH = regex(r"Width[ \t]+(x[0-9]{1,3})(?:[ \t]\((\w{1,20})\))?")
_ASPM = regex(r"ASPM ([^,;]{1,40}?)(?: supported)?[,;]")
_PAYLOAD = regex(r"MaxPayload (\d{1,5}) bytes")
_READ_REQUEST = regex(r"MaxReadReq (\d{1,5}) bytes")
_EXPRESS = regex(r"(?:PCI )?Express (?:\(v\d\) )?([A-Za-z][A-Za-z /-]{2,60})")
_REBAR = regex(r"BAR (\d): current size: ?([0-9]{1,10}[A-Z]{1,2})(?:, supported: ?([0-9A-Z ]{1,600}))?")
_REGION = regex(
    r"(?:\[virtual\] )?(?:Region (\d): )?(Memory|I/O ports) at (<[^>]{1,40}>|[0-9a-fA-F]{1,16})"
    r"(?: \(([^)]{1,60})\))?(.*)\Z"
)
_SIZE = regex(r"\[size=([0-9]{1,12}[KMGTPE]?)\]")
_PORT = regex(r"Port #(\d{1,3})")

# Names that older releases gave to the same bits.
_ALIASES = {"UncorrErr": "NonFatalErr", "UnsuppReq": "UnsupReq", "NonFatalErr": "NonFatalErr"}
_DEVICE_ERRORS = ("CorrErr", "NonFatalErr", "FatalErr", "UnsupReq")


@dataclass(frozen=True, slots=True)
class Region:
    """One BAR: ``kind`` "memory" or "io", ``address`` hexadecimal or None, ``size_bytes`` None where none is given.

    ``unassigned``: no address was given to it; ``ignored``: the system disregards what the device has; ``virtual``:
    the system knows an address that the device does not have; ``disabled``: decoding is off.
    """

    index: int | None
    kind: str
    address: str | None
    size_bytes: int | None
    bits: int | None
    prefetchable: bool | None
    disabled: bool
    unassigned: bool
    ignored: bool
    virtual: bool
    line: int


@dataclass(frozen=True, slots=True)
class ResizableBar:
    """Current and possible sizes of one BAR, bytes."""

    bar: int
    current_bytes: int | None
    supported_bytes: tuple[int, ...]
    line: int


@dataclass(frozen=True, slots=True)
class LinkCapability:
    """What a port can do: ``speed_gt_s`` per lane, ``width`` in lanes, ``aspm`` ("L0s L1", "not")."""

    speed_gt_s: float | None
    width: int | None
    aspm: str | None
    port: int | None
    line: int


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """How a link runs: the notes are lspci's own words ("ok", "downgraded", "overdriven"), None where it gave none.

    Recent releases write no note for "ok" and none at all for root and downstream ports. ``active`` is DLActive,
    which only ports that report it set.
    """

    speed_gt_s: float | None
    width: int | None
    speed_note: str | None
    width_note: str | None
    training: bool | None
    active: bool | None
    line: int


@dataclass(frozen=True, slots=True)
class AtomicOps:
    """AtomicOpsCap and AtomicOpsCtl; None for a bit that is not printed for this kind of port.

    ``routing`` stands for switch and root ports, ``completer_*`` for those that execute such operations,
    ``requester_enabled`` (ReqEn) for functions that may send them, ``egress_blocked`` for ports that refuse to
    forward them.
    """

    routing: bool | None = None
    completer_32bit: bool | None = None
    completer_64bit: bool | None = None
    completer_128bit_cas: bool | None = None
    requester_enabled: bool | None = None
    egress_blocked: bool | None = None


def region_of(line: str, number: int) -> Region | None:
    """The BAR on one line ("Region 0: Memory at ... [size=16G]" or, under -v, without the index)."""
    match = _REGION.match(line[:400])
    if match is None:
        return None
    index, kind, where, what, rest = match.groups()
    size = _SIZE.search(rest)
    what = what or ""
    bits = 64 if "64-bit" in what else 32 if "32-bit" in what else None
    prefetchable = None if "prefetchable" not in what else "non-prefetchable" not in what
    return Region(
        index=int(index) if index else None,
        kind="memory" if kind == "Memory" else "io",
        address=None if where.startswith("<") else where.lower(),
        size_bytes=to_bytes(size.group(1)) if size else None,
        bits=bits,
        prefetchable=prefetchable,
        disabled="[disabled" in rest,
        unassigned=where == "<unassigned>",
        ignored=where == "<ignored>",
        virtual="[virtual]" in rest or line.startswith("[virtual]"),
        line=number,
    )


def flags_of(text: str) -> dict[str, bool]:
    """The flags of a line: "SrcValid+ TransBlk-" gives {"SrcValid": True, "TransBlk": False}."""
    return {match.group(1): match.group(2) == "+" for match in _FLAG.finditer(text[:4000])}


def capability_values(entries: Sequence[tuple[int, str, str]], put: Put) -> None:
    """Reads the lines under "Capabilities:" (line number, name of the block, text) and puts what they say."""
    labelled: dict[str, tuple[int, list[str]]] = {}
    bars: list[ResizableBar] = []
    label = ""
    current: str | None = None
    for number, block, line in entries:
        if not line:
            label, current = "", block
            express = _EXPRESS.match(block)
            if express:
                put("port_type", express.group(1).strip(), number)
            continue
        match = _LABEL.match(line)
        if match:
            label = match.group(1)
            # The first block of a kind speaks for the function.
            if label not in labelled:
                labelled[label] = (number, [match.group(2)])
            else:
                label = ""
            continue
        rebar = _REBAR.match(line[:800])
        if rebar and len(bars) < 6 and current is not None and "Virtual" not in current:
            sizes = tuple(size for word in (rebar.group(3) or "").split() if (size := to_bytes(word)) is not None)
            bars.append(ResizableBar(int(rebar.group(1)), to_bytes(rebar.group(2)), sizes, number))
        elif label and len(labelled[label][1]) < 20:
            labelled[label][1].append(line)
    if bars:
        put("resizable_bars", tuple(bars), bars[0].line)
    texts = {key: (number, " ".join(parts)) for key, (number, parts) in labelled.items()}
    _links(texts, put)
    _payload(texts, put)
    _atomics(texts, put)
    for key, name in (("ACSCap", "acs_capable"), ("ACSCtl", "acs_enabled")):
        _set_flags(texts, key, name, put)
    for key, name in (("UESta", "aer_uncorrectable"), ("CESta", "aer_correctable")):
        _set_flags(texts, key, name, put)
    if "DevSta" in texts:
        number, text = texts["DevSta"]
        flags = {_ALIASES.get(name, name): value for name, value in flags_of(text).items()}
        if any(name in flags for name in _DEVICE_ERRORS):
            put("device_errors", tuple(name for name in _DEVICE_ERRORS if flags.get(name)), number)


def _set_flags(texts: dict[str, tuple[int, str]], key: str, name: str, put: Put) -> None:
    if key in texts:
        number, text = texts[key]
        flags = flags_of(text)
        if flags:
            put(name, tuple(flag for flag, on in flags.items() if on), number)


def _speed(text: str) -> tuple[float | None, str | None]:
    match = _SPEED.search(text)
    if match is None:
        return None, None
    try:
        value = float(match.group(1))
    except ValueError:
        return None, None
    return (value if value > 0 else None), match.group(2)


def _links(texts: dict[str, tuple[int, str]], put: Put) -> None:
    if "LnkCap" in texts:
        number, text = texts["LnkCap"]
        width, aspm, port = _WIDTH.search(text), _ASPM.search(text + ","), _PORT.search(text)
        speed = _speed(text)[0]
        lanes = to_width(width.group(1)) if width else None
        named = aspm.group(1).strip() if aspm else None
        put("link_cap", LinkCapability(speed, lanes, named, int(port.group(1)) if port else None, number), number)
    if "LnkSta" in texts:
        number, text = texts["LnkSta"]
        width = _WIDTH.search(text)
        speed, note = _speed(text)
        lanes = to_width(width.group(1)) if width else None
        flags = flags_of(text)
        width_note = width.group(2) if width else None
        put(
            "link_status",
            LinkStatus(speed, lanes, note, width_note, flags.get("Train"), flags.get("DLActive"), number),
            number,
        )
    if "LnkCtl" in texts:
        number, text = texts["LnkCtl"]
        match = _ASPM.search(text)
        put("aspm_enabled", match.group(1).removesuffix(" Enabled").strip() if match else None, number)
    if "LnkCap2" in texts:
        number, text = texts["LnkCap2"]
        match = re.search(r"Supported Link Speeds: ([0-9., -]{0,60}?)([0-9.]{1,5})[ ]?GT/s", text)
        put("link_speeds_max_gt_s", _float(match.group(2)) if match else None, number)


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _payload(texts: dict[str, tuple[int, str]], put: Put) -> None:
    for key, name, pattern in (
        ("DevCap", "max_payload_supported_bytes", _PAYLOAD),
        ("DevCtl", "max_payload_bytes", _PAYLOAD),
        ("DevCtl", "max_read_request_bytes", _READ_REQUEST),
    ):
        if key in texts:
            number, text = texts[key]
            match = pattern.search(text)
            put(name, int(match.group(1)) if match else None, number)


def _atomics(texts: dict[str, tuple[int, str]], put: Put) -> None:
    if "AtomicOpsCap" not in texts and "AtomicOpsCtl" not in texts:
        return
    cap_line, cap_text = texts.get("AtomicOpsCap", (0, ""))
    ctl_line, ctl_text = texts.get("AtomicOpsCtl", (0, ""))
    cap, ctl = flags_of(cap_text), flags_of(ctl_text)
    if not cap and not ctl:
        return
    atomics = AtomicOps(
        routing=cap.get("Routing"),
        completer_32bit=cap.get("32bit"),
        completer_64bit=cap.get("64bit"),
        completer_128bit_cas=cap.get("128bitCAS"),
        requester_enabled=ctl.get("ReqEn"),
        egress_blocked=ctl.get("EgressBlck"),
    )
    put("atomic_ops", atomics, cap_line or ctl_line)
