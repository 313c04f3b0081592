"""``nvidia-smi nvlink --status`` and ``nvidia-smi topo -m``: how the GPUs of a machine are joined."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of, value_of, whole_number
from rocdoctor.parsers.nvidia.nvidia_records import NvidiaFailure, parse_failures

_MAX_LINE = 4000
_MAX_DEVICES = 512
_GPU = regex(r"GPU (\d{1,4}): (.{1,200}?) \(UUID: ([^)\s]{1,80})\)")
_LINK = regex(r"\s{0,20}Link (\d{1,3}): {0,8}(.{0,80})")
_SPEED = regex(r"(\d{1,5}(?:\.\d{1,6})?) {0,4}GB/s")
_LINK_KIND = regex(r"(?:X|PIX|PXB|PHB|NODE|SYS|SOC|PSB|NV\d{1,3}|NVB|C2C\d{0,3}|N/A|-)\Z")
_COLUMNS = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")


@dataclass(frozen=True, slots=True)
class NvLinkRow:
    """One link: ``speed_gb_s`` is gigabytes a second in one direction, ``active`` None where the text says neither."""

    index: int
    active: bool | None
    speed_gb_s: float | None
    line: int


@dataclass(frozen=True, slots=True)
class NvLinkGpu:
    """One GPU's links; ``all_inactive`` where the tool says that every link is down."""

    index: int
    name: str | None
    uuid: str | None
    links: tuple[NvLinkRow, ...]
    all_inactive: bool
    line: int


@dataclass(frozen=True, slots=True)
class NvLinkStatus:
    """All GPUs of one ``nvlink --status``."""

    gpus: tuple[NvLinkGpu, ...]
    failures: tuple[NvidiaFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class TopoRow:
    """One device of the matrix.

    ``links`` maps the other devices to the kind of path: NV4 (bonded NVLinks and their number), PIX (one PCIe bridge),
    PXB (several bridges), PHB (the CPU's host bridge), NODE (between host bridges of one NUMA node), SYS (between NUMA
    nodes; SOC in old drivers).
    """

    name: str
    links: Mapping[str, str]
    line: int


@dataclass(frozen=True, slots=True)
class NvidiaTopology:
    """The matrix of ``topo -m``."""

    rows: tuple[TopoRow, ...] = ()
    failures: tuple[NvidiaFailure, ...] = ()


def nvlink_count(kind: str | None) -> int | None:
    """4 from NV4, 0 from any other kind of path, None where nothing is known."""
    if kind is None:
        return None
    return (whole_number(kind[2:]) or 0) if kind[:2] == "NV" else 0


def parse_nvlink_status(text: str) -> NvLinkStatus:
    """``nvidia-smi nvlink --status``."""
    heads: list[tuple[int, int, str | None, str | None]] = []
    links: list[list[NvLinkRow]] = []
    messages: list[str | None] = []
    for at, raw in enumerate(lines_of(text), 1):
        line = raw[:_MAX_LINE]
        if match := _GPU.search(line):
            if len(heads) >= _MAX_DEVICES:
                break
            heads.append((at, int(match.group(1)), value_of(match.group(2)), match.group(3)))
            links.append([])
            messages.append(None)
        elif not heads:
            continue
        elif (match := _LINK.match(line)) and len(links[-1]) < 256:
            speed = _SPEED.search(match.group(2))
            inactive = "inactive" in match.group(2).lower()
            value = float(speed.group(1)) if speed else None
            state = False if inactive else True if speed else None
            links[-1].append(NvLinkRow(int(match.group(1)), state, value, at))
        elif "nvlink" in line.lower() and "unable to retrieve" in line.lower():
            messages[-1] = line.strip()
    gpus = tuple(
        NvLinkGpu(
            index=index,
            name=name,
            uuid=uuid,
            links=tuple(links[at]),
            all_inactive=_all_inactive(links[at], messages[at]),
            line=line_number,
        )
        for at, (line_number, index, name, uuid) in enumerate(heads)
    )
    return NvLinkStatus(gpus, parse_failures(text))


def _all_inactive(links: list[NvLinkRow], message: str | None) -> bool:
    if links:
        return all(link.active is False for link in links)
    return message is not None and "all links are inactive" in message.lower()


def parse_topo(text: str) -> NvidiaTopology:
    """``nvidia-smi topo -m``, with tabs or with the blanks of a pasted copy; a row cut at its end has fewer links."""
    devices: list[str] | None = None
    rows: list[TopoRow] = []
    for at, raw in enumerate(lines_of(text), 1):
        line = raw[:_MAX_LINE].strip().lstrip("> ")
        words = line.split()
        if not words:
            continue
        if re.match(r"GPU\d{1,4}\Z", words[0]) and not (len(words) > 1 and _LINK_KIND.match(words[1])):
            devices = _header(line)
        elif devices and words[0] in devices and len(rows) < _MAX_DEVICES:
            row = _row(at, words, devices)
            if row is not None:
                rows.append(row)
    return NvidiaTopology(tuple(rows), parse_failures(text))


def _header(line: str) -> list[str]:
    first = min((at for name in _COLUMNS if (at := line.find(name)) >= 0), default=len(line))
    return line[:first].split()[:_MAX_DEVICES]


def _row(at: int, words: list[str], devices: list[str]) -> TopoRow | None:
    kinds: list[str] = []
    for word in words[1 : len(devices) + 1]:
        if not _LINK_KIND.match(word):
            break
        kinds.append(word)
    if not kinds:
        return None
    links = {
        other: kind
        for other, kind in zip(devices, kinds, strict=False)
        if kind not in ("X", "N/A", "-") and other != words[0]
    }
    return TopoRow(words[0], links, at)
