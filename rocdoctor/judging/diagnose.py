"""From many findings to few causes, the one thing to do first in front.

A finding may explain others: a CPU-only wheel explains "no GPU visible". What is explained by a finding that stands
does not become a cause of its own, but a mere possibility explains nothing that is surer. The order is by severity,
then confidence, then the rank of the cause in ``knowledge/tables/causes.yaml`` (a layer that others stand on comes
first). Mere possibilities that one row of the tables gives for the same message keep the order of the row, which names
the usual one first.

How sure a finding is follows its evidence: ``rocdoctor.judging.certainty`` lowers what rests on words or on a reply.

What a symptom leaves open (``undecided``) counts only where nothing else was found, and keeps the order of its check.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rocdoctor.judging.certainty import capped
from rocdoctor.judging.check import Check
from rocdoctor.judging.next_steps import next_steps
from rocdoctor.judging.prose import weighed
from rocdoctor.judging.running import run_check
from rocdoctor.knowledge.lookup import cause as cause_entry
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import CONFIDENCES, SEVERITIES, Cause, Diagnosis, Evidence, Finding, Verdict
from rocdoctor.model.late import looked_at

_MOST_OPEN = 3  # causes


def diagnose(machine: Machine, checks: Iterable[Check], problems: Sequence[str] = ()) -> Diagnosis:
    """Run the checks on a machine and rank what they found."""
    verdicts = settled(_sure(machine, verdict) for one in checks for verdict in run_check(one, machine))
    machine = looked_at(machine)  # nothing more is asked
    return Diagnosis(machine, verdicts, rank(verdicts), next_steps(machine, verdicts), tuple(problems))


def _sure(machine: Machine, verdict: Verdict) -> Verdict:
    found = verdict.finding
    return verdict if found is None else weighed(machine, replace(verdict, finding=capped(machine, found)))


def settled(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """The verdicts, without what a symptom leaves open where anything else was found."""
    given = tuple(verdicts)
    found = [one.finding for one in given if one.finding is not None and one.finding.severity != "info"]
    if all(one.undecided for one in found):
        return given
    why = "something surer was found"
    return tuple(
        replace(one, state="not-applicable", finding=None, why=why)
        if one.finding is not None and one.finding.undecided
        else one
        for one in given
    )


def rank(verdicts: Iterable[Verdict]) -> tuple[Cause, ...]:
    """Causes, main one first, each cause id once. Findings of severity info are no causes."""
    failed = [v for v in verdicts if v.finding is not None and v.finding.cause and v.finding.severity != "info"]
    groups: dict[str, list[Verdict]] = {}
    for verdict in failed:
        assert verdict.finding is not None
        groups.setdefault(verdict.finding.cause, []).append(verdict)
    kinds = {name: _kinds(members) for name, members in groups.items()}
    explained = {name: _explained(name, kinds[name], _kinds(failed)) for name in groups}
    causes = [_cause(name, members, explained[name]) for name, members in groups.items()]
    if all(one.finding is not None and one.finding.undecided for one in causes):
        return tuple(causes[:_MOST_OPEN])
    follows = {name for name in groups if _explained_by_others(name, kinds)}
    standing = [cause for cause in causes if cause.cause not in follows] or causes
    ordered = _as_rows_tell(sorted(standing, key=_order), [one.finding for one in failed])
    # A comparison goes before other possible causes, however grave they would be, and behind what is surer.
    compared = [one for one in ordered if one.finding is not None and one.finding.decides]
    others = [one for one in ordered if one not in compared]
    at = max((at for at, one in enumerate(others, 1) if one.confidence != "possible"), default=0)
    return (*others[:at], *compared, *others[at:])


def _as_rows_tell(causes: Sequence[Cause], told: Sequence[Finding | None]) -> list[Cause]:
    """The causes, with the possible ones of one message on their places in the order in which its row tells them."""
    places: dict[tuple[Evidence, ...], list[int]] = {}
    for at, one in enumerate(causes):
        if one.confidence == "possible" and one.finding is not None and one.finding.of_table and one.finding.evidence:
            places.setdefault(one.finding.evidence, []).append(at)
    found = list(causes)
    for of_one in places.values():
        for at, cause in zip(
            of_one, sorted((causes[at] for at in of_one), key=lambda x: told.index(x.finding)), strict=True
        ):
            found[at] = cause
    return found


def _explains(by: Finding, verdict: Verdict) -> bool:
    """Whether a finding accounts for another. A mere possibility does not for what is surer: both stand then.

    What is likely does for what is certain: a consequence is seen, and its reason is rarely surer than it. Severity is
    not asked: it says how grave something is, and a slight fault can have a grave consequence.
    """
    found = verdict.finding
    assert found is not None
    if verdict.check not in by.explains and found.cause not in by.explains:
        return False
    return by.confidence != "possible" or found.confidence == "possible"


def _kinds(members: Sequence[Verdict]) -> list[Verdict]:
    """One of those that explain, and are explained, alike: thousands of GPUs may share a finding."""
    found = {
        (one.check, one.finding.cause, one.finding.confidence, frozenset(one.finding.explains)): one
        for one in members
        if one.finding is not None
    }
    return list(found.values())


def _explained(name: str, members: Sequence[Verdict], failed: Sequence[Verdict]) -> set[str]:
    """What the findings of a cause account for: checks and causes, by the names under which the findings tell them."""
    found: set[str] = set()
    for verdict in failed:
        assert verdict.finding is not None
        for member in members:
            if member.finding is not None and _explains(member.finding, verdict):
                found |= {verdict.check, verdict.finding.cause} & set(member.finding.explains)
    return found - {name}


def _explained_by_others(name: str, groups: dict[str, list[Verdict]]) -> bool:
    """Whether every finding of this cause follows from another cause (of two that explain each other both stand)."""
    return any(
        _all_follow(groups[name], members) and not _all_follow(members, groups[name])
        for other, members in groups.items()
        if other != name
    )


def _all_follow(members: Sequence[Verdict], others: Sequence[Verdict]) -> bool:
    found = [one.finding for one in others if one.finding is not None]
    return all(any(_explains(by, member) for by in found) for member in members)


def _cause(name: str, members: list[Verdict], explains: set[str]) -> Cause:
    main = min(_unexplained(members) or members, key=_verdict_order)
    assert main.finding is not None
    subjects = tuple(dict.fromkeys(member.subject for member in members if member.check == main.check))
    entry = cause_entry(name)
    fix = main.finding.fix
    if fix is not None:
        remedy = f"{fix.text}{f': {fix.beside_text}' if fix.beside_text else ''}"
    else:
        remedy = entry.remedy if entry is not None else ""
    return Cause(
        name,
        main.finding.confidence,
        main.finding.severity,
        main.finding.message,
        remedy,
        main.check,
        subjects,
        tuple(sorted(explains)),
        main.finding,
    )


def _unexplained(members: list[Verdict]) -> list[Verdict]:
    """Those that no finding of the same cause says more precisely."""
    kinds = _kinds(members)
    return [
        one
        for one in members
        if not any(
            other.finding is not None
            and other.check != one.check
            and one.check in other.finding.explains
            and _explains(other.finding, one)
            for other in kinds
        )
    ]


def _verdict_order(verdict: Verdict) -> tuple[bool, int, int, bool, str]:
    """Of findings of one cause: no mere possibility speaks over what is surer, no row of the tables over a check."""
    found = verdict.finding
    assert found is not None
    severity, confidence = SEVERITIES.index(found.severity), CONFIDENCES.index(found.confidence)
    return (found.confidence == "possible", severity, confidence, found.of_table, verdict.check)


def _order(one: Cause) -> tuple[int, int, int, str]:
    entry = cause_entry(one.cause)
    rank_of = entry.rank if entry is not None else 0
    return (SEVERITIES.index(one.severity), CONFIDENCES.index(one.confidence), -rank_of, one.cause)
