"""Each fixture gives the stored report and the stored facts; healthy machines are accused of nothing."""

from __future__ import annotations

import re

import pytest

from rocdoctor.host.evidence.capture import parse
from tests.golden.replay import FIXTURES, NAMES, facts_of, host_of, judged_fixture, stored, stored_text_of


@pytest.mark.parametrize("name", NAMES)
def test_report_is_the_stored_one(name: str, update_golden: bool) -> None:
    diagnosis = judged_fixture(name)
    for suffix, text in (("txt", stored_text_of(diagnosis)), ("facts.json", facts_of(diagnosis))):
        path = stored(name, suffix)
        if update_golden:
            path.write_text(text, encoding="utf-8", newline="\n")
        assert path.read_text(encoding="utf-8") == text, f"{path.name}; --update-golden writes it anew"


@pytest.mark.parametrize("name", NAMES)
def test_healthy_machine_is_accused_of_nothing(name: str) -> None:
    verdicts = judged_fixture(name).verdicts
    accused = [one for one in verdicts if one.finding is not None and one.finding.severity in ("error", "warning")]
    assert not [(one.check, one.subject, one.finding.message) for one in accused if one.finding is not None]
    assert not [(one.check, one.why) for one in verdicts if one.state == "crashed"]


@pytest.mark.parametrize("name", NAMES)
def test_fixture_says_what_it_is(name: str) -> None:
    headers = parse((FIXTURES / f"{name}.capture").read_bytes()).headers
    assert headers["origin"] in ("recorded", "transcribed", "constructed")
    assert headers["description"]


def test_stored_reports_have_fixtures() -> None:
    folder = stored("x", "txt").parent
    names = {path.name.removesuffix(".txt") for path in folder.glob("*.txt")}
    names |= {path.name.removesuffix(".facts.json") for path in folder.glob("*.facts.json")}
    assert names == set(NAMES)


def test_gpu_counts() -> None:
    counts = {name: len(judged_fixture(name).machine.gpus) for name in NAMES if "gpu" in name and name[0] != "e"}
    for name, count in counts.items():
        assert f"-{count}gpu" in name, name
    assert len(judged_fixture("mi300x-8gpu-cpx").machine.gpus[0].compute_nodes) == 8
    assert len(judged_fixture("mi250-4module").machine.gpus) == 8


def test_fixtures_hold_nothing_private() -> None:
    mail, addresses = r"[\w.]+@[\w-]+\.(com|org|net)\b", r"\b10\.\d+\.\d+\.\d+\b|\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b"
    private = re.compile(f"{mail}|{addresses}|Bearer ")
    for name in NAMES:
        for answer in host_of(name).capture.answers.values():
            assert not private.search(answer.text), f"{name}: {answer.question}"
