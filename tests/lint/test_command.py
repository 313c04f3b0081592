"""The command: formats, exit codes, inputs that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocdoctor.cli.main import run
from rocdoctor.lint.linted_file import bounded
from rocdoctor.model.printable import spelled
from rocdoctor.service import linting

SCRIPT = "#!/bin/bash\nexport AMD_SERIALIZE_KERNEL=3\nexport RCCL_DEBUG=INFO\n"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("my run.sh").write_text(SCRIPT)
    return "my run.sh"


def _lint(*arguments: str) -> int:
    return run(["lint", "--no-machine", *arguments])


def test_text_has_file_and_line_first_and_the_exit_code_tells_nothing(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _lint(script) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("my run.sh:2: warning: AMD_SERIALIZE_KERNEL is 3")
    assert lines[-1] == "2 findings in 1 file."


@pytest.mark.parametrize(("threshold", "code"), [("error", 0), ("warning", 1), ("info", 1), ("never", 0)])
def test_the_exit_code_follows_fail_on(script: str, threshold: str, code: int) -> None:
    assert _lint(script, "--fail-on", threshold) == code


def test_json_is_a_report(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    _lint(script, "--json")
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == "rocdoctor.report/1"
    failed = [one for one in data["verdicts"] if one["state"] == "fail"]
    assert [one["subject"] for one in failed] == ["my run.sh:2", "my run.sh:3"]
    assert failed[0]["evidence"][0] == {
        "source": "read my run.sh",
        "line": 2,
        "value": "AMD_SERIALIZE_KERNEL=3",
    }
    assert data["causes"][0]["cause"] == "debug-env-left-on"


def test_sarif_has_what_the_standard_requires(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    _lint(script, "--format", "sarif")
    log = json.loads(capsys.readouterr().out)
    # SARIF 2.1.0: sarifLog 3.13, run 3.14, toolComponent 3.19, result 3.27, location 3.28, region 3.30.
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (one,) = log["runs"]
    driver = one["tool"]["driver"]
    assert driver["name"] == "rocdoctor"
    identities = [rule["id"] for rule in driver["rules"]]
    assert len(set(identities)) == len(identities) == 2
    assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
    assert len(one["results"]) == 2
    for result in one["results"]:
        assert identities[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        (place,) = result["locations"]
        physical = place["physicalLocation"]
        assert physical["artifactLocation"]["uri"] == "my%20run.sh"
        assert isinstance(physical["region"]["startLine"], int)
        assert physical["region"]["startLine"] >= 1
    assert [result["level"] for result in one["results"]] == ["warning", "note"]


def test_markdown_names_place_and_check(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    _lint(script, "--format", "markdown")
    assert "- `my run.sh:2`: **warning**: AMD_SERIALIZE_KERNEL is 3" in capsys.readouterr().out


def test_what_cannot_be_read_is_one_line_each(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("program").write_bytes(b"\x7fELF" + bytes(100))
    assert _lint("gone.sh", "program", script) == 0
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert "gone.sh" in said[0]
    assert "program" in said[1]


def test_nothing_readable_is_wrong_usage(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _lint("gone.sh") == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_folder_is_searched_by_name(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("README.md").write_text("export RCCL_DEBUG=INFO\n")
    Path("empty.sh").write_text("")
    assert _lint(".") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 findings in 2 files."


def test_sarif_is_for_lint_alone() -> None:
    assert run(["check", "--format", "sarif"]) == 2


@pytest.mark.parametrize("form", ["text", "markdown", "junit", "json", "sarif"])
@pytest.mark.parametrize("name", ["a\nb.sh", "x\x1b[31mred.sh", "\u202egnp.sh", "t\tb.sh"])
def test_a_hostile_name_of_a_file_is_spelled(
    name: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("export HSA_OVERRIDE_GFX_VERSION=gfx9\n")
    run(["lint", ".", "--no-machine", "--format", form])
    said = capsys.readouterr().out
    label = f"{spelled(name)}:1"
    if form == "text":
        assert [line for line in said.splitlines() if line.startswith(f"{label}: warning:")]
        assert label in said.partition("fix:")[2]
    elif form == "markdown":
        assert f"`{label}`" in said
    elif form == "json":
        assert [one for one in json.loads(said)["verdicts"] if one["state"] == "fail"]
    assert not [line for line in said.splitlines() if line.startswith("b.sh")]
    assert "\x1b" not in said
    assert "\u202e" not in said


def test_a_hostile_name_that_cannot_be_read_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", "no\nsuch.sh", "--no-machine"]) == 2
    assert "$'no\\nsuch.sh'" in capsys.readouterr().err


def test_of_a_very_large_script_the_first_part_is_judged_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "big.sh"
    padding = "# nothing to see\n" * 40_000
    path.write_text(f"export HSA_OVERRIDE_GFX_VERSION=gfx9\n{padding}export NCCL_IB_DISABLE=yes\n")
    for name in (str(path), str(tmp_path)):
        assert _lint(name) == 0
        said = capsys.readouterr()
        assert "HSA_OVERRIDE_GFX_VERSION is gfx9" in said.out
        assert "NCCL_IB_DISABLE" not in said.out
        assert "only its first" in said.err
    assert bounded("a.py", padding) == padding
    assert padding.startswith(bounded("a.sh", padding))
    assert bounded("a.sh", padding).endswith("\n")


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.yaml", "env:\n  - name: RCCL_DEBUG\n    value: INFO\na: [1\nb: {\n", "not valid YAML"),
        ("a.json", '{"env": {"RCCL_DEBUG": "INFO"}', "not valid JSON"),
        ("deep.json", '{"a":' * 300 + "1" + "}" * 300, "not valid JSON"),
        ("long.json", '{"a": 1}' + " " * 1_000_001, "longer than 1000000 characters"),
        ("a.py", "import os\nos.environ['RCCL_DEBUG'] = 'INFO'\nx = ((", "not valid Python 3"),
    ],
)
def test_what_cannot_be_parsed_is_said_and_does_not_count_as_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, why: str
) -> None:
    (tmp_path / name).write_text(text)
    assert _lint(str(tmp_path / name)) == 0
    said = capsys.readouterr()
    assert said.err == f"rocdoctor: {tmp_path / name}: {why}\n"
    assert said.out == "Nothing found in 0 files.\n"
    assert _lint(str(tmp_path)) == 0
    assert capsys.readouterr().err == f"rocdoctor: {tmp_path / name}: {why}\n"


@pytest.mark.parametrize("text", ["", "# a: [\n", "---\n# nothing\n", "{{ x }}\n", "a: {{ x }}\n", "\tb: 1\n"])
def test_a_file_that_holds_nothing_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    assert _lint(str(tmp_path / "a.yaml")) == 0
    assert capsys.readouterr() == ("Nothing found in 1 file.\n", "")


def test_of_a_folder_it_is_said_what_was_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("a: [1\n")
    (tmp_path / "c.sh").write_text(SCRIPT)
    _lint(str(tmp_path))
    said = f"{tmp_path / 'a.yaml'}: not valid YAML (not the only one: 2 files of {tmp_path} could not be read)"
    assert capsys.readouterr().err == f"rocdoctor: {said}\n"
    monkeypatch.setattr(linting, "_MAX_FILES", 2)
    _lint(str(tmp_path))
    assert (
        f"rocdoctor: {tmp_path}: only its first 2 files are judged; name the folders that matter\n"
        in capsys.readouterr().err
    )


def test_a_walk_ends_and_says_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``lint /`` looked through the whole machine."""
    for name in ("a", "b", "c"):
        folder = tmp_path / name / "deeper"
        folder.mkdir(parents=True)
        (folder / "x.sh").write_text(SCRIPT)
    monkeypatch.setattr(linting, "_MOST_LOOKED_AT", 9)  # 3 folders and 1 more, twice 2 and 2
    _lint(str(tmp_path))
    said = capsys.readouterr()
    assert "in 1 file" in said.out
    assert f"{tmp_path / 'b'} and what comes after it was not; name the folders that matter\n" in said.err


def test_the_text_of_a_folder_has_an_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.sh", "b.sh", "c.sh"):
        (tmp_path / name).write_text(SCRIPT)
    monkeypatch.setattr(linting, "_MOST_TEXT", len(SCRIPT) + 1)
    _lint(str(tmp_path))
    said = capsys.readouterr()
    assert "in 2 files" in said.out
    assert "only its first 2 files are judged; name the folders that matter" in said.err
