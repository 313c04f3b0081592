"""A plan as a shell script: clean for shellcheck, idempotent, stopping where a restart or a login is due."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from rocdoctor.repair.setup.plan import Action, SetupPlan, Step
from rocdoctor.repair.setup.script import render
from tests.repair.setup.plan_kit import GROUPS, PLANS, RESTART, RISKY, TORCH

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="no bash here")
needs_shellcheck = pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck here")

RECORD = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
"""
_CALL = 'echo "$(basename "$0") $*" >> "$CALLS"\n'
FAKES = {
    "sudo": """#!/bin/sh
[ "$1" = -n ] && shift
[ "$1" = -- ] && shift
[ "$1" = true ] && exit "${SUDO_FAILS:-0}"
exec "$@"
""",
    # Groups of the session stand in one file, those of the next login in another.
    "id": """#!/bin/sh
case "$*" in
    -u) echo "${FAKE_UID:-1000}" ;;
    -un) echo alice ;;
    -nG) cat "$WORLD/session" ;;
    *) cat "$WORLD/session" "$WORLD/joined" 2>/dev/null | tr '\\n' ' ' ;;
esac
""",
    "usermod": RECORD + 'echo render video > "$WORLD/joined"\n',
    "dpkg-query": """#!/bin/sh
for one; do :; done
grep -qx "$one" "$WORLD/packages" 2>/dev/null && echo "install ok installed"
""",
    "apt-get": RECORD + '[ "$2" = install ] || exit 0\nshift 2\nfor one; do echo "$one" >> "$WORLD/packages"; done\n',
    "curl": RECORD + 'echo key > "$3"\n',
    "pip": RECORD,
}


class World:
    """A folder of programs that record how they are called, and what they changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        (folder / "run").mkdir()
        (folder / "session").write_text("alice\n")
        for name, text in FAKES.items():
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)

    def run(self, script: str, *arguments: str, typed: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        assert BASH is not None
        file = self.folder / "setup.sh"
        file.write_text(script)
        environment = {
            "PATH": f"{self.folder}/bin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "USER": "alice",
            "LC_ALL": "C",
            "CALLS": str(self.folder / "calls"),
            "WORLD": str(self.folder),
            "ROCDOCTOR_RUN": str(self.folder / "run"),
            **more,
        }
        return subprocess.run(
            [BASH, str(file), *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            input=typed,
        )

    def calls(self) -> list[str]:
        """The calls since the last look."""
        file = self.folder / "calls"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return lines


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def whole_plan(folder: Path) -> SetupPlan:
    """Repository, driver, restart, groups, torch: as on a new machine."""
    repository = Step(
        "repository",
        "Register the repository",
        "todo",
        "It holds the driver.",
        actions=(
            Action(("curl", "-fsSL", "-o", f"{folder}/key", "https://repo.example.org/key"), root=True),
            Action(file=f"{folder}/list", lines=("deb x", 'it\'s $a `b` \\ "c"!'), root=True),
            Action(("apt", "update"), root=True),
        ),
        layer="driver",
    )
    driver = Step(
        "driver",
        "Install the driver",
        "todo",
        "There is none.",
        actions=(Action(("apt", "install", "amdgpu-dkms"), root=True),),
        risk="reboots",
        effective="reboot",
        layer="driver",
    )
    limits = Step(
        "limits",
        "Raise a limit",
        "waiting",
        "It is low.",
        actions=(Action(file=f"{folder}/limits", lines=("a b", "c"), append=True, root=True),),
        layer="limits",
    )
    torch = replace(TORCH, actions=(Action(("pip", "install", "torch")),))
    return SetupPlan("pytorch", (repository, driver, RESTART, GROUPS, limits, torch))


@needs_bash
def test_run_after_run_it_gets_to_the_end(world: World) -> None:
    script = render(whole_plan(world.folder), "a test", root=False)
    first = world.run(script)
    assert first.returncode == 10, first.stderr
    assert "Restart the machine now. Then run: bash" in first.stdout
    assert first.stdout.rstrip().endswith("setup.sh 4")
    assert [line.split("/")[0] for line in world.calls()] == [
        "curl -fsSL -o ",
        "apt-get update",
        "apt-get -y install amdgpu-dkms",
    ]
    assert (world.folder / "list").read_text() == 'deb x\nit\'s $a `b` \\ "c"!\n'

    early = world.run(script)
    assert early.returncode == 1
    assert "has not been restarted" in early.stderr
    assert world.calls() == []

    (world.folder / "run" / "rocdoctor-restart").unlink()  # as a restart does
    second = world.run(script)
    assert second.returncode == 11, second.stdout
    assert second.stdout.count("done already") == 2
    # The lists of packages are read again, since somebody may have stopped the first run after the file was written.
    assert world.calls() == ["apt-get update", "usermod -a -G render,video alice"]

    assert world.run(script).returncode == 11, "joined, but the session is the old one"
    (world.folder / "session").write_text("alice render video\n")
    world.calls()
    third = world.run(script)
    assert third.returncode == 0, third.stderr
    assert world.calls() == ["apt-get update", "pip install torch"]
    assert (world.folder / "limits").read_text() == "a b\nc\n"


@needs_bash
def test_a_number_begins_later(world: World) -> None:
    (world.folder / "session").write_text("alice render video\n")
    assert world.run(render(whole_plan(world.folder), "a test", root=False), "5").returncode == 0
    assert world.calls() == ["pip install torch"]


@needs_bash
@pytest.mark.parametrize(
    ("root", "uid", "words"), [(False, "0", "as the user who will train"), (True, "1000", "for the user root")]
)
def test_the_wrong_user_is_refused(world: World, root: bool, uid: str, words: str) -> None:
    done = world.run(render(whole_plan(world.folder), "a test", root=root), FAKE_UID=uid)
    assert done.returncode == 2
    assert words in done.stderr
    assert world.calls() == []


@needs_bash
def test_root_needs_no_sudo(world: World) -> None:
    (world.folder / "bin" / "sudo").write_text("#!/bin/sh\nexit 9\n")
    assert world.run(render(whole_plan(world.folder), "a test", root=True), FAKE_UID="0").returncode == 10


@needs_bash
def test_it_never_asks_for_a_password(world: World) -> None:
    done = world.run(render(whole_plan(world.folder), "a test", root=False), SUDO_FAILS="1")
    assert done.returncode == 1
    assert "run sudo -v first" in done.stderr
    assert world.calls() == []


@needs_bash
def test_what_is_risky_waits_for_its_option(world: World) -> None:
    script = render(RISKY, "a test", root=False)
    done = world.run(script)
    assert done.returncode == 1
    assert "--with-risky" in done.stdout
    assert world.calls() == []
    assert world.run(script, "--with-risky").returncode == 0
    assert world.calls() == ["apt-get -y purge rocm-dkms"]


@needs_bash
def test_a_failing_command_ends_it(world: World) -> None:
    (world.folder / "bin" / "curl").write_text("#!/bin/sh\nexit 22\n")
    done = world.run(render(whole_plan(world.folder), "a test", root=False))
    assert done.returncode == 22
    assert world.calls() == []


@needs_bash
@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("impossible", 1, "No source describes a way"),
        ("unknown", 1, "left to you: This text does not show"),
        ("done", 0, "All that this script can do is done"),
        ("empty", 0, "All that this script can do is done"),
    ],
)
def test_what_no_script_can_do_is_said(world: World, name: str, status: int, words: str) -> None:
    (world.folder / "env" / "bin").mkdir(parents=True)
    (world.folder / "env" / "bin" / "python").symlink_to(world.folder / "bin" / "pip")
    done = world.run(render(PLANS[name], "a test", root=False))
    assert done.returncode == status, done.stderr
    assert words in done.stdout + done.stderr


@needs_bash
def test_words_of_the_machine_stay_words(world: World) -> None:
    evil = 'x\'; touch "$WORLD/owned"; `touch $WORLD/owned`\n touch $WORLD/owned #'
    step = Step("a", evil, "todo", evil, actions=(Action(("pip", evil.replace("\n", " "))),), support=evil)
    by_hand = replace(step, id="b", risk="manual")
    unseen = replace(step, id="c", actions=(Action(("pip", "a\x1b[2J\n")),))
    done = world.run(render(SetupPlan("rocm", (step, by_hand, unseen), (evil,)), evil, root=False))
    assert done.returncode == 1
    assert not (world.folder / "owned").exists()
    assert len(world.calls()) == 1, "what cannot be seen is not run"


@needs_shellcheck
@pytest.mark.parametrize("root", [False, True], ids=["user", "root"])
@pytest.mark.parametrize("name", PLANS)
def test_shellcheck_finds_nothing(name: str, root: bool, tmp_path: Path) -> None:
    file = tmp_path / "setup.sh"
    file.write_text(render(PLANS[name], "a test", root))
    done = subprocess.run(["shellcheck", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@needs_bash
def test_packages_of_python_are_told_by_their_versions(world: World) -> None:
    have = metadata.version("pytest")
    for version, runs in ((have, 0), ("0.0.1", 1)):
        pinned = Action((sys.executable, "-m", "pip", "install", f"pytest=={version}"))
        (world.folder / "bin" / "python").write_text(
            f'#!/bin/sh\n[ "$1" = -c ] && exec {sys.executable} "$@"\n' + _CALL
        )
        (world.folder / "bin" / "python").chmod(0o755)
        gone = replace(pinned, words=(f"{world.folder}/bin/python", "-m", "pip", "uninstall", "-y", "pytest"))
        here = replace(pinned, words=(f"{world.folder}/bin/python", *pinned.words[1:]))
        step = Step("torch", "T", "todo", "W", actions=(gone, here), layer="torch")
        assert world.run(render(SetupPlan("pytorch", (step,)), "a test", root=False)).returncode == 0
        assert len(world.calls()) == 2 * runs, "what is there already is neither removed nor fetched again"


@needs_bash
def test_a_file_is_edited_once(world: World) -> None:
    (world.folder / "grub").write_text("quiet nomodeset splash\n")
    (world.folder / "bin" / "update-grub").write_text(RECORD)
    (world.folder / "bin" / "update-grub").chmod(0o755)
    edit = Action(("sed", "-i", r"s/ *\bnomodeset\b//g", f"{world.folder}/grub"), root=True)
    step = Step("a", "A", "todo", "W", actions=(edit, Action(("update-grub",), root=True)), layer="driver")
    script = render(SetupPlan("rocm", (step,)), "a test", root=False)
    assert world.run(script).returncode == 0
    assert (world.folder / "grub").read_text() == "quiet splash\n"
    assert world.calls() == ["update-grub "]
    assert "done already" in world.run(script).stdout
    assert world.calls() == ["update-grub "], "the first run may have been cut off before it"


@needs_bash
def test_what_is_gone_is_no_failure_and_nobody_is_asked(world: World) -> None:
    (world.folder / "bin" / "pip").write_text(RECORD + 'cat >> "$CALLS"\n')
    gone = Action(("rm", f"{world.folder}/gone"), root=True)
    step = Step("a", "A", "todo", "W", actions=(gone, Action(("pip", "x"))))
    done = world.run(render(SetupPlan("rocm", (step,)), "a test", root=False), typed="yes\n")
    assert done.returncode == 0, done.stderr
    assert world.calls() == ["pip x"], "its input is closed"


@needs_bash
def test_what_the_goal_does_not_need_may_fail(world: World) -> None:
    (world.folder / "bin" / "pip").write_text("#!/bin/sh\nexit 3\n")
    extra = Step("a", "A", "todo", "W", actions=(Action(("pip", "x")), Action(("curl", "x"))), optional=True)
    script = render(SetupPlan("rocm", (extra,)), "a test", root=False)
    assert "--with-optional does it" in world.run(script).stdout
    assert world.calls() == [], "nobody asked for it"
    done = world.run(script, "--with-optional")
    assert done.returncode == 0
    assert "the goal does not need it" in done.stdout
    assert world.calls() == [], "nothing after the one that failed"


@needs_bash
def test_a_step_that_waits_for_a_look_is_no_reason_to_fail(world: World) -> None:
    look = Step("a", "A", "waiting", "W", actions=(Action(("rocdoctor", "check")),), risk="manual")
    done = world.run(render(SetupPlan("rocm", (look,)), "a test", root=False))
    assert done.returncode == 0
    assert "see: rocdoctor setup" in done.stdout
