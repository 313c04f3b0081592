"""GPUs that sleep: a question to their driver would wake them."""

from __future__ import annotations

from collections.abc import Iterable

from rocdoctor.collect.gpus.records import GpuRecord
from rocdoctor.model.evidence import Known


def sleeping(records: Iterable[GpuRecord]) -> set[str]:
    """Vendors of which a GPU is suspended: their tools open every GPU, so they would wake it."""
    found: set[str] = set()
    for record in records:
        status = record.facts.get("runtime_status")
        if isinstance(status, Known) and status.value == "suspended":
            found.add(record.vendor)
    return found
