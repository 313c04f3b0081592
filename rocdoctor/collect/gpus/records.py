"""One GPU as one source saw it, and how the records of all sources become physical devices.

A record names its device by whatever the source prints: a PCI address, a KFD node, a unique id, a DRM card, or only its
place in a list. Records are joined where these names meet. Of each fact the best source counts (the order of
their ``RecordSource``); what other sources say differently is kept as a disagreement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from rocdoctor.model.evidence import Fact, Known, Source, Unknown
from rocdoctor.model.facts import ComputeNode, Disagreement, Gpu
from rocdoctor.model.subject import Subject

if TYPE_CHECKING:
    from rocdoctor.parsers.formats.gpu_reading import GpuReading

_FACTS = frozenset(one.name for one in fields(Gpu))


@dataclass(frozen=True, slots=True, order=True)
class RecordSource:
    """Where a record comes from: of two that tell the same fact, the one of the lower ``rank`` is believed.

    Below 100 the kernel's own files, then tools that ask the driver, from 200 listings and dumps, from 300 texts about
    the machine. Where one that is ``compared`` tells something else than another, that is a disagreement.
    """

    rank: int
    name: str
    compared: bool = True


SYSFS, DRM, KFD = RecordSource(10, "sysfs"), RecordSource(20, "drm"), RecordSource(30, "kfd")
DMESG = RecordSource(310, "dmesg", compared=False)
PROSE = RecordSource(320, "prose", compared=False)

# Facts whose values legitimately differ between sources and moments: no disagreement is reported for them.
_VOLATILE = (
    "temps",
    "power",
    "ras",
    "firmware",
    "nvlinks",
    "bad_pages",
    "busy",
    "vram",
    "gtt_used",
    "clocks",
    "name",
    "fan",
    "smi_index",
    "hip_index",
    "torch_index",
    "pcie.device",
    "pcie.hops",
    "processes",
    "numa_node",
    "pci_class",
    "throttle",
    "traffic",
    "compute_units",
    "kfd_node",
)


@dataclass(slots=True)
class GpuRecord:
    """What one source says of one GPU. ``facts`` are keyed by the field names of ``Gpu`` (dots reach inside)."""

    source: RecordSource
    vendor: str
    bdf: str | None = None
    unique_id: int | None = None
    kfd_node: int | None = None
    gpu_id: int | None = None
    drm_card: str | None = None
    render_minor: int | None = None
    position: int | None = None  # place in the source's own list
    partition_of_address: bool = False  # the PCI function may be a partition number (KFD)
    facts: dict[str, Fact[object]] = field(default_factory=dict)
    nodes: list[ComputeNode] = field(default_factory=list)

    def put(self, key: str, value: object, question: str, line: int | None = None) -> None:
        """Note a value; None means that the source does not have it."""
        if value is not None:
            self.facts[key] = Known(value, Source(question, line))

    def take(self, gpu: GpuReading, question: str) -> None:
        """Note all that is a fact as the tool shows it: what has the name of one."""
        for name, value in gpu.values.items():
            if name.partition(".")[0] in _FACTS:
                self.put(name, value, question, gpu.lines[name])

    def put_fact(self, key: str, fact: Fact[object]) -> None:
        """Note a fact, known or with its reason (a reason never replaces a value)."""
        if isinstance(fact, Known) or key not in self.facts:
            self.facts[key] = fact

    @property
    def rank(self) -> int:
        return self.source.rank


def _rank(record: GpuRecord) -> int:
    return record.source.rank


@dataclass(slots=True)
class Device:
    """One physical GPU: the records that speak of it."""

    vendor: str
    records: list[GpuRecord] = field(default_factory=list)

    @property
    def bdf(self) -> str | None:
        """The address; partitions of one device count as its function 0."""
        plain = [record.bdf for record in self.records if record.bdf and not record.partition_of_address]
        if plain:
            return plain[0]
        return min((record.bdf for record in self.records if record.bdf), default=None)

    def get(self, key: str) -> Fact[object] | None:
        """The best source's fact."""
        said = [record for record in self.records if key in record.facts]
        known = [record for record in said if isinstance(record.facts[key], Known)]
        best = min(known or said, key=_rank, default=None)
        return None if best is None else best.facts[key]

    def ids(self, name: str) -> set[object]:
        """All values of one of the naming fields."""
        return {value for record in self.records if (value := getattr(record, name)) is not None}


_NAMES = ("unique_id", "gpu_id", "kfd_node", "drm_card", "render_minor")


def _same_device(device: Device, record: GpuRecord) -> bool:
    if device.vendor != record.vendor and "other" not in (device.vendor, record.vendor):
        return False
    if record.bdf and device.bdf:
        if record.bdf == device.bdf:
            # A source that lists one address twice, as two nodes of its own, means two devices.
            return not any(one.source == record.source == KFD for one in device.records)
        same_slot = record.bdf.rsplit(".", 1)[0] == device.bdf.rsplit(".", 1)[0]
        partitions = record.partition_of_address or any(one.partition_of_address for one in device.records)
        unlike = (
            device.ids("unique_id") and record.unique_id is not None and record.unique_id not in device.ids("unique_id")
        )
        return same_slot and partitions and not unlike
    return any(getattr(record, name) is not None and getattr(record, name) in device.ids(name) for name in _NAMES)


def _keys(record: GpuRecord) -> list[tuple[str, object]]:
    """What records of one device share at least one of (``_same_device``): the slot, or another name."""
    slot: list[tuple[str, object]] = [("slot", record.bdf.rsplit(".", 1)[0])] if record.bdf else []
    return [*slot, *((name, value) for name in _NAMES if (value := getattr(record, name)) is not None)]


class _Index:
    """Devices by what their records are called: of a thousand only a few come into question for a record."""

    def __init__(self) -> None:
        self.devices: list[Device] = []
        self._places: dict[tuple[str, object], dict[int, None]] = {}

    def take(self, record: GpuRecord) -> bool:
        """Give the record to the first device that it speaks of, or to a new one where it has an address."""
        keys = _keys(record)
        places = sorted({place for key in keys for place in self._places.get(key, ())})
        found = next((place for place in places if _same_device(self.devices[place], record)), None)
        if found is None and record.bdf is None:
            return False
        if found is None:
            found = len(self.devices)
            self.devices.append(Device(record.vendor))
        self.devices[found].records.append(record)
        for key in keys:
            self._places.setdefault(key, {})[found] = None
        return True


def join(records: Iterable[GpuRecord]) -> list[Device]:
    """Physical devices from all records, ordered by PCI address (those without one last)."""
    ordered = sorted(records, key=lambda record: (record.bdf is None, record.rank))
    index = _Index()
    nameless = [record for record in ordered if not index.take(record)]
    devices = index.devices
    _place_nameless(devices, nameless)
    return sorted(devices, key=lambda device: (device.bdf is None, _address_key(device.bdf)))


def _address_key(bdf: str | None) -> tuple[int, ...]:
    if bdf is None:
        return ()
    domain, bus, rest = bdf.split(":")
    slot, function = rest.split(".")
    return (int(domain, 16), int(bus, 16), int(slot, 16), int(function, 16))


def _place_nameless(devices: list[Device], records: list[GpuRecord]) -> None:
    """Records known only by their place in a list: with equal counts they are the same GPUs, else GPUs of their own.

    Which of several equal ones is which is not known then, so only values that all of them share are attached.
    """
    by_source: dict[tuple[RecordSource, str], list[GpuRecord]] = {}
    for record in records:
        by_source.setdefault((record.source, record.vendor), []).append(record)
    for (_, vendor), members in sorted(by_source.items(), key=lambda item: item[0][0].rank):
        known = [device for device in devices if device.vendor == vendor]
        group: list[GpuRecord] = []
        for record in members:
            named = next((device for device in known if _same_device(device, record)), None)
            if named is not None:
                named.records.append(record)
            else:
                group.append(record)
        if not group:
            continue
        if not known:
            devices += [Device(vendor, [record]) for record in group]
        elif len(known) == len(group) == 1:
            known[0].records.append(group[0])
        elif all(device.bdf is None for device in known) and len(known) == len(group):
            for device, record in zip(known, group, strict=True):
                device.records.append(record)
        elif len(known) >= len(group):
            shared = _shared(group)
            for device in known if len(known) == len(group) else ():
                device.records.append(shared)


def _shared(group: Sequence[GpuRecord]) -> GpuRecord:
    first = group[0]
    common = GpuRecord(first.source, first.vendor)
    for key, fact in first.facts.items():
        others = [record.facts.get(key) for record in group]
        if isinstance(fact, Known) and all(isinstance(one, Known) and one.value == fact.value for one in others):
            common.facts[key] = fact
    return common


def disagreements(device: Device, subject: Subject) -> list[Disagreement]:
    """Where two sources give different values for one lasting fact of a device."""
    found: list[Disagreement] = []
    keys = {key for record in device.records for key in record.facts if not key.startswith(_VOLATILE)}
    for key in sorted(keys):
        values: dict[str, str] = {}
        for record in sorted(device.records, key=lambda one: one.rank):
            fact = record.facts.get(key)
            if isinstance(fact, Known) and record.source.compared:
                values.setdefault(str(fact.value).lower(), str(fact.source))
        if len(values) > 1:
            found.append(Disagreement(subject, key, tuple(values.items())))
    return found


def unknown_or(fact: Fact[object] | None) -> Fact[object]:
    """The fact, or "nobody was asked"."""
    return fact if fact is not None else Unknown("not stated in this evidence")
