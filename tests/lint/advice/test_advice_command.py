"""``lint`` with findings of advice: choosing them, formats, folders, standard input; and ``explain``."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from rocdoctor.cli.main import run

SCRIPT = """import os
import torch

os.environ["AMD_SERIALIZE_KERNEL"] = "3"
model = torch.compile(model, backend="inductor-rocm")
if torch.version.hip:
    torch.backends.cuda.matmul.allow_tf32 = False
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SCRIPT)
    return "train.py"


def _lint(*arguments: str) -> int:
    return run(["lint", "--no-machine", *arguments])


def _checks(out: str) -> list[tuple[str, str]]:
    return [(one["subject"], one["check"]) for one in json.loads(out)["verdicts"] if one["state"] == "fail"]


def test_settings_and_advice_come_in_the_order_of_the_file(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _lint(script) == 0
    out = capsys.readouterr().out
    heads = [line.split(": ")[:2] for line in out.splitlines() if line.startswith("train.py:")]
    assert heads == [["train.py:4", "warning"], ["train.py:5", "warning"], ["train.py:7", "info"]]
    assert "'inductor-rocm'" in out
    assert "[advice-compile-backend-inductor-rocm]" in out
    assert "(possible) [advice-tf32-off-for-rocm]" in out
    assert out.splitlines()[-1] == "3 findings in 1 file."


@pytest.mark.parametrize(
    ("arguments", "checks"),
    [
        (["--skip", "advice"], ["debug-variables-on"]),
        (["--skip", "advice-tf32-off-for-rocm"], ["debug-variables-on", "advice-compile-backend-inductor-rocm"]),
        (["--only", "advice_tf32_off_for_rocm"], ["advice-tf32-off-for-rocm"]),
        (["--only", "advice"], ["advice-compile-backend-inductor-rocm", "advice-tf32-off-for-rocm"]),
        (["--only", "debug-variables-on"], ["debug-variables-on"]),
        (
            ["--only", "debug-variables-on", "--only", "advice-tf32-off-for-rocm"],
            ["debug-variables-on", "advice-tf32-off-for-rocm"],
        ),
    ],
)
def test_advice_is_chosen_like_any_check(
    script: str, capsys: pytest.CaptureFixture[str], arguments: list[str], checks: list[str]
) -> None:
    assert _lint(script, "--json", *arguments) == 0
    assert [check for _, check in _checks(capsys.readouterr().out)] == checks


def test_an_unknown_name_is_wrong_usage_with_a_suggestion(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _lint(script, "--skip", "advice-tf32-of-for-rocm") == 2
    assert "did you mean 'advice-tf32-off-for-rocm'?" in capsys.readouterr().err


def test_exit_codes_follow_fail_on_alone(script: str) -> None:
    assert _lint(script) == 0
    assert _lint(script, "--only", "advice", "--fail-on", "error") == 0
    assert _lint(script, "--only", "advice", "--fail-on", "warning") == 1


@pytest.mark.parametrize("form", ["sarif", "markdown", "junit"])
def test_every_format_names_place_and_advice(script: str, capsys: pytest.CaptureFixture[str], form: str) -> None:
    assert _lint(script, "--format", form) == 0
    out = capsys.readouterr().out
    assert "advice-compile-backend-inductor-rocm" in out
    assert "train.py" in out
    if form == "sarif":
        (one,) = json.loads(out)["runs"]
        titles = {rule["id"]: rule["shortDescription"]["text"] for rule in one["tool"]["driver"]["rules"]}
        assert titles["advice-compile-backend-inductor-rocm"] == "torch.compile has a backend for ROCm."
        lines = [row["locations"][0]["physicalLocation"]["region"]["startLine"] for row in one["results"]]
        assert lines == [4, 5, 7]


def test_a_folder_is_read_without_the_code_of_others(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("site-packages/x", "venv/lib"):
        Path(folder).mkdir(parents=True)
        Path(folder, "other.py").write_text(SCRIPT)
    Path("requirements.txt").write_text("numpy\n")
    assert _lint(".", "--json") == 0
    assert {subject for subject, _ in _checks(capsys.readouterr().out)} == {"train.py:4", "train.py:5", "train.py:7"}


def test_python_on_standard_input_is_known_by_its_imports(
    script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SCRIPT.encode())))
    assert _lint("-", "--only", "advice", "--json") == 0
    assert ("standard input:5", "advice-compile-backend-inductor-rocm") in _checks(capsys.readouterr().out)


def test_python_2_is_told_and_stops_nothing(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("old.py").write_text("import torch\nprint 'x'\n")
    assert _lint("old.py", script) == 0
    told = capsys.readouterr()
    assert told.err.splitlines() == ["rocdoctor: old.py: not valid Python 3"]
    assert "3 findings" in told.out


def test_explain_prints_the_page_of_advice(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "advice-memory-pool-api"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("advice-memory-pool-api\n\nAdvice: ")
    assert "\nWhy\n" in out
    assert "\nReferences\n- " in out
    assert run(["explain", "advice-memory-pool-apj"]) == 2
    assert "did you mean 'advice-memory-pool-api'?" in capsys.readouterr().err
