"""Machines as they are compared: what the command ``diff`` and the screen of the same take of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocdoctor.collect import collect
from rocdoctor.compare.snapshot import Snapshot, snapshot
from rocdoctor.host.base import Host
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.printable import spelled

if TYPE_CHECKING:
    from rocdoctor.judging.check import Check


def read_snapshot(name: str, host: Host, checks: Sequence[Check], identity: bool = False) -> Snapshot:
    """The machine of some evidence, judged anew; ``identity``: with names and secrets that nobody has masked."""
    return snapshot_of(name, host, diagnose(collect(host), checks), identity)


def snapshot_of(name: str, host: Host, diagnosis: Diagnosis, identity: bool = False) -> Snapshot:
    """The same of what is judged already."""
    excerpt = host.kind == "text"
    name = spelled(name)  # two names that look alike would be one
    if identity or host.kind == "live":  # this machine was masked when it was asked
        return snapshot(name, diagnosis.machine, diagnosis.verdicts, excerpt)
    from rocdoctor.report.masked import discreet, discretion_of

    mask = discretion_of(host)
    return snapshot(name, diagnosis.machine, discreet(diagnosis, mask).verdicts, excerpt).discreetly(mask)
