"""The topology that NCCL and RCCL write to ``NCCL_TOPO_DUMP_FILE`` (or read from ``NCCL_TOPO_FILE``).

Link speeds and widths in it come from sysfs ``max_link_speed`` and ``max_link_width`` (``src/graph/xml.cc`` of both
libraries): they say what a device could do, a link trained slower or narrower does not show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rocdoctor.parsers.formats.cpuset import mask_to_list
from rocdoctor.parsers.formats.text import gfx_name, hex_int, pci_address, to_gt_s, to_int, to_width, value_of
from rocdoctor.parsers.formats.xml import Element, parse_xml

_MAX_DEVICES = 4096


@dataclass(frozen=True, slots=True)
class RcclCpu:
    """One NUMA node with its CPUs."""

    numa_node: int | None
    cpulist: str | None
    arch: str | None
    vendor: str | None
    line: int


@dataclass(frozen=True, slots=True)
class RcclPci:
    """One PCI device or switch port; speed (GT/s a lane) and width are the highest possible ones."""

    bdf: str | None
    pci_class: str | None
    pci_id: str | None
    subsystem_id: str | None
    max_speed_gt_s: float | None
    max_width: int | None
    line: int


@dataclass(frozen=True, slots=True)
class RcclLink:
    """A direct link of a GPU: ``kind`` is xgmi, nvlink or c2c, ``count`` the number of lanes bundled in it."""

    kind: str
    target: str | None
    count: int | None
    line: int


@dataclass(frozen=True, slots=True)
class RcclGpu:
    """One GPU of the job (GPUs that no rank uses may be missing from the file).

    ``compute_units`` stands in AMD's files, ``compute_capability`` in NVIDIA's.
    ``upstream`` is the path of PCI switches and ports, the nearest first.
    """

    gfx: str | None
    compute_units: int | None
    compute_capability: str | None
    numa_node: int | None
    pci: RcclPci | None
    upstream: tuple[RcclPci, ...]
    links: tuple[RcclLink, ...]
    line: int

    @property
    def bdf(self) -> str | None:
        """The PCI address."""
        return None if self.pci is None else self.pci.bdf


@dataclass(frozen=True, slots=True)
class RcclNic:
    """One network device as the library's network plugin shows it (one a port)."""

    name: str | None
    speed_mbit_s: int | None
    numa_node: int | None
    pci: RcclPci | None
    line: int

    @property
    def bdf(self) -> str | None:
        """The PCI address; None for a device that is not on PCI."""
        return None if self.pci is None else self.pci.bdf


@dataclass(frozen=True, slots=True)
class RcclTopology:
    """One file, or what stands before its damage."""

    cpus: tuple[RcclCpu, ...] = ()
    gpus: tuple[RcclGpu, ...] = ()
    nics: tuple[RcclNic, ...] = ()


def parse_rccl_topo(text: str) -> RcclTopology:
    """Reads the file; anything else gives an empty result."""
    root = parse_xml(text).root
    if root is None or root.tag != "system":
        return RcclTopology()
    cpus: list[RcclCpu] = []
    gpus: list[RcclGpu] = []
    nics: list[RcclNic] = []
    for element, path in _with_path(root):
        if element.tag == "cpu" and len(cpus) < _MAX_DEVICES:
            cpus.append(_cpu(element))
        elif element.tag == "gpu" and len(gpus) < _MAX_DEVICES:
            gpus.append(_gpu(element, path))
        elif element.tag == "net" and len(nics) < _MAX_DEVICES:
            nics.append(_nic(element, path))
    return RcclTopology(tuple(cpus), tuple(gpus), tuple(nics))


def _with_path(root: Element) -> Iterator[tuple[Element, tuple[Element, ...]]]:
    """Every element with those around it, the nearest first."""
    stack: list[tuple[Element, tuple[Element, ...]]] = [(root, ())]
    while stack:
        element, path = stack.pop()
        yield element, path
        inner = (element, *path)
        stack.extend((child, inner) for child in reversed(element.children))


def _cpu(element: Element) -> RcclCpu:
    return RcclCpu(
        numa_node=_natural(element.get("numaid")),
        cpulist=mask_to_list(element.get("affinity")) or None,
        arch=value_of(element.get("arch")),
        vendor=value_of(element.get("vendor")),
        line=element.line,
    )


def _pci(element: Element) -> RcclPci:
    return RcclPci(
        bdf=pci_address(element.get("busid")),
        pci_class=value_of(element.get("class")),
        pci_id=_pair(element.get("vendor"), element.get("device")),
        subsystem_id=_pair(element.get("subsystem_vendor"), element.get("subsystem_device")),
        max_speed_gt_s=_speed(element.get("link_speed")),
        max_width=to_width(element.get("link_width") or ""),
        line=element.line,
    )


def _place(path: tuple[Element, ...]) -> tuple[int | None, RcclPci | None, tuple[RcclPci, ...]]:
    """NUMA node, own PCI device and the ports above it, from the elements around a GPU or NIC."""
    devices = [_pci(one) for one in path if one.tag == "pci"]
    cpu = next((one for one in path if one.tag == "cpu"), None)
    node = None if cpu is None else _natural(cpu.get("numaid"))
    return node, devices[0] if devices else None, tuple(devices[1:])


def _gpu(element: Element, path: tuple[Element, ...]) -> RcclGpu:
    node, pci, upstream = _place(path)
    sm = _natural(element.get("sm"))
    gcn = value_of(element.get("gcn"))
    amd = gcn is not None or (pci is not None and (pci.pci_id or "").startswith("1002:"))
    # RCCL writes its number of compute units where NCCL writes ten times the compute capability.
    capability = f"{sm // 10}.{sm % 10}" if sm and not amd and 10 <= sm < 1000 else None
    return RcclGpu(
        gfx=_gfx(gcn),
        compute_units=sm if amd and sm else None,
        compute_capability=capability,
        numa_node=node,
        pci=pci,
        upstream=upstream,
        links=tuple(
            RcclLink(one.tag, pci_address(one.get("target")), _natural(one.get("count")), one.line)
            for one in element.children[:_MAX_DEVICES]
            if one.tag in ("xgmi", "nvlink", "c2c")
        ),
        line=element.line,
    )


def _nic(element: Element, path: tuple[Element, ...]) -> RcclNic:
    node, pci, _ = _place(path)
    return RcclNic(
        name=value_of(element.get("name")),
        speed_mbit_s=_natural(element.get("speed")),
        numa_node=node,
        pci=pci,
        line=element.line,
    )


def _gfx(gcn: str | None) -> str | None:
    """gfx90a from "gfx90a:sramecc+", gfx906 from "906", gfx90a from "910" (what older releases wrote for it)."""
    if gcn is None:
        return None
    if gcn == "910":
        return "gfx90a"
    if re.match(r"\d{3,4}\Z", gcn):
        return gfx_name(f"gfx{gcn}")
    return gfx_name(gcn)


def _pair(vendor: str | None, device: str | None) -> str | None:
    a, b = hex_int(vendor or ""), hex_int(device or "")
    return f"{a:04x}:{b:04x}" if a and b is not None and a <= 0xFFFF and b <= 0xFFFF else None


def _speed(text: str | None) -> float | None:
    found = to_gt_s(text) if text and "GT/s" in text else None
    return found if found is not None and found <= 256 else None


def _natural(text: str | None) -> int | None:
    found = to_int(text)
    return found if found is not None and found >= 0 else None
