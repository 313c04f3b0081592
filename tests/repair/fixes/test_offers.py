"""Which fixes a program may apply: what each check lists is what its command says, and nothing else is applied."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from rocdoctor.judging.diagnose import rank
from rocdoctor.judging.loading import check_files
from rocdoctor.model.change import Change, KernelValue, Unset
from rocdoctor.model.finding import Diagnosis, Finding, Fix, Verdict
from rocdoctor.model.subject import Subject
from rocdoctor.repair.fixes.offers import offers
from tests.kit import ROOT, machine, named

_CHECKS = check_files(ROOT / "checks")


def _diagnosis(*findings: tuple[str, str, Finding]) -> Diagnosis:
    verdicts = tuple(Verdict(check, named(subject), "fail", found) for check, subject, found in findings)
    return Diagnosis(machine(), verdicts, rank(verdicts))


_SAFE = Fix("Unset it", "unset A", "safe", changes=(Unset("A"),))


@pytest.mark.parametrize(
    ("fix", "confidence", "words"),
    [
        (_SAFE, "certain", ""),
        (_SAFE, "likely", ""),
        (_SAFE, "possible", "only possible"),
        (Fix("x", "y", "risky", changes=(Unset("A"),)), "certain", "risky"),
        (Fix("x", "y", "reboots", changes=(Unset("A"),)), "certain", "restart"),
        (Fix("x", "y", "manual", changes=(Unset("A"),)), "certain", "by hand"),
        (Fix("x", "y", "safe", "reboot", changes=(Unset("A"),)), "certain", "restart"),
        (Fix("x", "y", "safe"), "certain", "your judgement"),
        (Fix("x", "", "safe"), "certain", "by hand"),
    ],
)
def test_what_is_left_to_the_person(fix: Fix, confidence: str, words: str) -> None:
    finding = Finding("error", "m", fix=fix, confidence=confidence)  # type: ignore[arg-type]
    (one,) = offers(_diagnosis(("c", "machine", finding)))
    assert (words in one.refusal) if words else not one.refusal
    assert one.changes == (() if words else (Unset("A"),))


def test_the_main_cause_comes_first_and_findings_without_a_fix_not_at_all() -> None:
    found = offers(
        _diagnosis(
            ("b-note", "machine", Finding("info", "m", fix=Fix("t"))),
            ("a-warning", "machine", Finding("warning", "m", fix=Fix("t"), cause="thermal-or-power-limit")),
            ("c-silent", "machine", Finding("error", "m")),
            ("d-error", "machine", Finding("error", "m", fix=Fix("t"), cause="hsa-override-wrong")),
        )
    )
    assert [one.check for one in found] == ["d-error", "a-warning", "b-note"]


def test_one_fix_of_several_gpus_is_one() -> None:
    changes: tuple[tuple[Change, ...], ...] = ((KernelValue("/sys/a", "auto"),), (KernelValue("/sys/b", "auto"),))
    found = [Finding("info", f"m{n}", fix=Fix("t", "c", "safe", changes=one)) for n, one in enumerate(changes)]
    (one,) = offers(_diagnosis(("c", "gpu 0", found[0]), ("c", "gpu 1", found[1])))
    assert one.subjects == (Subject("gpu", 0), Subject("gpu", 1))
    assert one.changes == (*changes[0], *changes[1])
    unable = Finding("info", "m2", fix=Fix("t", "c", "safe"))
    (one,) = offers(_diagnosis(("c", "gpu 0", found[0]), ("c", "gpu 2", unable)))
    assert one.changes == (), "one of them is left to the person, so all are"


def _fixes_with_changes(path: Path) -> list[ast.Call]:
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    made = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Fix"]
    return [call for call in made if any(one.arg == "changes" for one in call.keywords)]


def test_only_safe_fixes_list_changes() -> None:
    seen = 0
    for path in _CHECKS:
        for call in _fixes_with_changes(path):
            seen += 1
            words = {one.arg: one.value for one in call.keywords}
            assert ast.unparse(words["safety"]) == "'safe'", path
            assert "command" in words, path
    assert seen >= 10
