"""NVIDIA's GPUs in the folder of the kernel module, and their addresses in outputs that print none."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from rocdoctor.collect.gpus.records import SYSFS, GpuRecord
from rocdoctor.collect.reading import names_in
from rocdoctor.host.base import Host
from rocdoctor.model.evidence import Known
from rocdoctor.parsers.kernel.pci import parse_bdf
from rocdoctor.parsers.kernel.pci_link import parse_numa_node

_MODULE = "/proc/driver/nvidia/gpus/*"


def records_of_module(host: Host, known: Collection[str | None]) -> list[GpuRecord]:
    """GPUs that only the kernel module's folder in /proc names, as in a dump that lacks the files of their devices."""
    found: list[GpuRecord] = []
    for folder in names_in(host, _MODULE):
        bdf = parse_bdf(folder.rsplit("/", 1)[-1])
        if bdf is None or bdf in known:
            continue
        record = GpuRecord(SYSFS, "nvidia", bdf=bdf)
        record.put("bdf", bdf, f"list {_MODULE}")
        record.put("driver", "nvidia", f"list {_MODULE}")
        answer = host.ask(f"read {folder}/information")
        if answer.ok and (model := re.match(r"Model:\s{1,40}(\S.{0,100})", answer.text)):
            record.put("name", model[1].strip(), answer.question, 1)
        place = host.ask(f"read /sys/bus/pci/devices/{bdf}/numa_node")
        record.put("numa_node", parse_numa_node(place.text) if place.ok else None, place.question, 1)
        found.append(record)
    return found


def give_addresses(records: Iterable[GpuRecord]) -> None:
    """Name records without a PCI address by it, where another record of the same UUID or tool number has one.

    ``nvidia-smi nvlink --status`` and ``-L`` print no addresses.
    """
    mine = [record for record in records if record.vendor == "nvidia" and record.source.name.startswith("nvidia-smi")]
    by_uuid: dict[object, str] = {}
    by_number: dict[object, str] = {}
    for record in mine:
        for key, known in (("unique_id", by_uuid), ("smi_index", by_number)):
            if record.bdf is not None and (value := _value(record, key)) is not None:
                known.setdefault(value, record.bdf)
    for record in mine:
        if record.bdf is None:
            uuid = _value(record, "unique_id")
            record.bdf = by_uuid.get(uuid)
            # A UUID that the others do not have is that of another host; a number alone is taken at its word.
            if record.bdf is None and (uuid is None or not by_uuid):
                record.bdf = by_number.get(_value(record, "smi_index"))


def _value(record: GpuRecord, key: str) -> object:
    fact = record.facts.get(key)
    return fact.value if isinstance(fact, Known) else None
