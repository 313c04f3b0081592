"""What the PCI ids of an NVIDIA vGPU tell before any driver runs: its type, by ``nvidia_vgpus.yaml``."""

from __future__ import annotations

from functools import cache

from rocdoctor.knowledge.load import load_table
from rocdoctor.model.lazy_re import regex

_NVIDIA = "10de"
_SERIES = regex(r"-\d+([A-Z])(?:ME|\d)?\Z")  # A16-4Q, H100-1-10CME, M60-2B4


@cache
def _types() -> dict[str, dict[str, str]]:
    """Names of types by the id of the device and that of the subsystem."""
    return {row["device"]: row["types"] for row in load_table("nvidia_vgpus")["vgpus"]}


def vgpu_type(pci_id: str, subsystem_id: str) -> str | None:
    """The type ("T4-16C") of a vGPU with these ids ("10de:1eb8", "10de:1375"); None where no row has them."""
    vendor, _, device = pci_id.lower().partition(":")
    maker, _, board = subsystem_id.lower().partition(":")
    return _types().get(device, {}).get(board) if vendor == maker == _NVIDIA else None


def runs_no_cuda(name: str) -> bool:
    """Whether a vGPU of this name ("NVIDIA A16-2B") is of a series that runs no CUDA."""
    series = _SERIES.search(name)
    return series is not None and series[1] in load_table("nvidia_vgpus")["without_cuda"]["series"]
