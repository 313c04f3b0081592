"""``rocdoctor setup`` on the command line."""

from __future__ import annotations

import json
import shlex
import shutil
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from rocdoctor.cli.arguments import options_of
from rocdoctor.cli.commands import setup
from rocdoctor.cli.main import run
from rocdoctor.repair.setup.plan import GOALS, SetupPlan
from rocdoctor.repair.setup.script import render
from rocdoctor.report import text
from rocdoctor.report.setup.setup_document import document
from tests.kit import ROOT
from tests.repair.setup.plan_kit import PLANS
from tests.repair.setup.world.catalogue import CASES
from tests.repair.setup.world.judge import plan_of

_FIXTURE = str(ROOT / "fixtures" / "rx7900xtx-2gpu.capture")


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> dict[str, SetupPlan]:
    """The plan that the command gets, whatever the machine."""
    chosen = {"plan": PLANS["full"]}
    monkeypatch.setattr(setup, "plan_of", lambda diagnosis, goal, choice, today: chosen["plan"])
    return chosen


def test_the_goals_of_the_command_are_those_of_the_planner() -> None:
    for goal in GOALS:
        assert options_of("setup", setup, ["--goal", goal]).goal == goal
    assert run(["setup", "--goal", "gaming"]) == 2


_ONLY_UNKNOWN = replace(PLANS["unknown"], steps=PLANS["unknown"].steps[:1])


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("full", 1),
        ("risky", 1),
        ("done", 0),
        ("empty", 0),
        ("optional", 0),
        ("impossible", 0),
        ("unknown", 1),
        ("only-unknown", 1),
    ],
)
def test_the_exit_status_says_whether_something_is_left(
    name: str, status: int, planned: dict[str, SetupPlan], capsys: pytest.CaptureFixture[str]
) -> None:
    planned["plan"] = _ONLY_UNKNOWN if name == "only-unknown" else PLANS[name]
    assert run(["setup", "--from", _FIXTURE]) == status
    assert capsys.readouterr().out


def test_one_step_is_shown_by_its_number(planned: dict[str, SetupPlan], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["setup", "--from", _FIXTURE, "--step", "5"]) == 1
    assert capsys.readouterr().out.startswith("5  waiting  Join the groups")
    for number in ("0", "9"):
        assert run(["setup", "--from", _FIXTURE, "--step", number]) == 2
        assert "steps 1 to 8" in capsys.readouterr().err
    assert run(["setup", "--from", _FIXTURE, "--step", "1", "--json"]) == 2


def test_the_formats(planned: dict[str, SetupPlan], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["setup", "--from", _FIXTURE]) == 1
    text = capsys.readouterr().out
    assert text.startswith("Step 2 of 8, now: ")
    assert "AMD Radeon RX 7900 XTX" in text
    assert run(["setup", "--from", _FIXTURE, "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == "rocdoctor.setup/1"
    assert data["subject"]["kind"] == "bundle"
    assert run(["setup", "--from", _FIXTURE, "--format", "markdown"]) == 1
    assert capsys.readouterr().out.startswith("## Setup")
    assert run(["setup", "--from", _FIXTURE, "--format", "junit"]) == 2
    assert "(choose from" in capsys.readouterr().err


@pytest.mark.usefixtures("planned")
def test_the_script_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "setup.sh"
    assert run(["setup", "--from", _FIXTURE, "--script", str(path)]) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    said = capsys.readouterr()
    assert said.out.startswith("Step 2 of 8"), "the plan is printed as without a script"
    assert str(path) in said.err
    path.write_text("mine")
    assert run(["setup", "--from", _FIXTURE, "--script", str(path)]) == 2
    assert path.read_text() == "mine"
    assert "--force" in capsys.readouterr().err
    assert run(["setup", "--from", _FIXTURE, "--script", str(path), "--force"]) == 1
    assert path.read_text().startswith("#!/usr/bin/env bash")
    link = tmp_path / "link"
    link.symlink_to(path)
    assert run(["setup", "--from", _FIXTURE, "--script", str(link), "--force"]) == 2
    assert run(["setup", "--from", _FIXTURE, "--force"]) == 2
    capsys.readouterr()
    assert run(["setup", "--from", _FIXTURE, "--script", "-"]) == 2
    assert "needs its name" in capsys.readouterr().err


def test_pasted_text_is_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "issue.txt"
    text.write_text("I have an RX 7900 XTX on Ubuntu 24.04 and want to train.\n")
    assert run(["setup", "--from", str(text), "--json"]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["subject"]["kind"] == "text"


def test_the_plans_of_all_machines_fit_and_their_scripts_are_clean(tmp_path: Path) -> None:
    paths: list[str] = []
    for case in CASES:
        plan = plan_of(case.name)
        wide = [line for line in text.render(document(plan), 80).splitlines() if len(line) > 80]
        words = [shlex.split(line.removesuffix(" \\")) for line in wide]
        # A label may stand before it.
        assert all(len(one) <= 2 and len(one[-1]) > 50 for one in words), "only a word that cannot be broken is longer"
        path = tmp_path / f"{case.name}.sh"
        path.write_text(render(plan, "a test", root=False))
        paths.append(str(path))
    if shutil.which("shellcheck"):
        done = subprocess.run(["shellcheck", *paths], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_what_nobody_has_masked_is_masked_in_the_plan_and_its_script_but_for_commands(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = "hf_" + "abcdQWERTYuiopASDFghjkZXCVbnm12345"
    text = Path(_FIXTURE).read_text().replace("/home/user/", "/home/tkowalsk/").replace("USER=user", "USER=tkowalsk")
    evidence = tmp_path / "evidence.txt"
    evidence.write_text(text.replace("-- env --\n", f"-- env --\nHSA_OVERRIDE_GFX_VERSION={token}\n"))
    script = tmp_path / "steps.sh"
    asked = ["setup", "--from", str(evidence), "--format", form, "--script", str(script), "--force"]
    assert run(asked) == 1
    said = capsys.readouterr().out
    assert "HSA_OVERRIDE_GFX_VERSION" in said
    assert token not in said
    assert token not in script.read_text()
    assert [line for line in said.splitlines() if "tkowalsk" in line] == []
    assert run([*asked, "--include-identity"]) == 1
    assert "tkowalsk" in capsys.readouterr().out
    assert token in script.read_text()
