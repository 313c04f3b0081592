"""What ``nvidia-smi`` says of GPUs: the records that every form of its output is read into, and its failure texts.

``nvidia_smi`` reads ``nvidia-smi -q -x`` and ``-q`` with the names of ``nvidia_fields``, ``nvidia_table`` the default
table and ``-L``, ``nvidia_links`` reads ``nvlink --status`` and ``topo -m``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import PCIE_GEN_GT_S, lines_of, pci_address

FailureKind = Literal[
    "driver-not-running",  # the tool could not talk to the kernel module
    "version-mismatch",  # user-space library and loaded kernel module are of different releases
    "no-devices",
    "gpu-lost",  # fell off the bus
    "gpu-unreachable",  # no handle for one GPU, other reason (often also off the bus, or it needs a reset)
    "library-missing",
    "blocked",  # by the operating system, permissions or a container's device rules
    "nvml-failed",  # any other failure to initialise
    "inforom-corrupted",
]

_FAILURES: tuple[tuple[FailureKind, re.Pattern[str]], ...] = (
    ("version-mismatch", regex(r"driver/library version mismatch", re.IGNORECASE)),
    ("driver-not-running", regex(r"could ?n[o'’]t communicate with the nvidia driver", re.IGNORECASE)),
    ("driver-not-running", regex(r"failed to initialize nvml: driver not loaded", re.IGNORECASE)),
    ("no-devices", regex(r"^\s*no devices (?:were )?found", re.IGNORECASE)),
    ("gpu-lost", regex(r"unable to determine the device handle for gpu.{0,80}gpu is lost", re.IGNORECASE)),
    ("gpu-unreachable", regex(r"unable to determine the device handle for gpu", re.IGNORECASE)),
    ("library-missing", regex(r"couldn't find libnvidia-ml\.so", re.IGNORECASE)),
    ("library-missing", regex(r"failed to initialize nvml: nvml shared library not found", re.IGNORECASE)),
    (
        "blocked",
        regex(r"failed to initialize nvml: (?:gpu access blocked|insufficient permissions)", re.IGNORECASE),
    ),
    ("nvml-failed", regex(r"failed to initialize nvml", re.IGNORECASE)),
    ("inforom-corrupted", regex(r"inforom is corrupted", re.IGNORECASE)),
)
# A table may stand in a line of any length; a message of the tool never does.
_MAX_MESSAGE = 400


@dataclass(frozen=True, slots=True)
class NvidiaFailure:
    """A message of the tool that says that it, or one GPU, does not work; ``bdf`` where the message names one."""

    kind: FailureKind
    message: str
    line: int
    bdf: str | None = None


@dataclass(frozen=True, slots=True)
class NvidiaProcess:
    """A process on a GPU and the memory that it holds there."""

    used_bytes: int | None
    line: int


@dataclass(frozen=True, slots=True)
class NvidiaGpu:
    """One GPU as the tool shows it; every field that does not stand there, or stands as N/A, is None.

    ``index`` is the tool's own number where the output shows it or lists every GPU. Temperatures are in Celsius.
    ``pcie_gen_max`` and ``pcie_width_max`` are those of device and slot together; the current generation falls when the
    GPU idles. ``power_limit_w`` is the limit in force. ECC counts are sums over memories. ``clocks_event_reasons`` are
    the active ones ("hw_slowdown"), () when none is. ``mig_instances`` counts the MIG devices. ``lines`` has the line
    of each value.
    """

    line: int
    index: int | None = None
    bdf: str | None = None
    name: str | None = None
    name_cut: bool = False
    uuid: str | None = None
    pci_id: str | None = None
    subsystem_id: str | None = None
    vbios: str | None = None
    numa_node: int | None = None
    persistence_mode: bool | None = None
    compute_mode: str | None = None
    performance_state: str | None = None
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None
    gpu_util_percent: float | None = None
    temp_c: float | None = None
    temp_shutdown_c: float | None = None
    temp_slowdown_c: float | None = None
    temp_memory_c: float | None = None
    temp_memory_max_operating_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    power_limit_default_w: float | None = None
    power_limit_max_w: float | None = None
    clock_graphics_mhz: float | None = None
    clock_graphics_max_mhz: float | None = None
    clocks_event_reasons: tuple[str, ...] | None = None
    pcie_gen: int | None = None
    pcie_gen_max: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    pcie_replays: int | None = None
    ecc_enabled: bool | None = None
    ecc_pending: bool | None = None
    ecc_volatile_corrected: int | None = None
    ecc_volatile_uncorrected: int | None = None
    ecc_aggregate_corrected: int | None = None
    ecc_aggregate_uncorrected: int | None = None
    retired_pages_single_bit: int | None = None
    retired_pages_double_bit: int | None = None
    retired_pages_pending: bool | None = None
    remapped_rows_pending: bool | None = None
    remapped_rows_failure: bool | None = None
    reset_required: bool | None = None
    drain_and_reset_recommended: bool | None = None
    recovery_action: str | None = None
    mig_enabled: bool | None = None
    mig_instances: int = 0
    fabric_state: str | None = None
    fabric_status: str | None = None
    processes: tuple[NvidiaProcess, ...] | None = None
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def pcie_speed_gt_s(self) -> float | None:
        """The current rate per lane, GT/s (PCI Express Base Specification)."""
        return PCIE_GEN_GT_S.get(self.pcie_gen or 0)

    @property
    def pcie_max_speed_gt_s(self) -> float | None:
        """The highest rate per lane that device and slot reach together, GT/s."""
        return PCIE_GEN_GT_S.get(self.pcie_gen_max or 0)


@dataclass(frozen=True, slots=True)
class NvidiaSmi:
    """One output of the tool.

    ``attached_gpus`` is the tool's own count and may differ from the number of ``gpus`` (output of one GPU, or cut).
    ``cuda_version`` is the highest that the driver serves, not that of an installed toolkit. ``truncated`` is True
    where the text ends inside the output.
    """

    driver_version: str | None = None
    cuda_version: str | None = None
    attached_gpus: int | None = None
    gpus: tuple[NvidiaGpu, ...] = ()
    failures: tuple[NvidiaFailure, ...] = ()
    truncated: bool = False
    lines: Mapping[str, int] = field(default_factory=dict)


def parse_failures(text: str) -> tuple[NvidiaFailure, ...]:
    """The failure messages in the text, in their order, one a line and at most 256."""
    found: list[NvidiaFailure] = []
    for at, line in enumerate(lines_of(text), 1):
        # Tables, XML and the key-value listing are the bulk; a message has none of their marks at its start.
        if len(line) > _MAX_MESSAGE or line.lstrip()[:1] in ("|", "<", "+", ""):
            continue
        for kind, pattern in _FAILURES:
            if pattern.search(line):
                found.append(NvidiaFailure(kind, line.strip(), at, pci_address(line.replace("GPU", "GPU "))))
                break
        if len(found) >= 256:
            break
    return tuple(found)
