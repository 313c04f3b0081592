"""PCI devices from sysfs: GPUs, plain displays, the bridges above, network cards."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rocdoctor.collect.gpus.records import SYSFS, GpuRecord
from rocdoctor.collect.reading import MAX_PATHS, names_in, read_fact, word
from rocdoctor.host.base import Answer, Host
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source, Unknown
from rocdoctor.model.facts import Display, LinkState, PcieHop
from rocdoctor.parsers.kernel.pci import (
    PciClass,
    PciUevent,
    is_emulated_device,
    is_virtual_bridge,
    parse_bdf,
    parse_device_path,
    parse_hex_id,
    parse_uevent,
)
from rocdoctor.parsers.kernel.pci_link import (
    largest_memory_bar,
    parse_aer,
    parse_link_speed,
    parse_link_width,
    parse_numa_node,
    parse_resource,
)

_NO_ANSWER = ("timeout", "denied", "failed")
VENDORS = {0x1002: "amd", 0x10DE: "nvidia", 0x8086: "intel"}


@dataclass(frozen=True, slots=True)
class PciDevice:
    """One device of the bus: its sysfs folder, ids and class. ``whole``: what its uevent does not state is not so."""

    bdf: str
    folder: str
    uevent: PciUevent
    question: str
    whole: bool

    @property
    def pci_class(self) -> PciClass | None:
        return self.uevent.pci_class


def gpu_vendor(vendor_id: int | None, pci_class: PciClass | None) -> str | None:
    """The vendor of a GPU, None for everything else (network cards, accelerators of other kinds, plain displays)."""
    if pci_class is None or not pci_class.is_gpu_like or vendor_id is None:
        return None
    vendor = VENDORS.get(vendor_id)
    if pci_class.base == 0x12 and vendor not in ("amd", "nvidia"):
        return None
    return vendor


def devices(host: Host) -> tuple[list[PciDevice], Answer, Unknown | None]:
    """All devices of the bus, and the listing's answer, which is incomplete when a device could not be read.

    The third is why, where the bus or a device was asked and gave no answer.
    """
    listed = host.ask("list /sys/bus/pci/devices/*")
    gap = listed.unknown() if listed.status in _NO_ANSWER else None
    lines = listed.lines() if listed.ok else []
    folders = lines[:MAX_PATHS]
    if len(lines) > MAX_PATHS:
        listed = replace(listed, complete=False, truncated=True)
    questions = [f"read {folder}/uevent" for folder in folders]
    host.prefetch(questions)
    found: list[PciDevice] = []
    for folder, question in zip(folders, questions, strict=True):
        bdf = parse_bdf(folder.rsplit("/", 1)[-1])
        answer = host.ask(question)
        whole = answer.complete and not answer.truncated
        if not (answer.ok and whole):
            listed = replace(listed, complete=False)
        if gap is None and answer.status in _NO_ANSWER:
            gap = answer.unknown()
        if bdf is not None and answer.ok:
            found.append(PciDevice(bdf, folder, parse_uevent(answer.text), question, whole))
        elif bdf is not None and host.kind != "live" and (event := _from_files(host, folder)) is not None:
            found.append(PciDevice(bdf, folder, event, f"read {folder}/vendor", False))
    return found, listed, gap


def link_state(host: Host, folder: str) -> LinkState:
    """The four link files of a device."""
    return LinkState(
        read_fact(host, f"{folder}/current_link_speed", parse_link_speed),
        read_fact(host, f"{folder}/current_link_width", parse_link_width),
        read_fact(host, f"{folder}/max_link_speed", parse_link_speed),
        read_fact(host, f"{folder}/max_link_width", parse_link_width),
    )


def hop(host: Host, bdf: str) -> PcieHop:
    """A bridge on the way to the root port."""
    folder = f"/sys/bus/pci/devices/{bdf}"
    vendor = read_fact(host, f"{folder}/vendor", parse_hex_id)
    device = read_fact(host, f"{folder}/device", parse_hex_id)
    return PcieHop(
        bdf,
        _hex(vendor),
        _hex(device),
        link_state(host, folder),
        bool(isinstance(vendor, Known) and is_virtual_bridge(vendor.value)),
        NOT_ASKED,
        read_fact(host, f"{folder}/aer_dev_correctable", parse_aer),
        read_fact(host, f"{folder}/aer_dev_nonfatal", parse_aer),
        read_fact(host, f"{folder}/aer_dev_fatal", parse_aer),
    )


def _hex(fact: Fact[int]) -> Fact[str]:
    return Known(f"{fact.value:04x}", fact.source) if isinstance(fact, Known) else fact


def _from_files(host: Host, folder: str) -> PciUevent | None:
    """What the uevent file would say, where an excerpt has the single files instead."""
    names = ("vendor", "device", "class", "subsystem_vendor", "subsystem_device")
    values = {name: answer.text.strip() for name in names if (answer := host.ask(f"read {folder}/{name}")).ok}
    if not {"vendor", "class"} <= values.keys():
        return None
    driver = host.ask(f"link {folder}/driver")
    ids = [f"{values.get(one, '')}:{values.get(two, '')}".replace("0x", "") for one, two in (names[:2], names[3:])]
    text = f"PCI_CLASS={values['class']}\nPCI_ID={ids[0]}\nPCI_SUBSYS_ID={ids[1]}\n"
    text += f"DRIVER={driver.text.strip().rsplit('/', 1)[-1]}\n" if driver.ok else ""
    return replace(parse_uevent(text), lines={})


def gpu_record(host: Host, device: PciDevice, vendor: str) -> GpuRecord:
    """What sysfs says of a GPU as a PCI device (its driver's own files are read elsewhere)."""
    event, ask = device.uevent, device.question
    record = GpuRecord(SYSFS, vendor, bdf=device.bdf)
    record.put("bdf", device.bdf, ask, event.lines.get("address"))
    identity(record, event, ask)
    folder = device.folder
    if "driver" not in event.lines and device.whole:
        record.facts["driver"] = Known(None, Source(ask))
    pcie = f"read {folder}/"
    link = link_state(host, folder)
    for key in ("speed_gt_s", "width", "max_speed_gt_s", "max_width"):
        record.put_fact(f"pcie.device.{key}", getattr(link, key))
    for kind in ("correctable", "nonfatal", "fatal"):
        record.put_fact(f"pcie.aer_{kind}", read_fact(host, f"{folder}/aer_dev_{kind}", parse_aer))
    numa = host.ask(f"{pcie}numa_node")
    if numa.ok:
        node = parse_numa_node(numa.text)
        if node is not None:
            record.put("numa_node", node, numa.question, 1)
        elif numa.text.strip() == "-1":
            record.facts["numa_node"] = Known(None, numa.source(1))
    else:
        record.put_fact("numa_node", numa.unknown())
    record.put_fact("revision", _hex2(read_fact(host, f"{folder}/revision", parse_hex_id)))
    record.put_fact("runtime_status", read_fact(host, f"{folder}/power/runtime_status", word))
    record.put_fact("pcie.removable", read_fact(host, f"{folder}/removable", word))
    record.put_fact("boot_display", _flag(read_fact(host, f"{folder}/boot_vga", word)))
    record.put_fact("pcie.iommu_group_type", read_fact(host, f"{folder}/iommu_group/type", word))
    resource = host.ask(f"{pcie}resource")
    if resource.ok and (bar := largest_memory_bar(parse_resource(resource.text))) is not None:
        record.put("pcie.bar_bytes", bar.size_bytes, resource.question, bar.line)
    path = host.ask(f"link {folder}")
    if path.ok:
        parsed = parse_device_path(path.text)
        if parsed.root is not None:
            hops = tuple(hop(host, bdf) for bdf in parsed.bridges)
            record.put("pcie.hops", hops, path.question)
            record.put("pcie.path_complete", True, path.question)
    return record


def identity(record: GpuRecord, event: PciUevent, question: str) -> None:
    """Ids, class and driver of a uevent text, put into a record."""
    lines = event.lines
    if event.vendor_id is not None and event.device_id is not None:
        record.put("pci_id", f"{event.vendor_id:04x}:{event.device_id:04x}", question, lines.get("device_id"))
    if event.subsystem_vendor_id is not None and event.subsystem_device_id is not None:
        subsystem = f"{event.subsystem_vendor_id:04x}:{event.subsystem_device_id:04x}"
        record.put("subsystem_id", subsystem, question, lines.get("subsystem_device_id"))
    if event.pci_class is not None:
        code = event.pci_class
        text = f"{code.base:02x}{code.subclass:02x}{code.interface or 0:02x}"
        record.put("pci_class", text, question, lines.get("pci_class"))
    if event.driver is not None:
        record.put("driver", event.driver, question, lines.get("driver"))


def _hex2(fact: Fact[int]) -> Fact[str]:
    return Known(f"{fact.value:02x}", fact.source) if isinstance(fact, Known) else fact


def _flag(fact: Fact[str]) -> Fact[bool]:
    return Known(fact.value == "1", fact.source) if isinstance(fact, Known) else fact


def display(device: PciDevice) -> Display:
    """A VGA adapter that computes nothing."""
    event = device.uevent
    source = Source(device.question)
    identifier: Fact[str] = Unknown("the uevent file has no PCI_ID", "unparsable", source)
    if event.vendor_id is not None and event.device_id is not None:
        identifier = Known(f"{event.vendor_id:04x}:{event.device_id:04x}", source)
    driver: Fact[str | None] = Known(event.driver, source)
    return Display(Known(device.bdf, source), identifier, NOT_ASKED, driver)


def is_plain_display(vendor_id: int | None, pci_class: PciClass | None) -> bool:
    """A display adapter that is no GPU: a board management controller's, or one that a hypervisor made up."""
    if pci_class is None or not pci_class.is_display:
        return False
    return vendor_id not in VENDORS or bool(is_emulated_device(vendor_id))


def cards(host: Host) -> list[str]:
    """The DRM cards (``/sys/class/drm/card0``), connectors left out."""
    return [path for path in names_in(host, "/sys/class/drm/card*", limit=2048) if path.rsplit("card", 1)[-1].isdigit()]
