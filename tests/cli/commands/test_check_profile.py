from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocdoctor.cli.main import run
from rocdoctor.collect import collect
from rocdoctor.train.emit.targets.profile import render
from tests.golden.replay import FIXTURES, host_of

SOURCE = str(FIXTURES / "rx7900xtx-2gpu.capture")


def _profile(folder: Path, old: str = "", new: str = "") -> str:
    text = render(collect(host_of("rx7900xtx-2gpu")))
    assert old in text
    path = folder / "was.yaml"
    path.write_text(text.replace(old, new, 1) if old else text)
    return str(path)


def test_drift_is_reported_with_the_line_of_the_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _profile(tmp_path, "rocm: ", "rocm: '5.7.1'  # ")
    assert run(["check", "--from", SOURCE, "--profile", path, "--fail-on", "warning", "profile-versions-differ"]) == 1
    said = capsys.readouterr().out
    assert "5.7.1 when the profile was made" in said
    assert "profile was.yaml:" in said
    assert str(tmp_path) not in said


def test_no_drift_is_no_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["profile-gpus-differ", "profile-links-differ", "profile-settings-differ"]
    assert run(["check", "--from", SOURCE, "--profile", _profile(tmp_path), "--json", *names]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [one["state"] for one in report["verdicts"]] == ["pass"] * 3


def test_a_file_that_is_no_profile_ends_with_2_and_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.yaml"
    for text, why in (("a: [", "not readable as YAML"), ("a: 1", "no profile"), ("", "no profile"), ("\x7fELF", "")):
        bad.write_text(text)
        assert run(["check", "--from", SOURCE, "--profile", str(bad)]) == 2
        error = capsys.readouterr().err
        assert "bad.yaml" in error
        assert why in error
        assert error.count("\n") == 1
    assert run(["check", "--from", SOURCE, "--profile", str(tmp_path / "missing.yaml")]) == 2
    assert "missing.yaml: no such file" in capsys.readouterr().err


def test_what_emit_writes_of_a_machine_is_what_check_reads(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["emit", "profile", "--model", "llama-3.2-1b", "--from", SOURCE, "-o", str(tmp_path)]) == 0
    capsys.readouterr()
    names = ["profile-gpus-differ", "profile-versions-differ", "profile-settings-differ"]
    path = str(tmp_path / "profile.yaml")
    assert run(["check", "--from", SOURCE, "--profile", path, "--json", *names]) == 0
    assert [one["state"] for one in json.loads(capsys.readouterr().out)["verdicts"]] == ["pass"] * 3
