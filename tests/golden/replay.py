"""From a fixture to its report: what the golden tests share."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from rocdoctor.collect import collect
from rocdoctor.host.base import Host
from rocdoctor.host.evidence.capture import CaptureHost, parse
from rocdoctor.judging.check import Check
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.judging.loading import check_files, checks_folder, load_check
from rocdoctor.model.finding import Diagnosis
from rocdoctor.report.diagnosis.json_report import report
from rocdoctor.report.diagnosis.text import render
from rocdoctor.report.machine.json_facts import facts
from tests.kit import ROOT, keeps_contract

FIXTURES = ROOT / "fixtures"
NAMES = tuple(sorted(path.stem for path in FIXTURES.glob("*.capture")))


@cache
def our_checks() -> tuple[Check, ...]:
    """Our own checks; one that does not load fails the test."""
    return tuple(load_check(path) for path in check_files(checks_folder()))


def host_of(name: str) -> CaptureHost:
    """A fixture as a host."""
    return CaptureHost(parse((FIXTURES / f"{name}.capture").read_bytes()), name)


def judged(host: Host) -> Diagnosis:
    """The diagnosis of a machine, whose findings keep the contract."""
    diagnosis = diagnose(collect(host), our_checks())
    keeps_contract(diagnosis.verdicts)
    return diagnosis


@cache
def judged_fixture(name: str) -> Diagnosis:
    """The diagnosis of a fixture."""
    return judged(host_of(name))


def text_of(diagnosis: Diagnosis) -> str:
    """The report for people."""
    return render(diagnosis)


_COUNTS = re.compile(r"Verdicts: \d+ passed[^\n]*(?:\n[^\n]+)*")
_NUMBERS = re.compile(r"\d+ verdicts are unknown, \d+ passed")
_WAITING = re.compile(r"\d+( unknown\s+verdicts?\s+waits?)")


def stored_text_of(diagnosis: Diagnosis) -> str:
    """The report without the counts of verdicts without a finding: a new check may change them for every machine."""
    without = _WAITING.sub(r"N\1", _COUNTS.sub("Verdicts: ...", text_of(diagnosis)))
    return _NUMBERS.sub("N verdicts are unknown, N passed", without)


def facts_of(diagnosis: Diagnosis) -> str:
    """The facts as JSON."""
    return json.dumps(facts(diagnosis.machine), indent=1, ensure_ascii=False, default=str) + "\n"


def report_of(diagnosis: Diagnosis) -> str:
    """The JSON report without the parts that tell where the evidence came from and how long it took."""
    titles = {one.name: one.title for one in our_checks()}
    whole = report(diagnosis, {}, {"total_s": 0.0, "slowest": []}, titles)
    return json.dumps(whole, indent=1, ensure_ascii=False, default=str)


def stored(name: str, suffix: str) -> Path:
    """Where the stored output of a fixture lies."""
    return Path(__file__).parent / f"{name}.{suffix}"
