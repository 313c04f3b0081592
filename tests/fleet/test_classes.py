"""Each entry of the classes can be reached by what its check gives, and so can what the simulated fleet plants."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from random import Random

from rocdoctor.fleet.classes import CERTAIN, EVENTS, LIKELY, LOGGED, class_of
from rocdoctor.model.finding import CONFIDENCES, SEVERITIES
from tests.fleet.kit import fixture_record
from tests.golden.replay import our_checks
from tools.fleet_faults import FAULTS
from tools.fleet_world import GLITCHES, OUTAGE


def _outcomes(path: Path) -> set[tuple[str, str]]:
    """What a check can give, from its text: the severity and confidence of each finding; "?" for what is worked out."""
    found: set[tuple[str, str]] = set()
    for call in (one for one in ast.walk(ast.parse(path.read_text())) if isinstance(one, ast.Call)):
        given = {one.arg: one.value for one in call.keywords}
        if "evidence" in given:
            named = call.func.id if isinstance(call.func, ast.Name) else "?"
            severities = {named} & set(SEVERITIES) or {"?"}
            sure = given.get("confidence", ast.Constant("certain"))
            words = {one.value for one in ast.walk(sure) if isinstance(one, ast.Constant)} & {*CONFIDENCES}
            found |= {(severity, str(word)) for severity in severities for word in words or {"?"}}
    return found


def test_each_check_of_a_class_can_reach_it() -> None:
    wrong: list[str] = []
    for one in our_checks():
        wanted = "certain" if one.name in CERTAIN else "likely" if one.name in LIKELY else None
        reached = {
            class_of(one.name, level, word)
            for severity, sure in _outcomes(one.path)
            for level in (SEVERITIES if severity == "?" else (severity,))
            for word in (CONFIDENCES if sure == "?" else (sure,))
        }
        if wanted is not None and wanted not in reached:
            wrong.append(one.name)
    assert wrong == []
    assert LOGGED | EVENTS <= CERTAIN | LIKELY


def test_what_the_world_plants_its_checks_can_give() -> None:
    paths = {one.name: one.path for one in our_checks()}
    base = fixture_record()
    planted: list[tuple[str, str, str]] = [*GLITCHES, *OUTAGE]
    for fault in FAULTS.values():
        new = [one for one in fault.edit(base, 0, Random(1)).findings if one not in base.findings]
        planted += [(one.check, one.severity, one.confidence) for one in new]
    wrong = [
        (check, severity, sure)
        for check, severity, sure in planted
        if not any(a in (severity, "?") and b in (sure, "?") for a, b in _outcomes(paths[check]))
    ]
    assert wrong == []


def test_the_page_says_of_each_line_of_the_log_how_it_counts() -> None:
    page = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text()
    points = [one for one in page.split("\n- ") if one.startswith(("A kernel log line ", "If such a line "))]
    events, states = ({*re.findall(r"`([a-z]+(?:-[a-z]+)+)`", one)} for one in points)
    assert events == EVENTS
    assert states == LOGGED - EVENTS
