"""Folders that hang: a home on a server that is gone, a folder of PATH, accounts. The report comes and names them."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.sick.kit import GIVE_UP_S, MARGIN_S, Place, place, usual

pytestmark = pytest.mark.live


@pytest.fixture
def healthy(tmp_path: Path) -> Place:
    found = place(tmp_path)
    (tmp_path / "gone").mkdir()
    return found


def _report(
    where: Place, path: str, *arguments: str, timeout_s: float = 1.0, env: Mapping[str, str] | None = None
) -> str:
    """What ``check`` says; it waits ``timeout_s`` for what hangs, and longer where something else must answer."""
    words = ("check", *arguments, "--timeout", f"{timeout_s}", "--fail-on", "never")
    result = where.run(*words, words=(f"fuse={path}:stuck",), env=env)
    assert result.code == 0, result.err
    assert result.seconds < timeout_s + MARGIN_S
    return " ".join((result.out + result.err).split())


@pytest.mark.parametrize("variable", ["HOME", "XDG_CONFIG_HOME"])
def test_a_home_on_a_server_that_is_gone(healthy: Place, variable: str) -> None:
    gone = f"{healthy.folder}/gone"
    said = _report(healthy, gone, env={variable: gone})
    assert "rocdoctor/checks gave no answer, so no checks were taken from there" in said
    assert variable != "HOME" or "~/torch-venv/bin gave no answer: nothing was looked up there" in said


def test_programs_behind_a_folder_that_hangs_are_found(healthy: Place) -> None:
    gone = f"{healthy.folder}/gone"
    healthy.tool("lspci", "echo '00:00.0 Host bridge: made up'\n")
    said = _report(healthy, gone, timeout_s=4, env={"PATH": f"{gone}:{healthy.environment()['PATH']}"})
    assert "run dmesg" not in said
    assert f"{gone} gave no answer: nothing was looked up there" in said


def test_a_program_that_may_lie_in_a_folder_that_hangs_is_not_said_to_be_absent(healthy: Place) -> None:
    gone = f"{healthy.folder}/gone"
    said = _report(healthy, gone, timeout_s=4, env={"PATH": gone})
    assert f"run dmesg (it was not found, and {gone} gave no answer within 1s)" in said


def test_packages_behind_a_folder_that_hangs_are_found(healthy: Place) -> None:
    """Our own Python would hang there before its first step, so it is started without the variables."""
    gone = f"{healthy.folder}/gone"
    (healthy.tools / "python3").unlink()
    alone = replace(healthy, program=(sys.executable, "-I", "-m", "rocdoctor"))
    said = _report(alone, gone, timeout_s=4, env={"PYTHONPATH": gone})
    assert f"{gone} gave no answer: nothing was looked up there" in said
    assert "interpreter-no-answer" not in said


def test_the_interpreter_of_an_environment_that_hangs_is_named(healthy: Place) -> None:
    gone = f"{healthy.folder}/gone"
    assert f"{gone}/bin/python hung: it gave no answer" in _report(healthy, gone, env={"VIRTUAL_ENV": gone})


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "/etc/group", "/proc/meminfo", "/proc/sys/kernel", "/sys/class", "/sys/devices", "/run", "/opt"],
)
def test_what_is_read_hangs(healthy: Place, path: str) -> None:
    said = _report(healthy, path, "--verbose")
    assert f"{path} gave no answer" in said or "not answered in time" in said


def test_two_files_that_hang_cost_one_deadline(healthy: Place) -> None:
    """Nobody has asked for the first of them yet when the question behind it is asked."""
    words = ("fuse=/etc/group:stuck", "fuse=/proc/meminfo:stuck", "fuse=/proc/cpuinfo:stuck")
    result = healthy.run("check", "--timeout", "6", "--verbose", "--fail-on", "never", words=words)
    assert result.code == 0, result.err
    said = " ".join(result.out.split())
    assert said.count("(within 6s)") == 1, said
    assert "3 questions were not answered in time" in said


def test_a_job_whose_memory_cannot_be_read_is_judged_all_the_same(healthy: Place) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as job:
        try:
            said = _report(healthy, f"/proc/{job.pid}/environ", "--pid", str(job.pid), "--verbose")
        finally:
            job.kill()
    assert f"process {job.pid} hangs in the kernel: its memory gives no answer" in said


def test_processes_of_a_smoke_run_are_found_beside_one_that_hangs(healthy: Place) -> None:
    code = (
        "import os, subprocess, sys\n"
        "from rocdoctor.train.smoke.run.processes import marked\n"
        "one = subprocess.Popen(['sleep', '600'], env={'ROCDOCTOR_SMOKE_RUN': 'm'})\n"
        "try: print(marked('m') == [one.pid], marked('m') == [one.pid])\n"
        "finally: one.kill(); sys.stdout.flush()\n"
    )
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as stuck:
        try:
            asking = replace(healthy, program=(sys.executable, "-c", code))
            with asking.start(words=(f"fuse=/proc/{stuck.pid}/environ:stuck",)) as run:
                assert run.process.stdout is not None
                said = run.process.stdout.readline()  # a thread that hangs keeps it from ending
                if not said:
                    run.process.wait(GIVE_UP_S)
                    run.skip_where_it_cannot_be_ill()
        finally:
            stuck.kill()
    assert said == b"True True\n"


_NAMED = {
    "check --from": ("check", "--from", "{}/a.txt", "--timeout", "1"),
    "read": ("read", "{}/a.txt", "--timeout", "1"),
    "diff": ("diff", "{}/a.txt", "{}/b.txt", "--timeout", "1"),
    "estimate": ("estimate", "{}/a.yaml", "--timeout", "1"),
    "fleet": ("fleet", "judge", "{}"),
    "smoke --plan": ("smoke", "--plan", "{}/a.json"),
    "smoke --python": ("smoke", "--quick", "--python", "{}/bin/python3"),
}


@pytest.mark.parametrize("command", usual(_NAMED, "check --from", "read", "smoke --python"))
def test_a_command_that_names_a_place_on_a_server_that_is_gone_ends(healthy: Place, command: str) -> None:
    gone = f"{healthy.folder}/gone"
    (healthy.folder / "gone" / "bin").mkdir()
    words = [one.format(gone) for one in _NAMED[command]]
    result = healthy.run(*words, words=(f"fuse={gone}:stuck",))
    assert result.code == 2
    assert "no answer within" in result.err and gone in result.err
    assert result.left == ()


def test_the_screens_end_too_where_their_evidence_hangs(healthy: Place) -> None:
    gone = f"{healthy.folder}/gone"
    main, side = pty.openpty()
    words = (f"fuse={gone}:stuck",)
    asked = ("tui", "--from", f"{gone}/a.txt", "--timeout", "1")
    with healthy.start(*asked, words=words, stdin=side, stdout=side, stderr=side, env={"TERM": "xterm"}) as run:
        os.close(side)
        status = run.process.wait(GIVE_UP_S)
        run.skip_where_it_cannot_be_ill()
        assert status == 2
        said = os.read(main, 65536).decode()
    os.close(main)
    assert "a.txt: no answer within 1 s" in said
