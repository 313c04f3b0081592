"""What the PCI core says about one device: link speed and width, NUMA node, memory regions, AER counters.

Formats: drivers/pci/pci-sysfs.c, drivers/pci/pcie/aer.c and Documentation/ABI/testing/sysfs-bus-pci of the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.parsers.formats.text import PCIE_GEN_GT_S, hex_int, lines_of, to_gt_s, to_int

# Bits of struct resource's flags (include/linux/ioport.h).
_FLAG_MEM = 0x200
_FLAG_PREFETCH = 0x2000
_FLAG_MEM_64 = 0x100000


@dataclass(frozen=True, slots=True)
class PciRegion:
    """One line of ``resource``: 0-5 are the BARs, 6 the ROM, later ones SR-IOV and bridge windows."""

    index: int
    size_bytes: int
    is_memory: bool
    prefetchable: bool
    is_64bit: bool
    line: int


def parse_link_speed(text: str) -> float | None:
    """GT/s per lane from ``current_link_speed`` or ``max_link_speed``; "Unknown", PCI and AGP words are None."""
    speed = to_gt_s(text) if "gt/s" in text.lower() else None
    return speed if speed in PCIE_GEN_GT_S.values() else None


def parse_link_width(text: str) -> int | None:
    """Lanes from ``current_link_width`` or ``max_link_width``; 0 and 255 mean that there is no link: None."""
    lanes = to_int(text)
    return lanes if lanes is not None and 1 <= lanes <= 32 else None


def parse_numa_node(text: str) -> int | None:
    """The NUMA node; -1 means that the firmware names none: None."""
    node = to_int(text)
    return node if node is not None and 0 <= node <= 4096 else None


def parse_resource(text: str) -> tuple[PciRegion, ...]:
    """The regions in use of ``resource`` (start, end, flags in hexadecimal); all-zero lines are left out."""
    regions = []
    for number, line in enumerate(lines_of(text, 64), start=1):
        words = line.split()
        values = [hex_int(word) for word in words[:3]]
        if len(words) != 3 or any(value is None or value >= 1 << 64 for value in values):
            continue
        start, end, flags = (value or 0 for value in values)
        if end <= start or not flags:
            continue
        regions.append(
            PciRegion(
                index=number - 1,
                size_bytes=end - start + 1,
                is_memory=bool(flags & _FLAG_MEM),
                prefetchable=bool(flags & _FLAG_PREFETCH),
                is_64bit=bool(flags & _FLAG_MEM_64),
                line=number,
            )
        )
    return tuple(regions)


def largest_memory_bar(regions: tuple[PciRegion, ...]) -> PciRegion | None:
    """The largest prefetchable 64-bit BAR of the device itself: the window through which others reach its VRAM."""
    bars = [one for one in regions if one.index <= 5 and one.is_memory and one.prefetchable and one.is_64bit]
    return max(bars, key=lambda one: one.size_bytes, default=None)


def parse_aer(text: str) -> int | None:
    """The TOTAL_* line of aer_dev_correctable, aer_dev_fatal or aer_dev_nonfatal: errors since boot."""
    for line in lines_of(text, 200):
        name, _, value = line.strip().rpartition(" ")
        count = to_int(value)
        if name.startswith("TOTAL_") and count is not None and count >= 0:
            return count
    return None
