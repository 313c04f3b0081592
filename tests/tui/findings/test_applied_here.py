"""Which rows of the list a fix belongs to that was applied here, before and after the machine was asked again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rich.text import Text

from rocdoctor.model.finding import Fix, Verdict
from rocdoctor.tui.findings.applied_here import AppliedHere
from rocdoctor.tui.findings.findings_list import FindingsRow
from rocdoctor.tui.findings.mending import Mending
from tests.kit import named
from tests.tui.findings.finding_kit import failed

_FIX, _OTHER = Fix("mend it", "sudo a", "safe"), Fix("mend that", "sudo b", "safe")
_ONE, _TWO = "gpu 0", "gpu 1"


def _found(check: str, subject: str, fix: Fix) -> FindingsRow:
    return FindingsRow("fail", check, (failed(check, f"{subject} is ill: {fix.text}", subject=subject, fix=fix),))


def _passed(check: str, *subjects: str) -> FindingsRow:
    return FindingsRow("pass", check, tuple(Verdict(check, named(one), "pass") for one in subjects))


def _applied() -> AppliedHere:
    return AppliedHere("wheel", _FIX, (named(_ONE),), "this machine", None, None)


def test_it_belongs_to_the_findings_that_ask_for_it_and_to_no_other_of_the_check() -> None:
    row = _found("wheel", _ONE, _FIX)
    others = [_found("wheel", _TWO, _OTHER), _found("arch", _ONE, _FIX), _passed("wheel", _ONE)]
    assert _applied().rows([*others, row]) == [row]


def test_when_the_finding_is_gone_it_belongs_to_what_its_subjects_say_now() -> None:
    mended, other = _passed("wheel", _ONE), _passed("wheel", _TWO)
    assert _applied().rows([_found("wheel", _TWO, _OTHER), other, mended]) == [mended]
    assert _applied().rows([_found("wheel", _TWO, _OTHER), other]) == [other]


def test_another_finding_of_the_same_subject_has_it_only_where_nothing_else_does() -> None:
    row = _found("wheel", _ONE, _OTHER)
    assert _applied().rows([row]) == [row]
    assert _applied().rows([_found("wheel", _TWO, _OTHER), _passed("arch", _ONE)]) == []


def test_a_row_of_the_same_check_that_asks_for_another_fix_has_nothing_to_take_back(tmp_path: Path) -> None:
    row, other = _found("wheel", _ONE, _FIX), _found("wheel", _TWO, _OTHER)
    here: Any = SimpleNamespace(rocdoctor=SimpleNamespace(host=SimpleNamespace(kind="live", origin="this machine")))
    mending = Mending(here, lambda: [row, other], lambda: None)
    done = replace(_applied(), folder=tmp_path, said=Text("changed"))
    mending._applied.append(done)
    assert mending.undoable(row) is done and mending.text(row) == Text("changed") and mending.keys == {row.key}
    assert mending.undoable(other) is None and mending.text(other) is None
    here.rocdoctor.host.origin = "another machine"
    assert mending.undoable(row) is None and mending.text(row) is None and mending.keys == set()
