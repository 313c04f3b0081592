"""The question ``udev`` with the real libudev, over records that stand in a mount name space of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from rocdoctor.host.live import udev
from rocdoctor.host.live.live_host import LiveHost
from rocdoctor.parsers.system.udev import parse_udevadm

pyudev = pytest.importorskip("pyudev", exc_type=ImportError)

_RECORD = (
    "I:12345\\nE:ID_SEAT=seat1\\nE:ID_PATH=pci-0000:03:00.0\\nE:ID_SERIAL_SHORT=H4711\\n"
    "G:seat\\nG:uaccess\\nQ:uaccess\\nV:1\\n"
)
_SPACE = f"mount -t tmpfs none /run && mkdir -p /run/udev/data && printf '{_RECORD}' > /run/udev/data/c1:3 && echo up"
_ASK = """
import json, sys
from rocdoctor.host.live.live_host import LiveHost
one = LiveHost().ask(sys.argv[1])
print(json.dumps([one.status, one.text]))
"""


@pytest.mark.live
def test_the_records_are_those_of_libudev() -> None:
    command = f'{_SPACE} && exec "$0" "$@"'
    if os.geteuid() != 0:
        pytest.skip("needs root for a mount name space")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", command, sys.executable, "-c", _ASK, "udev /dev/null"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if not done.stdout.startswith("up"):
        pytest.skip("this machine lets nobody make a name space")
    status, text = json.loads(done.stdout.splitlines()[1])
    assert status == "ok", done
    (device,) = parse_udevadm(text)
    assert (device.path, device.properties["DEVNAME"]) == ("/devices/virtual/mem/null", "/dev/null")
    assert (device.tags, device.seat) == (("uaccess",), "seat1")
    assert device.properties["TAGS"] == ":seat:uaccess:"
    assert "H4711" not in text, "serial numbers are not asked for"


@pytest.mark.live
def test_what_is_no_device_or_has_no_record_is_absent() -> None:
    host = LiveHost()
    assert host.ask("udev /dev/rocdoctor-none").status == "absent"
    assert host.ask("udev /etc/passwd").status == "absent"


def _device(path: str, properties: Mapping[str, str], parent: object = None, known: bool = True) -> SimpleNamespace:
    return SimpleNamespace(
        device_path=path, properties=properties, is_initialized=known, find_parent=lambda subsystem: parent
    )


def test_a_node_brings_its_pci_device_and_kept_properties_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    slot = _device("/devices/pci0000:00/0000:03:00.0", {"DRIVER": "amdgpu", "SUBSYSTEM": "pci", "ID_SERIAL": "x"})
    node = _device(
        f"{slot.device_path}/drm/renderD128", {"DEVNAME": "/dev/dri/renderD128", "ID_PATH": "a\nE: b=c"}, slot
    )
    monkeypatch.setattr(pyudev, "Context", lambda: None)
    monkeypatch.setattr(pyudev.Devices, "from_device_file", lambda context, path: node)
    text = udev.describe("udev /dev/dri/renderD128").text
    assert text == (
        "P: /devices/pci0000:00/0000:03:00.0/drm/renderD128\nE: DEVNAME=/dev/dri/renderD128\nE: ID_PATH=a E: b=c\n\n"
        "P: /devices/pci0000:00/0000:03:00.0\nE: DRIVER=amdgpu\nE: SUBSYSTEM=pci"
    )
    node.is_initialized = False
    assert udev.describe("udev /dev/dri/renderD128").status == "absent"


def test_without_pyudev_or_libudev_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ImportError("No library named udev")

    monkeypatch.setattr(pyudev, "Context", missing)
    assert udev.describe("udev /dev/null").status == "absent"
    monkeypatch.setitem(sys.modules, "pyudev", None)
    assert udev.describe("udev /dev/null").status == "absent"


_STARTS = """
import sys
started = []
sys.addaudithook(lambda event, told: started.append(told) if event in ("subprocess.Popen", "os.system") else None)
from rocdoctor.host.live import device_events, udev
print(udev.describe("udev /dev/null").status)
try:
    device_events.monitor()
except (OSError, ImportError):
    pass
print(started)
"""


@pytest.mark.live
def test_no_program_is_started_to_find_libudev() -> None:
    """ctypes would start ldconfig, gcc and ld, the last two by PATH."""
    done = subprocess.run(
        [sys.executable, "-c", _STARTS], capture_output=True, text=True, timeout=60, check=True, env=dict(os.environ)
    )
    assert done.stdout.splitlines()[1] == "[]"


def test_another_layout_of_pyudev_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyudev._ctypeslib import utils

    monkeypatch.delattr(utils, "find_library")
    assert udev.describe("udev /dev/null").status == "absent"
