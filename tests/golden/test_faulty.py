"""Machines with several faults: the report that was read and found right, what comes first, what follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocdoctor.host.evidence.capture import CaptureHost, parse
from rocdoctor.model.finding import Diagnosis
from tests.golden.faulty import FOLDER, MACHINES, capture_of
from tests.golden.replay import judged, stored_text_of

_REPORTS = Path(__file__).parent / "faulty"


def _diagnosis(name: str) -> Diagnosis:
    return judged(CaptureHost(parse((FOLDER / f"{name}.capture").read_bytes()), name))


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_the_file_is_what_the_edits_make(name: str) -> None:
    path = FOLDER / f"{name}.capture"
    assert path.read_text(encoding="utf-8") == capture_of(name), "python -m tests.golden.faulty writes it anew"


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_report_is_the_stored_one(name: str, update_golden: bool) -> None:
    path = _REPORTS / f"{name}.txt"
    text = stored_text_of(_diagnosis(name))
    if update_golden:
        _REPORTS.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, f"{path.name}; --update-golden writes it anew"


def test_of_an_old_guide_the_access_comes_first() -> None:
    causes = [cause.check for cause in _diagnosis("rx7900xtx-2gpu-old-guide").causes]
    assert causes[0] == "device-node-denied"
    assert "gfx-override-mismatch" in causes


def test_the_tired_gpu_is_named_with_all_that_is_wrong_with_it() -> None:
    found = [v for v in _diagnosis("mi300x-8gpu-tired").verdicts if v.finding and v.finding.severity != "info"]
    assert {v.check for v in found if v.subject.label == "gpu 3 (0000:6a:00.0)"} == {
        "pcie-link-narrow",
        "ras-uncorrectable",
    }
