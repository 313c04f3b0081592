"""Hears of GPUs that go, come back or are reset while the screens show what was asked before."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from rocdoctor.host.live import device_events
from rocdoctor.host.live.device_events import DeviceEvent
from rocdoctor.tui.background import Call
from rocdoctor.tui.session import Session

_WORDS = {"add": "appeared", "remove": "is gone", "bind": "got a driver", "unbind": "lost its driver"}


def watch(app: Session, told: Callable[[DeviceEvent], None]) -> None:
    """Call ``told`` on the screens' side for each event by which answers about GPUs grow old, until the app ends.

    Where this machine has no udev nothing is heard.
    """
    threading.Thread(target=_listen, args=(app, told), daemon=True, name="rocdoctor-devices").start()


def _listen(app: Session, told: Callable[[DeviceEvent], None]) -> None:
    try:
        for event in device_events.events(device_events.monitor(), lambda: not app.is_running):
            if event.changes_gpus:
                app.post_message(Call(partial(told, event)))
    except (OSError, ImportError):
        return


def words(event: DeviceEvent) -> str:
    """What happened, in a few words: "GPU 0000:03:00.0 lost its driver"."""
    what = "was reset" if event.wedged == "none" else "hangs" if event.wedged else _WORDS.get(event.action, "changed")
    return f"GPU {event.bdf or ''}".strip() + f" {what}"
