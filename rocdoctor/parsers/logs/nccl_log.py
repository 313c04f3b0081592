"""Lines that NCCL and RCCL print with NCCL_DEBUG=INFO or WARN: version, interfaces, GPUs by their bus ids.

The text has one line a message, "host:pid:tid [device] NCCL INFO ..."; other lines are passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of
from rocdoctor.parsers.kernel.pci import parse_nccl_busid

_MAX_LINES = 100_000
_MAX_GPUS = 1024
_VERSION = regex(
    r"\b(NCCL|RCCL) version[ :]{1,3}(\d{1,3}\.\d{1,3}[\w.]{0,20})(?:[+-](cuda|hip)([\d.]{1,12}))?", re.IGNORECASE
)
_COMM = regex(r"\brank (\d{1,6}) nranks (\d{1,6}) cudaDev (\d{1,4})(?: nvmlDev \d{1,4})? busId ([0-9a-fA-F]{1,12})")


@dataclass(frozen=True, slots=True)
class NcclGpu:
    """A GPU of a communicator."""

    device: int
    bdf: str
    line: int


@dataclass(frozen=True, slots=True)
class NcclLog:
    """``hip`` and ``cuda`` are what the library was built with, where the text tells."""

    hip: str | None = None
    cuda: str | None = None
    world: int | None = None
    gpus: tuple[NcclGpu, ...] = ()


def parse_nccl_log(text: str) -> NcclLog:
    """Reads every line that is known; nothing recognised gives an empty result."""
    version = hip = cuda = None
    world: int | None = None
    gpus: dict[str, NcclGpu] = {}
    for number, raw in enumerate(lines_of(text, _MAX_LINES), 1):
        line = raw[:2000]
        if version is None and (found := _VERSION.search(line)):
            version = found[2]
            hip = found[4] if (found[3] or "").lower() == "hip" else None
            cuda = found[4] if (found[3] or "").lower() == "cuda" else None
        comm = _COMM.search(line)
        bdf = parse_nccl_busid(comm[4]) if comm else None
        if comm and bdf and len(gpus) < _MAX_GPUS:
            world = max(world or 0, int(comm[2]))
            gpus.setdefault(bdf, NcclGpu(int(comm[3]), bdf, number))
    return NcclLog(hip, cuda, world, tuple(gpus.values()))
