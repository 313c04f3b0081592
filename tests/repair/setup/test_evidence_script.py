"""Scripts from evidence: what it names as interpreter or user is not what the reader's script uses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rocdoctor.cli.main import run
from rocdoctor.repair.setup.evidence_script import for_reader
from rocdoctor.repair.setup.plan import Action, SetupPlan, Step
from rocdoctor.repair.setup.script import render
from rocdoctor.repair.setup.torch_environment import NEW
from tests.kit import ROOT
from tests.repair.setup.plan_kit import RESTART
from tests.repair.setup.test_script import RECORD, World, needs_bash

_EVIL = "/tmp/evil/.venv/bin/python"


def _plan(*words: tuple[str, ...]) -> SetupPlan:
    steps = tuple(Step(f"s{number}", "T", "todo", "W", actions=(Action(one),)) for number, one in enumerate(words))
    return SetupPlan("pytorch", steps)


_PIP = ("-m", "pip", "install", "torch")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def _stranger(folder: Path) -> Path:
    file = folder / "stranger.capture"
    text = (ROOT / "fixtures" / "phoenix-laptop.capture").read_text()
    assert "/home/user/train/.venv/bin/python" in text
    file.write_text(text.replace("/home/user/train/.venv", "/tmp/evil/.venv"))
    return file


def _code(script: str) -> str:
    """The lines that do something, without what they say."""
    return "\n".join(line for line in script.splitlines() if not line.strip().startswith(("#", "say ", "if [ -z ")))


@pytest.mark.parametrize("chosen", [(), ("--python", "/home/me/venv/bin/python")], ids=["asked", "named"])
def test_the_script_starts_no_interpreter_of_the_evidence(chosen: tuple[str, ...], tmp_path: Path) -> None:
    script = tmp_path / "set-up.sh"
    assert run(["setup", "--from", str(_stranger(tmp_path)), *chosen, "--script", str(script), "--quiet"]) == 1
    code = _code(script.read_text())
    assert "evil" not in code
    assert ('"$PYTHON" -m pip' if not chosen else "/home/me/venv/bin/python -m pip") in code


@needs_bash
def test_it_asks_for_the_readers_own_interpreter(world: World) -> None:
    plan, foreign = for_reader(_plan((_EVIL, *_PIP)), None)
    script = render(plan, "a bundle", root=False, foreign=foreign)
    done = world.run(script)
    assert (done.returncode, world.calls()) == (2, [])
    assert "PYTHON=PATH bash FILE" in done.stderr
    assert _EVIL in done.stderr
    mine = world.folder / "my python"
    mine.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exit 1\n{RECORD.partition(chr(10))[2]}')
    mine.chmod(0o755)
    assert world.run(script, PYTHON=str(mine)).returncode == 0
    assert world.calls() == ["my python -m pip install torch"]


@needs_bash
def test_what_lies_in_the_folder_where_it_is_run_is_not_run(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script is often run in /tmp, and Python would take the pip of anybody from there."""
    theirs = world.folder / "theirs"
    theirs.mkdir()
    (theirs / "pip.py").write_text(f"open({str(world.folder / 'ran')!r}, 'w')\n")
    (theirs / "python").symlink_to(sys.executable)
    (world.folder / "mine").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')  # a link loses pip of a venv
    (world.folder / "mine").chmod(0o755)
    plan, foreign = for_reader(_plan((_EVIL, "-m", "pip", "--version")), None)
    monkeypatch.chdir(theirs)
    done = world.run(render(plan, "a bundle", root=False, foreign=foreign), PYTHON="../mine")
    assert done.returncode == 0, done.stderr
    assert "site-packages" in done.stdout  # where the real one says that it lies
    assert not (world.folder / "ran").exists()


def test_an_interpreter_named_by_a_relative_path_is_found_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "set-up.sh"
    arguments = ["--python", "venv/bin/python", "--script", str(script), "--quiet"]
    assert run(["setup", "--from", str(_stranger(tmp_path)), *arguments]) == 1
    assert f"{tmp_path}/venv/bin/python -m pip" in script.read_text()


def test_the_environment_that_the_plan_makes_is_ours() -> None:
    before = _plan((f"{NEW}/bin/python", *_PIP), ("apt", "install", "x"))
    assert for_reader(before, None) == (before, "")


def test_whoever_runs_it_joins_the_groups() -> None:
    join = Step("a", "A", "todo", "W", actions=(Action(("usermod", "-a", "-G", "render", "mallory"), root=True),))
    plan, _ = for_reader(SetupPlan("rocm", (join, RESTART)), None)
    assert plan.steps[0].actions[0].words == ("usermod", "-a", "-G", "render", "$USER")
    assert plan.steps[1] == RESTART


def test_a_word_of_the_evidence_is_no_message_that_runs(world: World) -> None:
    _, foreign = for_reader(_plan(('/x\';touch "$WORLD/owned";`touch $WORLD/owned`/python', *_PIP)), None)
    done = world.run(render(_plan(), "a bundle", root=False, foreign=foreign))
    assert done.returncode == 2
    assert not (world.folder / "owned").exists()


def test_the_proof_too_is_by_the_readers_interpreter() -> None:
    words = ("env", "HSA_OVERRIDE_GFX_VERSION=10.3.0", _EVIL, "-c", "1")
    step = Step("a", "A", "todo", "W", actions=(Action((_EVIL, *_PIP)),), proof=words)
    plan, _ = for_reader(SetupPlan("pytorch", (step,)), "/mine/python")
    assert plan.steps[0].proof == (*words[:2], "/mine/python", "-c", "1")
    assert _EVIL not in _code(render(plan, "a bundle", root=False))
    ours = (f"{NEW}/bin/python", "--version")
    kept, _ = for_reader(SetupPlan("pytorch", (Step("a", "A", "todo", "W", proof=ours),)), "/mine/python")
    assert kept.steps[0].proof == ours
