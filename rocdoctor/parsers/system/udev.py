"""Records of udev's database: `udevadm info` (also --export-db), and what the host asks through libudev."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of

_MAX_LINES = 200_000
_MAX_RECORDS = 20_000
_LINE = regex(r"([A-Z]): (.{1,1000})")
_SEAT = regex(r"seat[A-Za-z0-9_-]{0,60}")  # seat_name_is_valid of systemd
_TAGS = ("CURRENT_TAGS", "TAGS")
_ACCESS_TAGS = ("seat", "uaccess")


@dataclass(frozen=True, slots=True)
class UdevDevice:
    """A device: ``path`` below /sys, ``properties`` by name, ``lines`` (from 1) by the same names."""

    path: str
    properties: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    line: int = 1

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that it has now (TAGS also has those that it once had; systemd below 247 knows only these)."""
        value = next((self.properties[name] for name in _TAGS if name in self.properties), "")
        return tuple(tag for tag in value.split(":")[:64] if tag)

    @property
    def tags_line(self) -> int:
        """Where the tags stand, else where the record begins."""
        return next((self.lines[name] for name in _TAGS if name in self.lines), self.line)

    @property
    def seat(self) -> str | None:
        """The seat that it belongs to; udev means seat0 where it names none (udev-builtin-uaccess.c)."""
        named = self.properties.get("ID_SEAT", "seat0" if any(tag in _ACCESS_TAGS for tag in self.tags) else "")
        return named if _SEAT.fullmatch(named) else None


def parse_udevadm(text: str) -> tuple[UdevDevice, ...]:
    """Reads records that a line "P:" begins; lines of other kinds than P and E are passed over."""
    found: list[UdevDevice] = []
    path, begins, properties, lines = "", 0, dict[str, str](), dict[str, int]()

    def end() -> None:
        if path and len(found) < _MAX_RECORDS:
            found.append(UdevDevice(path, properties, lines, begins))

    for number, raw in enumerate(lines_of(text, _MAX_LINES), 1):
        match = _LINE.match(raw)
        if match is None:
            continue
        letter, rest = match.groups()
        if letter == "P":
            end()
            path, begins, properties, lines = rest.strip(), number, {}, {}
        elif letter == "E" and path:
            name, mark, value = rest.partition("=")
            if mark:
                properties[name], lines[name] = value.strip(), number
    end()
    return tuple(found)


def device_of_node(devices: tuple[UdevDevice, ...], node: str) -> UdevDevice | None:
    """The record of a device node ("/dev/kfd")."""
    return next((one for one in devices if one.properties.get("DEVNAME") == node), None)


def pci_device_of(devices: tuple[UdevDevice, ...], device: UdevDevice) -> UdevDevice | None:
    """The record of the PCI device that a device belongs to."""
    above = [
        one
        for one in devices
        if one.properties.get("SUBSYSTEM") == "pci" and device.path.startswith(one.path.rstrip("/") + "/")
    ]
    return max(above, key=lambda one: len(one.path), default=None)
