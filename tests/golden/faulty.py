"""Machines with several faults, or with results of tests: ``python -m tests.golden.faulty`` writes them.

They are edits of healthy ones and lie in ``fixtures/faulty/``; the pictures of the documentation show them, and their
reports are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rocdoctor.host.evidence.capture import write
from tests.golden.edits import Broken
from tests.golden.replay import FIXTURES

FOLDER = FIXTURES / "faulty"
_FOURTH = "/sys/bus/pci/devices/0000:6a:00.0"


def old_guide_desktop() -> Broken:
    """Two RX 7900 XTX, set up after an old guide: an override, a group that is missing, a small locked memory."""
    return (
        Broken("rx7900xtx-2gpu")
        .env(HSA_OVERRIDE_GFX_VERSION="10.3.0", HSA_ENABLE_SDMA="0")
        .set("open /dev/kfd", "denied")
        .replace("read /proc/self/status", "Groups:\t27 44 992 1000", "Groups:\t27 44 1000")
        .replace("read /etc/group", "render:x:992:user", "render:x:992:")
    )


def tired_server() -> Broken:
    """Eight MI300X: one on four lanes, with memory errors that could not be corrected, and one XGMI link missing."""
    broken = Broken("mi300x-8gpu").unlink(6, 7)
    for bridge in ("/sys/bus/pci/devices/0000:68:00.0", _FOURTH):
        broken.set(f"read {bridge}/current_link_width", "4")
    broken.set("read /sys/class/drm/card4/device/current_link_width", "4")
    broken.set("read /sys/class/drm/card4/device/ras/umc_err_count", "ue: 3\nce: 118\nde: 0")
    broken.remove("run amd-smi static --json").remove("run amd-smi metric --json")
    return broken.set("read /proc/sys/kernel/numa_balancing", "1")


def proven_server() -> Broken:
    """A server without a GPU, with smoke results that were recorded on another machine of two cores."""
    results = (Path(__file__).parent / "smoke_2_ranks.json").read_text(encoding="utf-8")
    return Broken("epyc-cpu-only").set("smoke quick world=2", results.rstrip("\n"), 0)


MACHINES: dict[str, Callable[[], Broken]] = {
    "rx7900xtx-2gpu-old-guide": old_guide_desktop,
    "mi300x-8gpu-tired": tired_server,
    "epyc-cpu-only-proven": proven_server,
}


def capture_of(name: str) -> str:
    """The text of a machine's file."""
    build = MACHINES[name]
    described = " ".join((build.__doc__ or "").split())
    return write(build().host.capture.answers.values(), {"origin": "constructed", "description": described})


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(exist_ok=True)
    for name in MACHINES:
        (FOLDER / f"{name}.capture").write_text(capture_of(name), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
