"""``rocdoctor setup --format ansible|cloud-init|dockerfile``: what is printed, its statuses, several machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocdoctor.cli.main import run
from tests.kit import ROOT
from tests.repair.setup.forms.kit import playbook

_LAPTOP, _XTX = (str(ROOT / "fixtures" / f"{name}.capture") for name in ("cpu-only-laptop", "rx7900xtx-2gpu"))


def test_each_form_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    for form, begin in (("ansible", "---\n"), ("cloud-init", "#cloud-config\n"), ("dockerfile", "# Setup for")):
        assert run(["setup", "--from", _LAPTOP, "--format", form]) == 1  # steps are left
        said = capsys.readouterr()
        assert said.out.startswith(begin), form
        assert said.out.endswith("\n")
        assert said.err == ""


def test_several_machines_make_one_playbook(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["setup", "--from", _LAPTOP, _XTX, _LAPTOP, "--format", "ansible"]) == 1
    text = capsys.readouterr().out
    assert [one["hosts"] for one in playbook(text)] == ["rocdoctor_1", "rocdoctor_2"]
    assert text.partition("- name:")[0].count("cpu-only-laptop.capture") == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--from", _LAPTOP, _XTX), "more than one machine"),
        (("--from", _LAPTOP, _XTX, "--format", "dockerfile"), "more than one machine"),
        ((_LAPTOP, "--format", "ansible"), "more than one machine"),
        (("--from", _LAPTOP, "--format", "ansible", "--script", "x"), "cannot be used with --format ansible"),
        (("--from", str(ROOT / "fixtures" / "mi300x-docker.capture"), "--format", "cloud-init"), "docker container"),
        (("--from", _LAPTOP, "no-such-file", "--format", "ansible"), "no-such-file"),
    ],
)
def test_what_cannot_be_said_is_one_line_and_status_2(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["setup", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert told in said.err
    assert said.err.count("\n") == 1


def test_evidence_starts_no_interpreter_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "stranger.capture"
    text = (ROOT / "fixtures" / "phoenix-laptop.capture").read_text()
    assert "/home/user/train/.venv" in text
    file.write_text(text.replace("/home/user/train/.venv", "/tmp/evil/.venv"))
    assert run(["setup", "--from", str(file), "--format", "ansible"]) == 1
    told = capsys.readouterr().out
    assert not any("evil" in line for line in told.splitlines() if not line.lstrip().startswith("#"))
    assert "train_python is defined" in told
    assert run(["setup", "--from", str(file), "--python", "/opt/mine/bin/python", "--format", "ansible"]) == 1
    assert "- /opt/mine/bin/python" in capsys.readouterr().out
