"""Device events from a monitor that is not there: pyudev's own needs a udev daemon that sends some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from rocdoctor.host.live import device_events
from rocdoctor.host.live.device_events import DeviceEvent, Heard, event_of, events

_SLOT = "/devices/pci0000:00/0000:00:01.1/0000:03:00.0"


@dataclass
class Said:
    """A device as pyudev gives it."""

    action: str | None
    subsystem: str | None
    device_path: str = _SLOT
    properties: Mapping[str, str] = field(default_factory=dict)


class Fake:
    """Gives what it was told to, then nothing."""

    def __init__(self, *said: Said | None) -> None:
        self.said = list(said)
        self.timeouts: list[float | None] = []

    def poll(self, timeout: float | None = None) -> Heard | None:
        self.timeouts.append(timeout)
        return self.said.pop(0) if self.said else None


def test_a_driver_that_leaves_a_gpu_and_its_node_that_goes() -> None:
    unbind = Said("unbind", "pci", properties={"PCI_CLASS": "38000", "DRIVER": "amdgpu"})
    gone = Said("remove", "drm", f"{_SLOT}/drm/renderD128", {"DEVNAME": "/dev/dri/renderD128"})
    source = Fake(unbind, None, gone)
    found = list(events(source, lambda: not source.said, 0.5))
    assert found == [
        DeviceEvent("unbind", "pci", _SLOT, "0000:03:00.0", None, "amdgpu", gpu=True),
        DeviceEvent("remove", "drm", f"{_SLOT}/drm/renderD128", "0000:03:00.0", "/dev/dri/renderD128", gpu=True),
    ]
    assert all(one.changes_gpus for one in found)
    assert source.timeouts == [0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    ("said", "gpu", "changes"),
    [
        (Said("add", "pci", properties={"PCI_CLASS": "120000"}), True, True),
        (Said("add", "pci", properties={"PCI_CLASS": "30000"}), True, True),
        (Said("add", "pci", properties={"PCI_CLASS": "20000"}), False, False),
        (Said("bind", "pci"), False, False),
        (Said("change", "drm", f"{_SLOT}/drm/card0", {"HOTPLUG": "1"}), True, False),
        (Said("change", "drm", f"{_SLOT}/drm/card0", {"WEDGED": "none"}), True, True),
    ],
)
def test_what_changes_the_gpus(said: Said, gpu: bool, changes: bool) -> None:
    event = event_of(said)
    assert event is not None
    assert (event.gpu, event.changes_gpus) == (gpu, changes)


def test_other_actions_and_subsystems_are_passed_over() -> None:
    for said in (Said("dance", "pci"), Said(None, "pci"), Said("add", "usb"), Said("add", None)):
        assert event_of(said) is None
    virtual = event_of(Said("add", "drm", "/devices/virtual/drm/x"))
    assert virtual is not None and virtual.bdf is None


def test_the_end_is_asked_for_before_each_wait() -> None:
    source = Fake(Said("add", "drm"))
    assert list(events(source, lambda: True)) == []
    assert source.timeouts == []


@pytest.mark.live
def test_the_real_monitor_can_be_waited_for() -> None:
    """No event comes within a moment, or one does: both are an end of the wait."""
    pytest.importorskip("pyudev", exc_type=ImportError)
    try:
        source = device_events.monitor()
    except (OSError, ImportError) as error:
        pytest.skip(f"no monitor here: {error}")
    heard = source.poll(0.01)
    assert heard is None or isinstance(heard.device_path, str)
