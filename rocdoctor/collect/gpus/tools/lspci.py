"""GPUs and plain displays of an lspci output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocdoctor.collect.gpus.pci import gpu_vendor, is_plain_display
from rocdoctor.collect.gpus.records import GpuRecord, RecordSource
from rocdoctor.collect.gpus.tool import Tool
from rocdoctor.host.base import Answer, argv_of
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source
from rocdoctor.model.facts import Display, LinkState, PcieHop
from rocdoctor.parsers.kernel.pci import PciClass, is_virtual_bridge, parse_class

if TYPE_CHECKING:
    from rocdoctor.parsers.listings.lspci import LspciDevice, UpstreamPaths

SOURCE = RecordSource(210, "lspci")

_CLASS_BY_NAME = {
    "vga compatible controller": "0300",
    "3d controller": "0302",
    "display controller": "0380",
    "processing accelerators": "1200",
    "xga compatible controller": "0301",
}


_VENDOR_WORDS = (
    ("advanced micro devices", 0x1002),
    ("[amd/ati]", 0x1002),
    ("nvidia", 0x10DE),
    ("intel corporation", 0x8086),
)


def _class_of(device: LspciDevice) -> PciClass | None:
    return parse_class(device.class_code or _CLASS_BY_NAME.get((device.class_name or "").lower()))


def _vendor_id(device: LspciDevice) -> int | None:
    if device.vendor_id:
        return int(device.vendor_id, 16)
    name = (device.name or device.vendor_name or "").lower()
    return next((number for words, number in _VENDOR_WORDS if words in name), None)


def _link(device: LspciDevice, question: str) -> LinkState:
    def fact(value: object, field: str) -> Fact[object]:
        return NOT_ASKED if value is None else Known(value, Source(question, device.lines.get(field, device.line)))

    cap, status = device.link_cap, device.link_status
    return LinkState(
        fact(status.speed_gt_s if status else None, "link_status"),  # type: ignore[arg-type]
        fact(status.width if status else None, "link_status"),  # type: ignore[arg-type]
        fact(cap.speed_gt_s if cap else None, "link_cap"),  # type: ignore[arg-type]
        fact(cap.width if cap else None, "link_cap"),  # type: ignore[arg-type]
    )


def _parse(answer: Answer) -> tuple[LspciDevice, ...]:
    from rocdoctor.parsers.listings.lspci import parse_lspci
    from rocdoctor.parsers.listings.lspci_tree import parse_lspci_tree

    arguments = argv_of(answer.question)[1:]
    is_tree = any(one.startswith("-") and not one.startswith("--") and "t" in one for one in arguments)
    return (parse_lspci_tree if is_tree else parse_lspci)(answer.text)


def _records(devices: tuple[LspciDevice, ...], answer: Answer) -> list[GpuRecord | Display]:
    question = answer.question
    # Without a driver line anywhere the output was made without -k or -v, and says nothing of drivers.
    tells_drivers = any(device.driver or device.modules for device in devices)
    from rocdoctor.parsers.listings.lspci import UpstreamPaths

    paths = UpstreamPaths(devices)
    found: list[GpuRecord | Display] = []
    for device in devices:
        vendor_id, pci_class = _vendor_id(device), _class_of(device)
        source = Source(question, device.line)
        if is_plain_display(vendor_id, pci_class):
            identifier: Fact[str] = NOT_ASKED
            if device.vendor_id and device.device_id:
                identifier = Known(f"{device.vendor_id}:{device.device_id}", source)
            name: Fact[str] = Known(device.name, source) if device.name else NOT_ASKED
            driver: Fact[str | None] = Known(device.driver, source) if tells_drivers else NOT_ASKED
            found.append(Display(Known(device.bdf, source), identifier, name, driver))
            continue
        vendor = gpu_vendor(vendor_id, pci_class)
        if vendor is not None:
            found.append(_lspci_record(device, paths, vendor, question, tells_drivers))
    return found


def _lspci_record(
    device: LspciDevice, paths: UpstreamPaths, vendor: str, question: str, tells_drivers: bool
) -> GpuRecord:
    record = GpuRecord(SOURCE, vendor, bdf=device.bdf)

    def put(key: str, value: object, field: str) -> None:
        record.put(key, value, question, device.lines.get(field, device.line))

    put("bdf", device.bdf, "bdf")
    put("name", device.device_name or device.name, "name")
    if device.vendor_id and device.device_id:
        put("pci_id", f"{device.vendor_id}:{device.device_id}", "device_id")
    if device.subsystem_vendor_id and device.subsystem_device_id:
        put("subsystem_id", f"{device.subsystem_vendor_id}:{device.subsystem_device_id}", "subsystem_device_id")
    put("revision", device.revision, "revision")
    put("numa_node", device.numa_node, "numa_node")
    if device.driver or tells_drivers:
        record.facts["driver"] = Known(device.driver, Source(question, device.lines.get("driver", device.line)))
    link = _link(device, question)
    for key in ("speed_gt_s", "width", "max_speed_gt_s", "max_width"):
        record.put_fact(f"pcie.device.{key}", getattr(link, key))
    if device.regions:
        sizes = [region.size_bytes for region in device.regions if region.size_bytes]
        put("pcie.bar_bytes", max(sizes, default=None), "regions")
    path = paths.of(device.bdf)
    if path:
        put("pcie.hops", tuple(_hop(bridge, question) for bridge in path), "bdf")
        put("pcie.path_complete", True, "bdf")
    return record


def _hop(bridge: LspciDevice, question: str) -> PcieHop:
    source = Source(question, bridge.line)
    vendor: Fact[str] = Known(bridge.vendor_id, source) if bridge.vendor_id else NOT_ASKED
    device: Fact[str] = Known(bridge.device_id, source) if bridge.device_id else NOT_ASKED
    number = int(bridge.vendor_id, 16) if bridge.vendor_id else None
    redirect: Fact[bool] = NOT_ASKED
    if bridge.acs_enabled is not None:
        redirect = Known(
            "ReqRedir" in bridge.acs_enabled, Source(question, bridge.lines.get("acs_enabled", bridge.line))
        )
    return PcieHop(bridge.bdf, vendor, device, _link(bridge, question), bool(is_virtual_bridge(number)), redirect)


TOOL = Tool(
    210,
    _parse,
    "lspci",
    records=_records,
    # Between several GPUs the access control of the switches matters, which only lspci shows (to root).
    between=("run lspci -D -nn -vv",),
)
