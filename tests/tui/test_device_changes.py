"""A GPU that changes while the screens are open makes their answers old."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from textual.pilot import Pilot

from rocdoctor.host.base import Host
from rocdoctor.host.live import device_events
from rocdoctor.host.live.device_events import DeviceEvent, Heard
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.device_changes import words
from tests.tui.kit import driven, fixture_host, until

_SLOT = "/devices/pci0000:00/0000:03:00.0"


@dataclass
class Said:
    action: str
    subsystem: str = "pci"
    device_path: str = _SLOT
    properties: Mapping[str, str] = field(default_factory=lambda: {"PCI_CLASS": "30000"})


class Fake:
    """A monitor that hears what the test says."""

    def __init__(self) -> None:
        self.said: queue.SimpleQueue[Said] = queue.SimpleQueue()
        self.polls = 0

    def poll(self, timeout: float | None = None) -> Heard | None:
        self.polls += 1
        try:
            return self.said.get(timeout=0.01)
        except queue.Empty:
            return None


def _live() -> Host:
    host = fixture_host("recorded-cpu-vm")
    host.kind = "live"
    return host


def test_the_screens_say_once_that_a_gpu_has_changed_until_it_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake()
    monkeypatch.setattr(device_events, "monitor", lambda: fake)

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        assert app.changed == ""
        fake.said.put(Said("add", properties={"PCI_CLASS": "20000"}))
        fake.said.put(Said("unbind"))
        fake.said.put(Said("remove"))
        await until(pilot, lambda: app.changed)
        await until(pilot, lambda: fake.said.empty())
        assert app.changed == "GPU 0000:03:00.0 lost its driver"
        assert [one.message for one in app._notifications] == ["GPU 0000:03:00.0 lost its driver: r asks again"]
        await pilot.press("r")
        assert app.changed == ""
        await until(pilot, lambda: not app.look.busy)
        fake.said.put(Said("change", "drm", properties={"WEDGED": "none"}))
        await until(pilot, lambda: app.changed == "GPU 0000:03:00.0 was reset")

    driven(_live(), drive)


def test_evidence_of_another_machine_hears_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake()
    monkeypatch.setattr(device_events, "monitor", lambda: fake)

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        assert not app.look.busy  # which is when a live machine begins to hear

    driven(fixture_host("recorded-cpu-vm"), drive)
    assert fake.polls == 0


@pytest.mark.parametrize("error", [ImportError("no libudev"), OSError("no netlink")])
def test_without_udev_the_screens_work_as_ever(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    asked: list[str] = []

    def missing() -> Fake:
        asked.append("monitor")
        raise error

    monkeypatch.setattr(device_events, "monitor", missing)

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: asked)
        assert app.changed == "" and app.is_running

    driven(_live(), drive)


def test_events_are_told_in_plain_words() -> None:
    hangs = DeviceEvent("change", "drm", _SLOT, "0000:03:00.0", gpu=True, wedged="rebind,bus-reset")
    assert words(hangs) == "GPU 0000:03:00.0 hangs"
    assert words(DeviceEvent("add", "drm", "/devices/x", gpu=True)) == "GPU appeared"
    assert words(DeviceEvent("online", "pci", _SLOT, "0000:03:00.0", gpu=True)) == "GPU 0000:03:00.0 changed"
