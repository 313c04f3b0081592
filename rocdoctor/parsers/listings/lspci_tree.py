"""`lspci -t` and `lspci -tv`: which function sits below which bridge, drawn as a tree.

The bus of a line follows from the column of its branch mark, so lines whose columns were lost are left out.
"""

from __future__ import annotations

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import format_pci, lines_of
from rocdoctor.parsers.listings.lspci import MAX_DEVICES, LspciDevice

_ROOT = regex(r"\[([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2})(?:-[0-9a-fA-F]{2})?\]")
_FUNCTION = regex(r"([01][0-9a-fA-F])\.([0-7])")
_BUSES = regex(r"-?\[(?:[0-9a-fA-F]{4,8}:)?([0-9a-fA-F]{2})(?:-([0-9a-fA-F]{2}))?\]")
_NAME = regex(r"[ \t]{1,4}(\S.{0,400})\Z")
_IDS = regex(r"\[([0-9a-fA-F]{4}):([0-9a-fA-F]{4})\]\Z")
_DEVICE = regex(r"(?:^|.*[ \t])Device ([0-9a-fA-F]{4})\Z")


def parse_lspci_tree(text: str) -> tuple[LspciDevice, ...]:
    """The functions of a tree in its order, bridges with ``secondary_bus`` and ``subordinate_bus``.

    Class and driver are not in a tree. ``UpstreamPaths`` of ``lspci`` works on the result.
    """
    found: dict[str, LspciDevice] = {}
    places: dict[int, tuple[int, int] | None] = {}  # column of a branch mark -> domain and bus of what hangs there
    for number, raw in enumerate(lines_of(text), 1):
        line = raw.expandtabs(8)[:1000]
        start = len(line) - len(line.lstrip(" |>"))
        if start >= len(line) or line[start] not in "+\\-":
            continue
        if len(found) >= MAX_DEVICES:
            break
        place = places.get(start) if line[start] in "+\\" else None
        places = {column: value for column, value in places.items() if column <= start}
        _read_line(line, start, place, places, found, number)
    return tuple(found.values())


def _read_line(
    line: str,
    position: int,
    place: tuple[int, int] | None,
    places: dict[int, tuple[int, int] | None],
    found: dict[str, LspciDevice],
    number: int,
) -> None:
    first = position
    while position < len(line):
        mark = line[position]
        if mark in "-\\":
            position += 1
            continue
        if mark == "+":
            if position != first:
                places[position] = place
            position += 1
            continue
        root = _ROOT.match(line, position)
        if root:
            place = int(root.group(1), 16), int(root.group(2), 16)
            position = root.end()
            continue
        function = _FUNCTION.match(line, position)
        if function is None or place is None:
            return
        bdf = format_pci(place[0], place[1], int(function.group(1), 16), int(function.group(2)))
        position = function.end()
        buses = _BUSES.match(line, position)
        secondary = subordinate = None
        if buses:
            secondary = int(buses.group(1), 16)
            subordinate = int(buses.group(2) or buses.group(1), 16)
            position = buses.end()
        name = None if buses else _NAME.match(line, position)
        if bdf is None:
            return
        found.setdefault(bdf, _device(bdf, number, place[1], secondary, subordinate, name.group(1) if name else None))
        if secondary is None:
            return
        place = place[0], secondary


def _device(
    bdf: str, line: int, bus: int, secondary: int | None, subordinate: int | None, name: str | None
) -> LspciDevice:
    vendor_id = device_id = None
    if name is not None:
        name = name.rstrip()
        ids = _IDS.search(name)
        nameless = _DEVICE.match(name)
        if ids:
            vendor_id, device_id = ids.group(1).lower(), ids.group(2).lower()
            name = name[: ids.start()].strip()
        elif nameless:
            device_id = nameless.group(1).lower()
    return LspciDevice(
        bdf=bdf,
        line=line,
        name=name or None,
        vendor_id=vendor_id,
        device_id=device_id,
        secondary_bus=secondary,
        subordinate_bus=subordinate,
    )
