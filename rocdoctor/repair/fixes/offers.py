"""Diagnosis to fixes: one entry a fix, the main cause first, and why a program may not apply it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rocdoctor.model.change import Change
from rocdoctor.model.finding import SEVERITIES, Diagnosis, Finding, Fix, Verdict
from rocdoctor.model.subject import Subject


@dataclass(frozen=True, slots=True)
class Offer:
    """The fix of some findings of one check. ``refusal`` says why it is left to the person; "" where it is not."""

    check: str
    subjects: tuple[Subject, ...]
    finding: Finding
    fix: Fix
    refusal: str = ""

    @property
    def changes(self) -> tuple[Change, ...]:
        """What a program would change."""
        return () if self.refusal else self.fix.changes

    @property
    def verify(self) -> str:
        """The command that shows whether it has worked."""
        return self.fix.verify or f"rocdoctor check {self.check}"


_BY_SAFETY = {
    "risky": "it is risky, so it is left to you",
    "reboots": "it ends in a restart, so it is left to you",
    "manual": "it has to be done by hand",
}


def offers(diagnosis: Diagnosis, names: Iterable[str] = ()) -> list[Offer]:
    """The fixes of the findings (of some checks): those of the main cause first, then by severity and name."""
    wanted = set(names)
    places = {cause.cause: place for place, cause in enumerate(diagnosis.causes)}
    groups: dict[tuple[str, Fix], list[Verdict]] = {}
    for verdict in diagnosis.verdicts:
        found = verdict.finding
        if found is not None and found.fix is not None and (not wanted or verdict.check in wanted):
            groups.setdefault((verdict.check, replace(found.fix, changes=())), []).append(verdict)
    made = [_offer(check, _merged(fix, verdicts), verdicts) for (check, fix), verdicts in groups.items()]

    def order(one: Offer) -> tuple[int, int, str]:
        severity = SEVERITIES.index(one.finding.severity)
        return (places.get(one.finding.cause, len(places)) if severity < 2 else len(places), severity, one.check)

    return sorted(made, key=order)


def same_fix(found: Finding, offer: Offer) -> bool:
    """Whether a finding asks for the fix of an offer."""
    return asks_the_same(found.fix, offer.fix)


def asks_the_same(one: Fix | None, other: Fix) -> bool:
    """Whether two fixes are the same to a person, whatever each of their findings would change."""
    return one is not None and replace(one, changes=()) == replace(other, changes=())


def _merged(fix: Fix, verdicts: list[Verdict]) -> Fix:
    """The fix with the changes of all its findings; with none where one of them has none."""
    each = [verdict.finding.fix.changes for verdict in verdicts if verdict.finding and verdict.finding.fix]
    changes = tuple(dict.fromkeys(change for changes in each for change in changes)) if all(each) else ()
    return replace(fix, changes=changes)


def _offer(check: str, fix: Fix, verdicts: list[Verdict]) -> Offer:
    found = [verdict.finding for verdict in verdicts if verdict.finding is not None]
    main = min(found, key=lambda one: SEVERITIES.index(one.severity))
    subjects = tuple(dict.fromkeys(verdict.subject for verdict in verdicts))
    return Offer(check, subjects, main, fix, _refusal(main, fix))


def _refusal(found: Finding, fix: Fix) -> str:
    if fix.safety != "safe":
        return _BY_SAFETY[fix.safety]
    if fix.effective == "reboot":
        return "it needs a restart, so it is left to you"
    if found.confidence == "possible":
        return "the finding is only possible, so it is left to you"
    if not fix.changes:
        return "it shows something to you, or needs your judgement" if fix.command else "it has to be done by hand"
    return ""
