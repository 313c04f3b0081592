"""What a plan says of a distribution that no vendor lists."""

from __future__ import annotations

from rocdoctor.repair.setup.planner import plan
from tests.repair.setup.world.catalogue import CASES
from tests.repair.setup.world.judge import files_of, judged
from tests.repair.setup.world.routes import ROUTES

_NAMED = {case.name: case for case in (*CASES, *ROUTES)}


def _notes(name: str) -> str:
    case = _NAMED[name]
    return " ".join(plan(judged(files_of(case)), case.goal).notes)


def test_a_derived_distribution_is_said_to_be_judged_by_another() -> None:
    assert "No vendor lists Linux Mint 22.1: it is judged as ubuntu 24.04" in _notes("xtx-mint22")


def test_an_unnamed_release_gets_only_its_own_archive() -> None:
    said = _notes("xtx-ubuntu2510")
    assert "No vendor lists Ubuntu 25.10: only packages of its own archive" in said and "is judged as" not in said


def test_a_listed_distribution_gets_no_such_word() -> None:
    assert "No vendor lists" not in _notes("xtx-ubuntu2404-fresh") + _notes("xtx-arch-fresh")
