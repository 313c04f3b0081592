"""Scripts that are interrupted, run without privileges, or left half done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rocdoctor.repair.setup.plan import Action, SetupPlan, Step
from rocdoctor.repair.setup.script import render
from tests.repair.setup.plan_kit import RESTART
from tests.repair.setup.test_script import FAKES, RECORD, World, needs_bash, whole_plan


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@needs_bash
def test_without_privileges_what_the_goal_does_not_need_is_passed_over(world: World) -> None:
    extra = Step("a", "A", "todo", "W", actions=(Action(("curl", "x"), root=True),), optional=True)
    needed = Step("b", "B", "todo", "W", actions=(Action(("pip", "x")),))
    done = world.run(
        render(SetupPlan("rocm", (extra, needed)), "a test", root=False), "--with-optional", SUDO_FAILS="1"
    )
    assert done.returncode == 0
    assert "run sudo -v first" in done.stderr
    assert "the goal does not need it" in done.stdout
    assert world.calls() == ["pip x"]


@needs_bash
def test_the_restart_is_noted_with_the_command_that_needs_it(world: World) -> None:
    """A long installation outlives the time for which sudo knows the password."""
    (world.folder / "bin" / "apt-get").write_text(RECORD + 'touch "$WORLD/late"\n')
    (world.folder / "bin" / "sudo").write_text(
        FAKES["sudo"].replace("#!/bin/sh", '#!/bin/sh\n[ ! -e "$WORLD/late" ] || exit 1')
    )
    done = world.run(render(whole_plan(world.folder), "a test", root=False), "2")
    assert done.returncode == 10, done.stdout + done.stderr
    assert (world.folder / "run" / "rocdoctor-restart").exists()


@needs_bash
def test_what_is_left_to_the_person_comes_before_the_restart(world: World) -> None:
    driver = Step("driver", "D", "todo", "W", actions=(Action(("apt", "install", "x"), root=True),), effective="reboot")
    key = Step("key", "K", "todo", "W", actions=(Action(("mokutil", "--import", "/k"), root=True),), effective="reboot")
    done = world.run(render(SetupPlan("rocm", (driver, key, replace(RESTART, state="waiting"))), "a test", root=False))
    assert done.returncode == 10
    assert "sudo mokutil --import /k" in done.stdout
    assert "Restart the machine now. Before that do what is left to you above." in done.stdout


@needs_bash
def test_a_look_at_what_the_script_has_made_is_left_to_a_later_session(world: World) -> None:
    for name in ("rocdoctor", "pip"):
        (world.folder / "bin" / name).write_text(RECORD)
        (world.folder / "bin" / name).chmod(0o755)
    torch = Step("torch", "T", "todo", "W", actions=(Action(("pip", "x")),))
    smoke = Step("smoke", "S", "todo", "W", actions=(Action(("rocdoctor", "smoke")),), optional=True)
    done = world.run(render(SetupPlan("pytorch", (torch, smoke)), "a test", root=False), "--with-optional")
    assert done.returncode == 0
    assert "see: rocdoctor setup" in done.stdout
    assert world.calls() == ["pip x"]
    alone = render(SetupPlan("pytorch", (smoke,)), "a test", root=False)
    assert world.run(alone, "--with-optional").returncode == 0
    assert world.calls() == ["rocdoctor smoke"], "nothing is left before it"


@needs_bash
def test_an_environment_without_pip_is_made_anew(world: World) -> None:
    (world.folder / "env" / "bin").mkdir(parents=True)
    python = world.folder / "env" / "bin" / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    (world.folder / "bin" / "python3").write_text(RECORD + f"printf '#!/bin/sh\\n' > {python}\n")
    (world.folder / "bin" / "python3").chmod(0o755)
    step = Step("a", "A", "todo", "W", actions=(Action(("python3", "-m", "venv", f"{world.folder}/env")),))
    script = render(SetupPlan("pytorch", (step,)), "a test", root=False)
    assert world.run(script).returncode == 0
    assert len(world.calls()) == 1
    assert "done already" in world.run(script).stdout
    assert world.calls() == []


@needs_bash
def test_what_is_risky_is_left_alone_also_where_the_goal_does_not_need_it(world: World) -> None:
    risky = Step("a", "A", "todo", "W", actions=(Action(("pip", "x")),), risk="risky", optional=True)
    needed = Step("b", "B", "todo", "W", actions=(Action(("pip", "y")),))
    script = render(SetupPlan("rocm", (risky, needed)), "a test", root=False)
    done = world.run(script, "--with-optional")
    assert done.returncode == 0, done.stderr
    assert "risky and was left alone" in done.stdout
    assert world.calls() == ["pip y"]
    assert world.run(script, "--with-optional", "--with-risky").returncode == 0
    assert world.calls() == ["pip x", "pip y"]


@needs_bash
def test_a_restart_that_the_goal_does_not_need_is_said(world: World) -> None:
    kernel = Step("a", "A", "todo", "W", actions=(Action(("pip", "x")),), effective="reboot", optional=True)
    done = world.run(render(SetupPlan("rocm", (kernel,)), "a test", root=False), "--with-optional")
    assert done.returncode == 0, done.stderr
    assert "it takes effect after a restart" in done.stdout


@needs_bash
def test_what_the_goal_does_not_need_is_done_once(world: World) -> None:
    extra = Step("a", "A", "todo", "W", actions=(Action(("apt", "install", "x"), root=True),), optional=True)
    script = render(SetupPlan("rocm", (extra,)), "a test", root=False)
    assert world.run(script, "--with-optional").returncode == 0
    assert world.calls() == ["apt-get -y install x"]
    assert "done already" in world.run(script, "--with-optional").stdout
    assert world.calls() == []


@needs_bash
def test_without_a_way_to_what_the_goal_does_not_need_it_goes_on(world: World) -> None:
    rocm = Step("a", "A", "impossible", "No release has packages for gfx803.", optional=True)
    needed = Step("b", "B", "todo", "W", actions=(Action(("pip", "y")),))
    done = world.run(render(SetupPlan("pytorch", (rocm, needed)), "a test", root=False), "--with-optional")
    assert done.returncode == 0, done.stderr
    assert "No source describes a way: No release has packages for gfx803." in done.stdout
    assert world.calls() == ["pip y"]


@needs_bash
def test_what_is_done_needs_no_privileges(world: World) -> None:
    actions = (Action(("apt", "update"), root=True), Action(("apt", "install", "x"), root=True))
    script = render(SetupPlan("rocm", (Step("a", "A", "todo", "W", actions=actions),)), "a test", root=False)
    assert world.run(script, SUDO_FAILS="1").returncode == 1
    assert world.run(script).returncode == 0
    done = world.run(script, SUDO_FAILS="1")
    assert done.returncode == 0, done.stderr
    assert "done already" in done.stdout
