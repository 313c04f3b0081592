"""From evidence to plans: what the tests over all machines share."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

from rocdoctor.collect import collect
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.model.finding import Diagnosis
from rocdoctor.repair.setup.plan import SetupPlan
from rocdoctor.repair.setup.planner import plan
from tests.golden.replay import our_checks
from tests.machines.files import Files, MachineHost
from tests.repair.setup.world.box import evidence
from tests.repair.setup.world.catalogue import CASES, Case

NAMED = {case.name: case for case in CASES}


def files_of(case: Case) -> Files:
    """The evidence of a machine as it stands in the catalogue."""
    if case.box is not None and case.state is not None:
        return evidence(case.box, case.state)
    assert case.whole is not None
    return case.whole()


_judged: dict[bytes, Diagnosis] = {}


def judged(files: Files) -> Diagnosis:
    """What the checks say of some evidence; of the same evidence they say it once a process."""
    key = blake2b(repr(files).encode()).digest()
    if key not in _judged:
        _judged[key] = diagnose(collect(MachineHost(files)), our_checks())
    return _judged[key]


@cache
def plan_of(name: str) -> SetupPlan:
    """The plan of a machine of the catalogue."""
    case = NAMED[name]
    return plan(judged(files_of(case)), case.goal)
