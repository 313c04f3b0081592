"""Other words change no decision: all sentences of the verdicts are replaced, and the same follows from them.

The same plan with the same commands, the same causes in the same order, the same groups, differences and screens. What
is compared holds no sentence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from rocdoctor.compare.differences import compare
from rocdoctor.compare.snapshot import snapshot
from rocdoctor.host.base import Host
from rocdoctor.host.evidence.capture import CaptureHost, parse
from rocdoctor.judging.diagnose import rank
from rocdoctor.judging.gpu_standing import about
from rocdoctor.judging.subjects import grouped
from rocdoctor.model.finding import Diagnosis, Finding, Fix, Verdict
from rocdoctor.model.shell_command import ShellCommand
from rocdoctor.repair.fixes.offers import offers
from rocdoctor.repair.setup.plan import GOALS, Step
from rocdoctor.repair.setup.planner import plan
from rocdoctor.report.diagnosis.headline import headline
from rocdoctor.tui.findings.details import steps_for
from rocdoctor.tui.findings.findings_list import FindingsSection, sections
from rocdoctor.tui.topology.check_notes import notes
from tests.examples import some
from tests.golden.faulty import FOLDER
from tests.golden.replay import NAMES, host_of, judged
from tests.golden.test_broken import CASES
from tests.machines.files import MachineHost
from tests.repair.setup.world.judge import NAMED, files_of

_FAULTY = sorted(FOLDER.glob("*.capture"))
_MACHINES = (*NAMES, *(path.stem for path in _FAULTY), *(f"broken {case[0]}" for case in CASES), *NAMED)


@cache
def _host(name: str) -> Host:
    faulty = next((path for path in _FAULTY if path.stem == name), None)
    if faulty is not None:
        return CaptureHost(parse(faulty.read_bytes()), name)
    broken = next((case for case in CASES if f"broken {case[0]}" == name), None)
    if broken is not None:
        return broken[1]().host
    return MachineHost(files_of(NAMED[name])) if name in NAMED else host_of(name)


@cache
def _both(name: str) -> tuple[Diagnosis, Diagnosis]:
    """The diagnosis of a machine, and the same in other words."""
    found = judged(_host(name))
    verdicts = tuple(_reworded(one) for one in found.verdicts)
    steps = tuple(replace(one, why=_other(one.why)) for one in found.next)
    return found, replace(found, verdicts=verdicts, causes=rank(verdicts), next=steps)


def _other(text: str) -> str:
    """Words that nobody knows: equal ones for equal texts, different ones for different texts."""
    return f"zz{hashlib.sha256(text.encode()).hexdigest()}" if text else ""


def _reworded(one: Verdict) -> Verdict:
    gap = None if one.gap is None else replace(one.gap, why=_other(one.gap.why))
    finding = None if one.finding is None else _other_finding(one.finding)
    return replace(one, why=_other(one.why), gap=gap, finding=finding)


def _other_finding(found: Finding) -> Finding:
    fix = found.fix
    if fix is not None:
        command = str.__new__(ShellCommand, _other(fix.command))
        fix = replace(fix, text=_other(fix.text), command=command)
    return replace(found, message=_other(found.message), fix=fix)


@pytest.mark.parametrize("name", some(_MACHINES, 2))
def test_the_same_plan_follows(name: str) -> None:
    own, other = _both(name)
    for goal in (GOALS[0], GOALS[_MACHINES.index(name) % len(GOALS)]):  # each goal on a part of the machines
        assert [_step(one) for one in plan(own, goal).steps] == [_step(one) for one in plan(other, goal).steps], goal
    assert [_offer(one.check, one.fix, one.refusal) for one in offers(own)] == [
        _offer(one.check, one.fix, one.refusal) for one in offers(other)
    ]


def _step(one: Step) -> tuple[Any, ...]:
    return (
        one.id,
        one.state,
        one.layer,
        one.needs,
        one.waits_for,
        one.handed_to,
        one.optional,
        one.actions,
        one.undo,
        one.changes,
        one.risk,
        one.effective,
        one.verify,
        one.evidence,
        len(one.notes),
    )


def _offer(check: str, fix: Fix, refusal: str) -> tuple[Any, ...]:
    return check, fix.changes, fix.unsets, fix.sets, fix.joins, fix.safety, refusal


@pytest.mark.parametrize("name", _MACHINES)
def test_the_same_causes_groups_and_screens_follow(name: str) -> None:
    own, other = _both(name)
    assert [(one.cause, one.check, one.subjects, one.explains) for one in own.causes] == [
        (one.cause, one.check, one.subjects, one.explains) for one in other.causes
    ]
    assert [(found.severity, *rest) for found, *rest in grouped(own.verdicts)] == [
        (found.severity, *rest) for found, *rest in grouped(other.verdicts)
    ]
    assert (headline(own).to_do, headline(own).because) == (headline(other).to_do, headline(other).because)
    assert _rows(name, own, sections(own)) == _rows(name, other, sections(other))
    assert notes(own.machine, own.verdicts) == notes(other.machine, other.verdicts)
    for gpu in own.machine.gpus:
        named = [(one.check, one.subject) for one in about(own.verdicts, gpu)]
        assert named == [(one.check, one.subject) for one in about(other.verdicts, gpu)]


def _rows(name: str, diagnosis: Diagnosis, found: Sequence[FindingsSection]) -> list[tuple[Any, ...]]:
    return [
        (
            part.heading,
            row.state,
            row.check,
            row.subjects,
            row.cause,
            row.follows,
            row.area,
            _commands(name, row, diagnosis),
        )
        for part in found
        for row in part.rows
    ]


def _commands(name: str, row: Any, diagnosis: Diagnosis) -> list[str]:
    return [step.command for step in steps_for(_host(name), row, diagnosis)] if row.state == "unknown" else []


@pytest.mark.parametrize(("a", "b"), list(pairwise(_MACHINES)))
def test_the_same_differences_follow(a: str, b: str) -> None:
    assert list(_differences(0, a, b)) == list(_differences(1, a, b))


def _differences(which: int, *names: str) -> Iterator[tuple[Any, ...]]:
    found = compare([snapshot(name, _both(name)[which].machine, _both(name)[which].verdicts) for name in names])
    yield found.unknown
    for one in found.differences:
        values = one.values if one.kind != "finding" else tuple(value is None for value in one.values)
        yield one.subject, one.what, one.kind, values, one.odd, one.drift
