"""Events of devices as udev sends them: a GPU that goes, comes back, changes its driver, or is reset.

pyudev's monitor hears them; tests put another source in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, cast, get_args

from rocdoctor.model.lazy_re import regex

Action = Literal["add", "remove", "change", "bind", "unbind", "move", "online", "offline"]

SUBSYSTEMS = ("pci", "drm")
_ACTIONS = frozenset(get_args(Action))
_BDF = regex(r"/([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?=/|\Z)")
# PCI classes of GPUs as uevents print them, without leading zeros: display (03), processing accelerator (12).
_GPU_CLASS = regex(r"0?3[0-9A-Fa-f]{4}|12[0-9A-Fa-f]{4}")
_MAX_VALUE = 200


class Heard(Protocol):
    """A device as the monitor gives it."""

    @property
    def action(self) -> str | None: ...

    @property
    def subsystem(self) -> str | None: ...

    @property
    def device_path(self) -> str: ...

    @property
    def properties(self) -> Mapping[str, str]: ...


class EventSource(Protocol):
    """What pyudev.Monitor does: the next device that something happened to, None after ``timeout`` seconds."""

    def poll(self, timeout: float | None = None) -> Heard | None: ...


@dataclass(frozen=True, slots=True)
class DeviceEvent:
    """Something that happened to a device. ``path`` is the one below /sys.

    ``wedged``: how to get a GPU back that hangs, or "none" after a reset of which the driver only tells ("Device
    wedging" in the kernel's drm-uapi documentation); "" for other events.
    """

    action: Action
    subsystem: str
    path: str
    bdf: str | None = None
    node: str | None = None
    driver: str | None = None
    gpu: bool = False
    wedged: str = ""

    @property
    def changes_gpus(self) -> bool:
        """Whether what is known of the GPUs may not hold any more; a monitor that is plugged in changes nothing."""
        return self.gpu and (self.action != "change" or bool(self.wedged))


def monitor() -> EventSource:
    """Hear this machine's devices. Raises OSError or ImportError where that cannot be."""
    from rocdoctor.host.live.udev import connection

    context = connection()
    import pyudev

    found = pyudev.Monitor.from_netlink(context, "udev")
    for subsystem in SUBSYSTEMS:
        found.filter_by(subsystem)
    found.start()
    return cast(EventSource, found)


def events(source: EventSource, ended: Callable[[], bool], timeout_s: float = 1.0) -> Iterator[DeviceEvent]:
    """The events as they come, until ``ended`` says so, which is asked at least every ``timeout_s``; raises OSError."""
    while not ended():
        heard = source.poll(timeout_s)
        if heard is not None and (event := event_of(heard)) is not None:
            yield event


def event_of(heard: Heard) -> DeviceEvent | None:
    """The event in our words; None for one of another kind."""
    values = heard.properties
    if heard.action not in _ACTIONS or heard.subsystem not in SUBSYSTEMS:
        return None
    addresses = _BDF.findall(heard.device_path)
    return DeviceEvent(
        cast(Action, heard.action),
        heard.subsystem,
        heard.device_path,
        addresses[-1] if addresses else None,
        values.get("DEVNAME"),
        values.get("DRIVER"),
        heard.subsystem == "drm" or _GPU_CLASS.fullmatch(values.get("PCI_CLASS", "")) is not None,
        values.get("WEDGED", "")[:_MAX_VALUE],
    )
