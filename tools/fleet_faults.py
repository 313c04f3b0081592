"""Faults that ``tools/fleet_world.py`` plants: what each changes in a record, and what is to be concluded of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random

from rocdoctor.fleet.record import NodeRecord, Sighting
from rocdoctor.model.finding import Confidence, Severity

Edit = Callable[[NodeRecord, int, Random], NodeRecord]


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault. ``node_class`` is what the node is to be called, ``check`` and ``cause`` by what name.

    ``edit`` changes the record, given a GPU. ``gpu``: it lies in one GPU. ``vendor``: of nodes of this one alone.
    ``once``: one line of the log, which every record shows again. ``since``: the round in which it begins.
    """

    kind: str
    node_class: str
    check: str
    cause: str
    edit: Edit
    gpu: bool = True
    vendor: str = ""
    once: bool = False
    since: int = 1

    @property
    def drains(self) -> bool:
        """Whether the node is to be taken out once it has been seen often enough."""
        return self.node_class in ("certain", "likely") and not self.once


def found_in(
    check: str, cause: str, severity: Severity, message: str, of_gpu: bool = True, confidence: Confidence = "certain"
) -> Edit:
    """A record with one finding more, as the check words it."""

    def edit(record: NodeRecord, gpu: int, random: Random) -> NodeRecord:
        words = message.format(count=random.randint(1, 400), temp=random.randint(96, 109))
        one = Sighting(check, cause, severity, confidence, gpu if of_gpu else None, words)
        return replace(record, findings=(*record.findings, one))

    return edit


def _logged(check: str, cause: str, severity: Severity, message: str, again: bool) -> Edit:
    """One line of the kernel log in every record, or a new one in each."""
    make = found_in(check, cause, severity, message, confidence="likely" if check == "nvidia-xid" else "certain")

    def edit(record: NodeRecord, gpu: int, random: Random) -> NodeRecord:
        *before, one = make(record, gpu, random).findings
        since = float(record.taken_at % 1_000_000) if again else 1000.0
        return replace(record, findings=(*before, replace(one, logged_s=since)))

    return edit


def _without_gpu(record: NodeRecord, gpu: int, random: Random) -> NodeRecord:
    keep = [at for at in range(len(record.gpus)) if at != gpu]
    return replace(
        record,
        gpus=tuple(record.gpus[at] for at in keep),
        gpu_traits=tuple(record.gpu_traits[at] for at in keep),
        figures={name: tuple(values[at] for at in keep) for name, values in record.figures.items()},
    )


def of_gpu_trait(key: str, value: str) -> Edit:
    def edit(record: NodeRecord, gpu: int, random: Random) -> NodeRecord:
        traits = tuple({**one, key: value} if at == gpu else one for at, one in enumerate(record.gpu_traits))
        return replace(record, gpu_traits=traits)

    return edit


def of_trait(key: str, change: Callable[[str], str]) -> Edit:
    def edit(record: NodeRecord, gpu: int, random: Random) -> NodeRecord:
        before = record.traits.get(key)
        return record if before is None else replace(record, traits={**record.traits, key: change(before)})

    return edit


def _port_down(record: NodeRecord, gpu: int, random: Random) -> NodeRecord:
    edited = of_trait("nics", lambda cards: cards.replace("8 x roce 400", "7 x roce 400") + ", 1 x roce down")
    return found_in("infiniband-port-down", "", "warning", "Port 1 of mlx5_3 is down.", False, "likely")(
        edited(record, gpu, random), gpu, random
    )


def _package(record: NodeRecord, gpu: int, random: Random) -> NodeRecord:
    return replace(record, tables={**record.tables, "package": f"{random.getrandbits(48):012x}"})


_DRIVER, _HARDWARE = "kernel-module-not-loaded", "gpu-hardware-fault"
_FAULTS = (
    Fault("gpu-off-bus", "certain", "fleet-gpu-missing", _HARDWARE, _without_gpu),
    Fault(
        "driver-unbound",
        "certain",
        "gpu-without-driver",
        _DRIVER,
        found_in("gpu-without-driver", _DRIVER, "error", "No kernel driver is bound to this GPU."),
    ),
    Fault(
        "ras-fatal",
        "certain",
        "ras-uncorrectable",
        _HARDWARE,
        found_in(
            "ras-uncorrectable", _HARDWARE, "error", "umc: {count} uncorrectable errors since the driver started."
        ),
    ),
    Fault(
        "kfd-absent",
        "certain",
        "kfd-missing",
        _DRIVER,
        found_in("kfd-missing", _DRIVER, "error", "The kernel has no compute driver.", False),
        gpu=False,
        vendor="1002",
    ),
    Fault(
        "needs-reset",
        "certain",
        "nvidia-gpu-needs-reset",
        _HARDWARE,
        found_in("nvidia-gpu-needs-reset", _HARDWARE, "error", "The driver asks for a reset of this GPU."),
        vendor="10de",
    ),
    Fault(
        "fell-off-bus",
        "certain",
        "gpu-fell-off-bus",
        _HARDWARE,
        found_in("gpu-fell-off-bus", _HARDWARE, "error", "The GPU stopped answering on the bus."),
    ),
    Fault(
        "smu-silent",
        "different",
        "smu-not-responding",
        _HARDWARE,
        found_in("smu-not-responding", _HARDWARE, "error", "The SMU did not answer {count} times.", False, "possible"),
        gpu=False,
        vendor="1002",
    ),
    Fault(
        "wrong-numbers",
        "certain",
        "smoke-numbers-wrong",
        _HARDWARE,
        found_in("smoke-numbers-wrong", _HARDWARE, "error", "ddp: gradients differ on this GPU."),
    ),
    Fault(
        "ras-logged-again",
        "certain",
        "ras-log-uncorrectable",
        _HARDWARE,
        _logged("ras-log-uncorrectable", _HARDWARE, "error", "Uncorrectable hardware error (umc: {count}).", True),
        vendor="1002",
    ),
    Fault(
        "ras-logged-once",
        "certain",
        "ras-log-uncorrectable",
        _HARDWARE,
        _logged("ras-log-uncorrectable", _HARDWARE, "error", "Uncorrectable hardware error (umc: {count}).", False),
        vendor="1002",
        once=True,
    ),
    Fault(
        "xid-again",
        "likely",
        "nvidia-xid",
        _HARDWARE,
        _logged("nvidia-xid", _HARDWARE, "error", "Xid 79 was logged {count} times.", True),
        vendor="10de",
    ),
    Fault(
        "xid-once",
        "likely",
        "nvidia-xid",
        _HARDWARE,
        _logged("nvidia-xid", _HARDWARE, "error", "Xid 79 was logged once.", False),
        vendor="10de",
        once=True,
    ),
    Fault(
        "xid-old",
        "different",
        "nvidia-xid",
        _HARDWARE,
        _logged("nvidia-xid", _HARDWARE, "warning", "Xid 79 was logged once, last 2 days ago.", False),
        vendor="10de",
    ),
    Fault("link-narrow", "likely", "fleet-link-below-group", "pcie-link-degraded", of_gpu_trait("pcie_width", "8")),
    Fault("fabric-peer-lost", "likely", "fleet-link-below-group", _HARDWARE, of_gpu_trait("fabric_peers", "6")),
    Fault("port-down", "likely", "infiniband-port-down", "", _port_down, gpu=False),
    Fault(
        "correctable-storm",
        "likely",
        "ras-correctable",
        _HARDWARE,
        found_in("ras-correctable", _HARDWARE, "warning", "umc: {count} corrected errors.", confidence="likely"),
    ),
    Fault(
        "throttling",
        "likely",
        "throttling-now",
        "thermal-or-power-limit",
        found_in("throttling-now", "thermal-or-power-limit", "warning", "The clocks are held down at {temp} °C."),
    ),
    Fault(
        "job-in-kernel",
        "likely",
        "job-stuck-in-kernel",
        "",
        found_in("job-stuck-in-kernel", "", "error", "Process {count} waits in the kernel.", False, "likely"),
        gpu=False,
    ),
    Fault(
        "replays",
        "likely",
        "pcie-replays",
        "pcie-link-degraded",
        found_in("pcie-replays", "pcie-link-degraded", "warning", "{count} PCIe packets were sent again."),
    ),
    Fault(
        "memory-module-lost",
        "likely",
        "fleet-host-below-group",
        "",
        of_trait("memory_bytes", lambda size: str(int(size) * 15 // 16)),
        gpu=False,
    ),
    Fault(
        "kernel-odd", "different", "fleet-trait-differs.kernel", "", of_trait("kernel", lambda _: "6.2.0-9"), gpu=False
    ),
    Fault(
        "power-cap-odd",
        "different",
        "fleet-trait-differs.power_cap_w",
        "",
        of_gpu_trait("power_cap_w", "300"),
        gpu=False,
    ),
    Fault(
        "iommu-odd", "different", "fleet-trait-differs.iommu", "", of_trait("iommu", lambda _: "translated"), gpu=False
    ),
    Fault("package-odd", "different", "fleet-trait-differs.package", "", _package, gpu=False),
)
FAULTS: Mapping[str, Fault] = {one.kind: one for one in _FAULTS}
