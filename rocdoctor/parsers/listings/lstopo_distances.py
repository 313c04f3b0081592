"""Distance matrices in the XML of hwloc 1 (``distances``), 2 and 3 (``distances2``, ``distances2hetero``)."""

from __future__ import annotations

from collections.abc import Iterator

from rocdoctor.parsers.formats.text import number, to_int, value_of
from rocdoctor.parsers.formats.xml import Element
from rocdoctor.parsers.listings.lstopo_records import HwlocDistances

_MAX_OBJECTS = 1024
_MAX_MATRICES = 64
# ACPI's SLIT writes 10 for local memory; hwloc 1 divides by it (latency_base).
_SLIT_LOCAL = 10.0
# No bandwidth in MB/s and no latency comes near it.
_MAX_VALUE = 1e12


def read_distances(root: Element) -> tuple[HwlocDistances, ...]:
    """Every matrix below ``root``; one whose numbers do not fill a square is left out."""
    objects: dict[str, Element] = {}
    old: list[tuple[Element, Element]] = []
    new: list[Element] = []
    for one in root.walk():
        if one.tag == "object":
            objects.setdefault(one.get("gp_index") or "", one)
            old.extend((one, child) for child in one.children if child.tag == "distances")
        elif one.tag in ("distances2", "distances2hetero"):
            new.append(one)
    found = [_old_matrix(around, one) for around, one in old[:_MAX_MATRICES]]
    found += [_new_matrix(one, objects) for one in new[:_MAX_MATRICES]]
    return tuple(matrix for matrix in found if matrix is not None)


def _new_matrix(one: Element, objects: dict[str, Element]) -> HwlocDistances | None:
    count = to_int(one.get("nbobjs"))
    if count is None or not 0 < count <= _MAX_OBJECTS:
        return None
    keys = list(_words(one, "indexes"))
    values = [value for word in _words(one, "u64values") if (value := _value(word)) is not None]
    if len(keys) != count or len(values) != count * count:
        return None
    labels: list[str | None] = []
    for key in keys:
        # Matrices between objects of several kinds write "OSDev:701".
        plain = key.rpartition(":")[2]
        if one.get("indexing") == "os":
            labels.append(plain)
        else:
            named = objects.get(plain)
            labels.append(None if named is None else value_of(named.get("name") or named.get("os_index")))
    return HwlocDistances(value_of(one.get("name")), tuple(labels), _square(values, count))


def _old_matrix(around: Element, one: Element) -> HwlocDistances | None:
    count = to_int(one.get("nbobjs"))
    base = _value(one.get("latency_base")) or _SLIT_LOCAL
    if count is None or not 0 < count <= _MAX_OBJECTS:
        return None
    relative = [value for child in one.children if (value := _value(child.get("value"))) is not None]
    nodes = [other for other in around.walk() if other.tag == "object" and other.get("type") == "NUMANode"]
    # Rows are in the order of the objects in the file; without that many nodes they are of some other kind.
    if len(relative) != count * count or len(nodes) != count:
        return None
    labels = tuple(value_of(node.get("os_index")) for node in nodes)
    values = _square([round(value * base, 6) for value in relative], count)
    return HwlocDistances("NUMALatency", labels, values)


def _value(text: str | None) -> float | None:
    found = number(text)
    return found if found is not None and 0 <= found <= _MAX_VALUE else None


def _words(one: Element, tag: str) -> Iterator[str]:
    for child in one.children:
        if child.tag == tag:
            yield from child.text.split()


def _square(values: list[float], count: int) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(values[at : at + count]) for at in range(0, count * count, count))
