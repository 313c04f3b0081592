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
from rocdoctor.parsers.formats.gpu_reading import GpuReading
from rocdoctor.parsers.formats.text import lines_of, pci_address

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
    pid: int | None = None


@dataclass(frozen=True, slots=True)
class NvidiaSmi:
    """One output of the tool.

    The index of a GPU is the tool's own where the output shows it or lists every GPU. Limits of links are those of
    device and slot together; the current speed falls when the GPU idles. ``throttle`` are the active reasons
    ("hw_slowdown"), () when none is. ``mig_instances`` counts the MIG devices; ``cut_name`` is one that the table cut.
    ``attached_gpus`` is the tool's own count and may differ from the number of ``gpus`` (output of one GPU, or cut).
    ``cuda_version`` is the highest that the driver serves, not that of an installed toolkit. ``truncated`` is True
    where the text ends inside the output.
    """

    driver_version: str | None = None
    cuda_version: str | None = None
    attached_gpus: int | None = None
    gpus: tuple[GpuReading, ...] = ()
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
