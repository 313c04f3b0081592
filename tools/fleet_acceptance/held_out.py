"""Kinds of faults that the world does not plant otherwise, so that nothing was tuned on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from rocdoctor.fleet.record import NodeRecord
from tools.fleet_faults import Fault, found_in, of_gpu_trait, of_trait

_HARDWARE, _LINK, _DRIVER = "gpu-hardware-fault", "pcie-link-degraded", "kernel-module-not-loaded"


def _half_of_the_gpus(record: NodeRecord, gpu: int, random: Random) -> NodeRecord:
    """A switch of the board and all behind it."""
    keep = range(4)
    return replace(
        record,
        gpus=record.gpus[:4],
        gpu_traits=record.gpu_traits[:4],
        figures={name: tuple(values[at] for at in keep) for name, values in record.figures.items()},
    )


def _less_memory(record: NodeRecord, gpu: int, random: Random) -> NodeRecord:
    """A stack of memory that the driver has switched off."""
    size = int(record.gpu_traits[gpu]["memory_bytes"] or 0) * 7 // 8
    return of_gpu_trait("memory_bytes", str(size))(record, gpu, random)


HELD_OUT: Mapping[str, Fault] = {
    one.kind: replace(one, since=2)  # what was there before is what the node lost
    for one in (
        Fault("half-the-gpus", "certain", "fleet-gpu-missing", _HARDWARE, _half_of_the_gpus, gpu=False),
        Fault("memory-stack-off", "likely", "fleet-link-below-group", _HARDWARE, _less_memory),
        Fault("old-generation", "likely", "fleet-link-below-group", _LINK, of_gpu_trait("pcie_speed_gt_s", "8")),
        Fault("one-socket", "likely", "fleet-host-below-group", "", of_trait("sockets", lambda _: "1"), gpu=False),
        Fault(
            "taken-by-vfio",
            "certain",
            "wrong-kernel-driver",
            _DRIVER,
            found_in("wrong-kernel-driver", _DRIVER, "error", "vfio-pci is bound to this GPU."),
        ),
        Fault(
            "probe-failed",
            "certain",
            "driver-probe-failed",
            _DRIVER,
            found_in("driver-probe-failed", _DRIVER, "error", "The driver gave up on this GPU: error -12."),
        ),
        Fault(
            "pages-retired",
            "likely",
            "bad-pages",
            _HARDWARE,
            found_in("bad-pages", _HARDWARE, "warning", "{count} pages are retired."),
        ),
        Fault(
            "fans-stopped",
            "likely",
            "fan-stopped-hot",
            "thermal-or-power-limit",
            found_in("fan-stopped-hot", "thermal-or-power-limit", "error", "The fan stands still at {temp} °C."),
        ),
        Fault(
            "a-check-of-the-site",
            "different",
            "site-license-server",
            "",
            found_in("site-license-server", "", "error", "No licence server answers.", False),
            gpu=False,
        ),
        Fault(
            "module-options",
            "different",
            "fleet-trait-differs.module_options",
            "",
            of_trait("module_options", lambda _: "amdgpu lockup_timeout=0"),
            gpu=False,
        ),
    )
}
