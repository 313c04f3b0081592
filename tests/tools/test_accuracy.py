"""The command that makes the tables of the accuracy page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.accuracy import Score, by_cause, by_set, main

_BUS = "RuntimeError: DataLoader worker (pid 13) is killed by signal: Bus error.\n"


def _case(folder: Path, name: str, text: str, case: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "report.txt").write_text(text, encoding="utf-8")
    (folder / name / "case.yaml").write_text(case, encoding="utf-8")


def test_cases_are_scored_without_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a-set"
    _case(folder, "secret-name-1", _BUS, "category: shm-too-small\nmust_mention: [shm]\n")
    _case(folder, "secret-name-2", _BUS, "category: shm-too-small\nmust_mention: [a word that is never said]\n")
    _case(folder, "secret-name-3", _BUS, "category: memlock-limit\n")
    _case(folder, "secret-name-4", "All is well.\n", "category: memlock-limit\n")
    _case(folder, "secret-name-5", "All is well.\n", "category: not-environment\n")
    _case(folder, "secret-name-6", _BUS, "category: not-environment\n")
    assert main([str(folder), "--by-cause"]) == 0
    said = capsys.readouterr().out
    assert "secret" not in said
    assert "| a-set | 6 | 2 (33 %) | 2 of 4 | 2 of 4 | 1 of 4 | 1 of 2 | 0 of 6 |" in said
    assert "| shm-too-small | 2 | 1 | 1 | 0 | 0 | 0 |" in said
    assert "| memlock-limit | 2 | 0 | 0 | 0 | 1 | 1 |" in said


def test_a_false_lead_is_not_solved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _case(tmp_path / "s", "one", _BUS, "category: shm-too-small\nmust_not_say: [shm]\n")
    assert main([str(tmp_path / "s")]) == 0
    assert "| s | 1 | 0 (0 %) | 1 of 1 |" in capsys.readouterr().out


def test_a_folder_without_cases_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "no cases" in capsys.readouterr().err


def test_a_cause_among_the_first_three_and_what_was_left_open() -> None:
    scores = [Score("shm-too-small", "in-three", last_resort=True), Score("shm-too-small", "wrong", last_resort=True)]
    assert list(by_set([("x", scores)]))[-1] == "| x | 2 | 0 (0 %) | 0 of 2 | 1 of 2 | 0 of 2 | 0 of 0 | 2 of 2 |"
    assert list(by_cause(scores))[-1] == "| shm-too-small | 2 | 0 | 0 | 1 | 1 | 0 |"
