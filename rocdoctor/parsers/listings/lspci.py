"""`lspci` in its flat forms (plain, -n, -nn, -k, -v to -vvvv, -mm, -vmm): the PCI functions and what is said of each.

The tree form is read by ``lspci_tree``, the capability blocks of -vv by ``lspci_caps``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of, pci_address, to_int, value_of
from rocdoctor.parsers.listings.lspci_caps import LinkRate, Region, capability_values, region_of
from rocdoctor.parsers.listings.lspci_names import (
    machine_line,
    machine_value,
    set_class,
    set_name,
    subsystem,
    without_trailers,
)

MAX_DEVICES = 20_000
MAX_PATH = 64

_HEADER = regex(r"[ \t>]{0,12}((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7])[ \t]+(\S.*)\Z")
_CLASS = regex(r"(?:Class )?([0-9A-Fa-f]{4}|[A-Za-z0-9][^:\[\"]{0,80}?)(?: \[([0-9a-fA-F]{4})\])?:[ \t]+(\S.*)\Z")
_BUS = regex(
    r"Bus: primary=[0-9a-fA-F]{1,2}, secondary=([0-9a-fA-F]{1,2}), subordinate=([0-9a-fA-F]{1,2})(?![0-9a-fA-F])"
)
_FLAGS_NUMA = regex(r"NUMA node (\d{1,5})")
_LABELLED = regex(r"([A-Z][A-Za-z ]{1,24}):[ \t]*(?![ \t])(.*)\Z")
_CAPABILITY = regex(r"Capabilities: (?:\[[0-9a-fA-F]{1,3}(?: v\d{1,2})?\] )?(.*)\Z")


@dataclass(frozen=True, slots=True)
class LspciDevice:
    """One PCI function as lspci shows it.

    ``bdf`` is the full address. Ids and codes are lower-case hexadecimal texts without 0x ("1002", class "0302").
    ``name`` is the whole text of vendor and device; it is split only where the vendor is known. ``acs_enabled`` holds
    the bits that are set; None means that the capability is not in the text, or hidden from an ordinary user. ``lines``
    has the 1-based line of each value by field name.
    """

    bdf: str
    line: int
    class_name: str | None = None
    class_code: str | None = None
    revision: str | None = None
    name: str | None = None
    vendor_name: str | None = None
    device_name: str | None = None
    vendor_id: str | None = None
    device_id: str | None = None
    subsystem_vendor_id: str | None = None
    subsystem_device_id: str | None = None
    driver: str | None = None
    modules: tuple[str, ...] = ()
    numa_node: int | None = None
    link_cap: LinkRate | None = None
    link_status: LinkRate | None = None
    acs_enabled: tuple[str, ...] | None = None
    regions: tuple[Region, ...] = ()
    secondary_bus: int | None = None
    subordinate_bus: int | None = None
    lines: dict[str, int] = field(default_factory=dict)

    @property
    def bus(self) -> int:
        """The bus number of the function itself."""
        return int(self.bdf.split(":")[1], 16)

    @property
    def domain(self) -> str:
        """The PCI domain, "0000" where the text gave none."""
        return self.bdf.split(":")[0]


def parse_lspci(text: str) -> tuple[LspciDevice, ...]:
    """The functions of one or several lspci outputs in the order of the text; the same address is one device.

    Where an address comes again (`lspci -nn` followed by `lspci -vv`), the first value of each field is kept.
    """
    found: dict[str, LspciDevice] = {}
    header: dict[str, Any] | None = None
    body: list[tuple[int, str]] = []
    gap = False  # blank lines part devices, but not what stands indented below them from its device
    for number, raw in enumerate(lines_of(text), 1):
        start = _header_of(raw, number)
        if start is not None:
            _finish(found, header, body)
            if len(found) >= MAX_DEVICES:
                return tuple(found.values())
            header, body, gap = start, [], False
        elif header is not None:
            stripped = raw.strip()
            if not stripped:
                gap = True
            elif not gap or raw[:1].isspace():
                body.append((number, stripped))
                gap = False
            else:
                _finish(found, header, body)
                header, body = None, []
    _finish(found, header, body)
    return tuple(found.values())


class UpstreamPaths:
    """Which bridges lie above which function, looked up in one index of a listing."""

    def __init__(self, devices: Iterable[LspciDevice]) -> None:
        self._by_address: dict[str, LspciDevice] = {}
        self._bridges: dict[tuple[str, int], LspciDevice] = {}  # the nearest, by domain and bus
        for device in devices:
            self._by_address[device.bdf] = device
        for device in self._by_address.values():
            if device.secondary_bus:
                last = device.subordinate_bus or device.secondary_bus
                for bus in range(max(device.secondary_bus, device.bus + 1), last + 1):
                    nearest = self._bridges.get((device.domain, bus))
                    # Virtual functions may sit on a bus beyond their parent's secondary one: then the narrowest range
                    # has them. Of equal ones the first.
                    if nearest is None or device.secondary_bus > (nearest.secondary_bus or 0):
                        self._bridges[device.domain, bus] = device

    def of(self, bdf: str) -> tuple[LspciDevice, ...] | None:
        """The bridges above a function, root port first; () for one on a root bus, None where ``bdf`` is not there.

        In an excerpt bridges may be missing: the path is whole only if its first entry sits on a root bus. Needs bus
        numbers (-v and above, or the tree).
        """
        current = self._by_address.get(pci_address(bdf) or "")
        if current is None:
            return None
        path: list[LspciDevice] = []
        seen = {current.bdf}
        while len(path) < MAX_PATH:
            parent = self._bridges.get((current.domain, current.bus))
            if parent is None or parent.bdf in seen:
                break
            seen.add(parent.bdf)
            path.append(parent)
            current = parent
        return tuple(reversed(path))


def _finish(found: dict[str, LspciDevice], header: dict[str, Any] | None, body: list[tuple[int, str]]) -> None:
    if header is None:
        return
    _read_body(header, body)
    device = LspciDevice(**header)
    known = found.get(device.bdf)
    found[device.bdf] = device if known is None else _merged(known, device)


def _merged(first: LspciDevice, second: LspciDevice) -> LspciDevice:
    changes: dict[str, Any] = {}
    for entry in fields(LspciDevice):
        if entry.name in ("bdf", "line", "lines"):
            continue
        mine, other = getattr(first, entry.name), getattr(second, entry.name)
        if mine in (None, (), False) and other not in (None, (), False):
            changes[entry.name] = other
    return replace(first, lines={**second.lines, **first.lines}, **changes)


def _header_of(raw: str, number: int) -> dict[str, Any] | None:
    if raw.startswith(("Slot:", "Device:")):  # -vmm and -vm
        bdf = pci_address(raw.partition(":")[2]) if len(raw) < 40 else None
        return None if bdf is None else {"bdf": bdf, "line": number, "lines": {}}
    match = _HEADER.match(raw[:2000])
    if match is None:
        return None
    bdf, rest = pci_address(match.group(1)), match.group(2)
    if bdf is None:
        return None
    values: dict[str, Any] = {"bdf": bdf, "line": number, "lines": {}}
    if rest.startswith('"'):
        return values if machine_line(rest, values) else None
    parts = _CLASS.match(rest)
    if parts is None:
        return None
    set_class(values, parts.group(1), parts.group(2))
    set_name(values, without_trailers(values, parts.group(3)))
    if values.get("revision") == "ff":  # all ones: asleep or fallen off the bus
        values["revision"] = None
    return values


_TEXTS = {"Rev": "revision", "Kernel driver in use": "driver", "Driver": "driver"}
_OF_EXPRESS = frozenset({"DevCap", "DevCtl", "DevSta", "LnkCap", "LnkCtl", "LnkSta", "LnkCap2", "LnkCtl2", "LnkSta2"})


def _read_body(values: dict[str, Any], body: list[tuple[int, str]]) -> None:
    lines: dict[str, int] = values["lines"]
    capabilities: list[tuple[int, str]] = []  # line, text
    regions: list[Region] = []
    in_capability = False

    def put(key: str, value: object, line: int) -> None:
        if value is not None and values.get(key) in (None, ()):
            values[key] = value
            lines[key] = line

    for number, line in body:
        block = _CAPABILITY.match(line[:400])
        if block:
            in_capability = True
            capability = str(block.group(1))
            if capability.startswith("Subsystem:"):
                subsystem(capability[10:].strip(), put, number)
            capabilities.append((number, ""))
            continue
        labelled = _LABELLED.match(line)
        label, rest = (labelled.group(1), labelled.group(2)) if labelled else ("", "")
        if label in ("Kernel driver in use", "Kernel modules", "Driver", "Module"):
            in_capability = False
        if label in ("Kernel modules", "Module"):
            names = tuple(name.strip() for name in rest.split(",") if name.strip())[:50]
            values["modules"] = tuple(values.get("modules", ())) + names
            lines.setdefault("modules", number)
        elif in_capability or label in _OF_EXPRESS:  # the latter of an output that was cut down to such lines
            capabilities.append((number, line))
        elif label in ("NUMA node", "NUMANode"):
            put("numa_node", to_int(rest), number)
        elif label in _TEXTS:
            put(_TEXTS[label], value_of(rest), number)
        elif label in ("Class", "Vendor", "Device", "SVendor", "SDevice"):
            machine_value(values, label, rest)
        elif label == "Subsystem":
            subsystem(rest, put, number)
        elif label == "Flags":
            numa = _FLAGS_NUMA.search(rest)
            put("numa_node", int(numa.group(1)) if numa else None, number)
        elif label == "Bus":
            buses = _BUS.match(line)
            for key, group_number in (("secondary_bus", 1), ("subordinate_bus", 2)):
                put(key, int(buses.group(group_number), 16) if buses else None, number)
        elif len(regions) < 16 and (region := region_of(line, number)) is not None:
            regions.append(region)
    if regions:
        values["regions"] = tuple(regions)
        lines["regions"] = regions[0].line
    capability_values(capabilities, put)
