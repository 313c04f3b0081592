"""What udev knows of device nodes: from the machine itself, or from an output of `udevadm info`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocdoctor.collect.recorded_outputs import outputs, stated
from rocdoctor.host.base import Answer, Host
from rocdoctor.model.evidence import Fact, Known
from rocdoctor.model.facts import UdevRecord
from rocdoctor.parsers.system.udev import UdevDevice, device_of_node, parse_udevadm, pci_device_of


def collect_udev(host: Host, path: str) -> UdevRecord:
    """The record of a device node; unknown where udev keeps none, as in containers."""
    own = host.ask(f"udev {path}")
    for answer in _answers(host, own):
        devices = parse_udevadm(answer.text)
        device = device_of_node(devices, path)
        if device is None:
            continue
        has = [one for one in (device, pci_device_of(devices, device)) if one is not None]
        return UdevRecord(
            tags=Known(device.tags, answer.source(device.tags_line)),
            seat=stated(device.seat, answer, device.lines.get("ID_SEAT", device.tags_line)),
            driver=_property(has, "DRIVER", answer),
        )
    gap = own.unknown()
    return UdevRecord(gap, gap, gap)


def _property(devices: Sequence[UdevDevice], name: str, answer: Answer) -> Fact[str]:
    """A property of the first device that has it."""
    one = next((one for one in devices if name in one.properties), None)
    return stated(one.properties[name] if one else None, answer, one.lines[name] if one else None)


def _answers(host: Host, own: Answer) -> Iterator[Answer]:
    if own.ok:
        yield own
    for _, answer in outputs(host, "udevadm"):
        yield answer
