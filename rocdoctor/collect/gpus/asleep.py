"""GPUs that sleep: a question to their driver would wake them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rocdoctor.collect.gpus.records import GpuRecord
from rocdoctor.host.base import Host
from rocdoctor.model.evidence import Known


def sleeping(records: Iterable[GpuRecord]) -> set[str]:
    """Vendors of which a GPU is suspended: their tools open every GPU, so they would wake it."""
    found: set[str] = set()
    for record in records:
        status = record.facts.get("runtime_status")
        if isinstance(status, Known) and status.value == "suspended":
            found.add(record.vendor)
    return found


def all_awake(host: Host, before: Mapping[str, bytes]) -> bool:
    """Whether no GPU sleeps now or did before, by the questions that tell it: asked of a sleeping GPU, they wake none.

    ``before``: what was answered by question. Then all that was asked before can be asked again in one go; one by one,
    each question costs two changes of process.
    """
    states = [question for question in before if question.endswith("/runtime_status")]
    host.prefetch(states)
    return all(host.ask(one).data.strip() == before[one].strip() != b"suspended" for one in states)
