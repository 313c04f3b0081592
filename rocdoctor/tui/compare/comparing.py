"""This machine beside other evidence, without Textual: what ``rocdoctor diff`` says of both. Slow: for a thread."""

from __future__ import annotations

from rocdoctor.compare.differences import Comparison, compare
from rocdoctor.compare.snapshot import Snapshot
from rocdoctor.host.base import Host
from rocdoctor.model.finding import Diagnosis
from rocdoctor.tui.open_evidence import read


def other(path: str) -> Snapshot:
    """The machine of some evidence, by the path as a person types it; raises InputError."""
    from rocdoctor.service.session import chosen_checks
    from rocdoctor.service.snapshots import read_snapshot

    return read_snapshot(path, read(path), chosen_checks((), ())[0])


def beside(before: Snapshot, host: Host, diagnosis: Diagnosis) -> Comparison:
    """What differs from ``before`` to the machine of the screens."""
    from rocdoctor.service.snapshots import snapshot_of

    return compare([before, snapshot_of(host.origin, host, diagnosis)])


def report(found: Comparison, width: int) -> list[str]:
    """The lines that ``rocdoctor diff`` prints."""
    from rocdoctor.report.diff.diff_document import document
    from rocdoctor.report.text import lines

    return lines(document(found), width)
