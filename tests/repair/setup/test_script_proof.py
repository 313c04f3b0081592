"""What a script proves and keeps: verified steps, copies of files, headers of the kernel that runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rocdoctor.repair.setup.plan import Action, SetupPlan, Step, Verify
from rocdoctor.repair.setup.script import render
from tests.repair.setup.test_script import RECORD, World, needs_bash

_LATER = Step("b", "B", "todo", "W", actions=(Action(("pip", "later")),))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def _program(world: World, name: str, text: str = RECORD) -> None:
    (world.folder / "bin" / name).write_text(text)
    (world.folder / "bin" / name).chmod(0o755)


def _torch(world: World) -> Step:
    python = f"{world.folder}/bin/python"
    verify = Verify("torch-not-installed", "python -c 1")
    return Step("torch", "T", "todo", "W", actions=(Action(("pip", "x")),), verify=verify, proof=(python, "-c", "1"))


@needs_bash
def test_a_step_whose_proof_fails_stops_it_with_a_word(world: World) -> None:
    script = render(SetupPlan("pytorch", (_torch(world), _LATER)), "a test", root=False)
    _program(world, "python", "#!/bin/sh\nexit 3\n")
    done = world.run(script)
    assert done.returncode == 1
    assert "Stopped: step 1 was done, and what verifies it fails:" in done.stderr
    assert world.calls() == ["pip x"], "nothing after it"
    _program(world, "python")
    assert world.run(script).returncode == 0
    assert world.calls() == ["pip x", "python -c 1", "pip later"]


@needs_bash
@pytest.mark.parametrize(("output", "status"), [("7.0.0-9-generic", 0), ("6.17.0.7.0.1", 1), ("", 1)])
def test_a_proof_by_its_output(world: World, output: str, status: int) -> None:
    """The status of the program says nothing there: uname always ends with 0."""
    _program(world, "uname", f"#!/bin/sh\necho '{output}'\n")
    verify = Verify(command="uname -r", expects="^7[.]0[.]")
    step = Step("a", "A", "todo", "W", actions=(Action(("pip", "x")),), verify=verify, proof=("uname", "-r"))
    done = world.run(render(SetupPlan("pytorch", (step,)), "a test", root=False))
    assert done.returncode == status
    assert ("verified: uname -r" in done.stdout) == (status == 0)
    assert ("uname -r does not show ^7[.]0[.]" in done.stderr) == (status == 1)


@needs_bash
def test_a_check_of_ours_proves_where_rocdoctor_is_there(world: World) -> None:
    step = Step("a", "A", "todo", "W", actions=(Action(("pip", "x")),), verify=Verify("device-node-denied"))
    script = render(SetupPlan("pytorch", (step, _LATER)), "a test", root=False)
    assert "to verify: rocdoctor check device-node-denied --quiet" in world.run(script).stdout
    world.calls()
    _program(world, "rocdoctor", "#!/bin/sh\nexit 1\n")
    assert "what verifies it fails: rocdoctor check device-node-denied" in world.run(script).stderr


@needs_bash
def test_what_takes_effect_later_is_verified_later(world: World) -> None:
    _program(world, "rocdoctor", "#!/bin/sh\nexit 1\n")
    driver = Step("d", "D", "todo", "W", actions=(Action(("apt", "install", "x"), root=True),), effective="reboot")
    driver = replace(driver, verify=Verify("gpu-without-driver"))
    script = render(SetupPlan("pytorch", (driver,)), "a test", root=False)
    first = world.run(script)
    assert (first.returncode, "to verify later" in first.stdout) == (10, True)
    (world.folder / "run" / "rocdoctor-restart").unlink()
    assert "step 1 was done, and what verifies it fails" in world.run(script).stderr


@needs_bash
def test_a_command_that_fails_is_said_in_words(world: World) -> None:
    _program(world, "pip", "#!/bin/sh\nexit 7\n")
    done = world.run(render(SetupPlan("rocm", (_LATER,)), "a test", root=False))
    assert done.returncode == 7
    assert "Stopped: step 1 failed (see above). Fix that, then run: bash" in done.stderr


@needs_bash
def test_what_is_written_over_or_edited_is_copied_once(world: World) -> None:
    for name in ("list", "grub", "hosts"):
        (world.folder / name).write_text(f"old {name}\n")
    actions = (
        Action(file=f"{world.folder}/list", lines=("new",), root=True),
        Action(("sed", "-i", "s/old/new/", f"{world.folder}/grub")),
        Action(file=f"{world.folder}/hosts", lines=("more",), append=True),
        Action(file=f"{world.folder}/fresh", lines=("x",)),
    )
    script = render(SetupPlan("rocm", (Step("a", "A", "todo", "W", actions=actions),)), "a test", root=False)
    assert world.run(script).returncode == 0
    (world.folder / "list").write_text("somebody's\n")
    assert world.run(script).returncode == 0
    kept = {path.name: path.read_text() for path in world.folder.glob("*.rocdoctor.bak")}
    assert kept == {"list.rocdoctor.bak": "old list\n", "grub.rocdoctor.bak": "old grub\n"}
    assert (world.folder / "list").read_text() == "new\n"


@needs_bash
@pytest.mark.parametrize("apart", [True, False])
def test_headers_are_those_of_the_kernel_that_runs_and_of_its_updates(world: World, apart: bool) -> None:
    known = '[ "$3" = linux-modules-extra-7.0.0-9-generic ]' if apart else "false"
    _program(world, "apt", f"#!/bin/sh\n{known}\n")
    _program(world, "uname", "#!/bin/sh\necho 7.0.0-9-generic\n")
    lines = (
        "linux-image-generic-hwe-24.04 install ok installed",
        "linux-image-6.8.0-71-generic install ok installed",
        "linux-image-oem deinstall ok config-files",
    )
    packages = "printf '%s\\n' " + " ".join(f"'{one}'" for one in lines)
    _program(world, "dpkg-query", f'#!/bin/sh\ncase "$*" in *linux-image*) {packages} ;; *) exit 1 ;; esac\n')
    named = ("apt", "install", "linux-headers-6.8.0-71-generic", "linux-modules-extra-6.8.0-71-generic")
    step = Step("a", "A", "todo", "W", actions=(Action(named, root=True),))
    script = render(SetupPlan("rocm", (step,)), "a test", root=False)
    assert world.run(script).returncode == 0
    extra = "linux-modules-extra-7.0.0-9-generic " if apart else ""
    assert world.calls() == [f"apt-get -y install linux-headers-7.0.0-9-generic {extra}linux-headers-generic-hwe-24.04"]
    there = 'case "$*" in *modules-extra*) exit 1 ;; *) echo install ok installed ;; esac'
    _program(world, "dpkg-query", f"#!/bin/sh\n{there}\n")
    assert world.run(script).returncode == 0
    assert bool(world.calls()) == apart, "a package that this kernel does not have is not missed"


@needs_bash
def test_a_risky_step_is_left_and_the_rest_goes_on(world: World) -> None:
    risky = Step("a", "A", "todo", "W", actions=(Action(("pip", "purge")),), risk="risky")
    done = world.run(render(SetupPlan("rocm", (risky, _LATER)), "a test", root=False))
    assert done.returncode == 1, "something is left"
    assert world.calls() == ["pip later"]


@needs_bash
def test_what_is_to_be_done_by_hand_is_told_with_how(world: World) -> None:
    step = Step("a", "A", "todo", "It is narrow.", risk="manual", notes=("Reseat the card.",))
    assert "Reseat the card." in world.run(render(SetupPlan("rocm", (step,)), "a test", root=False)).stdout
