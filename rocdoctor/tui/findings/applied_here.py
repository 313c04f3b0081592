"""The fixes that were applied from the screen of findings, and the rows that they belong to. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from rocdoctor.host.base import Host
from rocdoctor.model.finding import Fix
from rocdoctor.model.subject import Subject
from rocdoctor.repair.fixes.offers import asks_the_same
from rocdoctor.tui.findings.findings_list import FindingsRow


@dataclass(slots=True)
class AppliedHere:
    """A fix of a check on the live machine ``origin``. ``folder`` undoes it, None where there is nothing to undo.

    ``said``: what came of it, until the person puts it away.
    """

    check: str
    fix: Fix
    subjects: tuple[Subject, ...]
    origin: str
    folder: Path | None
    said: Text | None

    def of(self, host: Host | None) -> bool:
        """Whether it was done on this machine."""
        return host is not None and host.kind == "live" and host.origin == self.origin

    def rows(self, rows: Sequence[FindingsRow]) -> list[FindingsRow]:
        """The rows that it belongs to: those that ask for the same fix, else those that its subjects have now."""
        own = [row for row in rows if row.check == self.check]
        rules: tuple[Callable[[FindingsRow], bool], ...] = (
            lambda row: row.finding is not None and asks_the_same(row.finding.fix, self.fix),
            lambda row: row.finding is None and bool({*row.subjects} & {*self.subjects}),
            lambda row: row.finding is None,
            lambda row: bool({*row.subjects} & {*self.subjects}),
        )
        return next((found for rule in rules if (found := [row for row in own if rule(row)])), [])
