"""Interpreters under test that hang, stop or talk without end: named in every report, and one deadline for all."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.sick.kit import MARGIN_S, Place, as_shown, place, usual

pytestmark = pytest.mark.live

_PYTHON = f"exec {sys.executable} "
WAYS = {
    "hangs": "exec sleep 600\n",
    "hangs with --import": 'for one; do [ "$one" = --import ] && exec sleep 600; done\n' + _PYTHON + '"$@"\n',
    "ignores every request to end": "trap '' TERM INT HUP QUIT PIPE\nwhile :; do sleep 600; done\n",
    "stops itself": "kill -STOP $$\n",
    "spins": "while :; do :; done\n",
    "closes its output": "exec >&- 2>&-\nsleep 600\n",
    "leaves a daemon and hangs": "setsid sh -c 'sleep 601 & exec sleep 602' &\nexec sleep 600\n",
    "leaves a daemon with the pipe": "setsid sh -c 'sleep 603 & exec sleep 604' &\nexit 0\n",
    "keeps printing": "while :; do echo '{\"schema\":'; sleep 0.05; done\n",
    "floods": 'exec yes \'{"schema": "rocdoctor.probe/1"}\'\n',
    "says nothing": "exit 0\n",
}
COMMANDS = (("check",), ("facts", "--json"), ("bundle", "-o", "sick.txt"), ("setup",), ())
TOOLS = ("rocminfo", "amd-smi", "rocm-smi", "nvidia-smi", "lspci", "dmesg", "journalctl")


def _report(where: Place, command: tuple[str, ...], *more: str) -> str:
    result = where.run(*command, *more, "--timeout", "1")
    written = where.work / "sick.txt"
    text = result.out + (written.read_text() if written.exists() else "")
    written.unlink(missing_ok=True)
    assert result.code in (0, 1), (command, result.err)
    assert result.left == ()
    assert result.seconds < 1 + MARGIN_S
    return text


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("way", usual(WAYS, "ignores every request to end", "leaves a daemon with the pipe", "floods"))
def test_with_gpus_it_is_named_and_torch_gets_one_deadline(tmp_path: Path, way: str) -> None:
    radeons = place(tmp_path, "rx7900xtx-2gpu")
    python = radeons.tool("job-python", WAYS[way])
    text = _one_line(_report(radeons, ("check",), "--python", str(python)))
    assert "interpreter-no-answer" in text
    assert as_shown(python) in text
    assert set(re.findall(r"python default[^(;]*\(within ([^)]*)\)", text)) <= {"1s"}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_without_gpus_every_command_names_it(tmp_path: Path, command: tuple[str, ...]) -> None:
    healthy = place(tmp_path)
    python = healthy.tool("job-python", WAYS["ignores every request to end"])
    assert as_shown(python) in _report(healthy, command, "--python", str(python))


@pytest.mark.parametrize("way", ["hangs", "says nothing"])
def test_the_short_plan_names_it_although_another_step_comes_first(tmp_path: Path, way: str) -> None:
    radeons = place(tmp_path, "rx7900xtx-2gpu")
    python = radeons.tool("job-python", WAYS[way])
    assert as_shown(python) in _one_line(_report(radeons, ("setup",), "--python", str(python)))


def test_a_torch_that_hangs_in_its_import_is_told_apart_from_a_start(tmp_path: Path) -> None:
    radeons = place(tmp_path, "rx7900xtx-2gpu")
    packages = tmp_path / "packages"
    (packages / "torch").mkdir(parents=True)
    (packages / "torch" / "__init__.py").write_text("import time\ntime.sleep(600)\n")
    python = radeons.tool("job-python", f'PYTHONPATH={packages} {_PYTHON}"$@"\n')
    result = radeons.run("check", "--python", str(python), "--timeout", "3")
    assert f"{as_shown(python)} was still at the step 'import torch' after 3s" in _one_line(result.out)


def test_the_bundle_of_a_hung_interpreter_gives_the_same_report(tmp_path: Path) -> None:
    healthy = place(tmp_path)
    python = healthy.tool("job-python", WAYS["hangs"])
    healthy.run("bundle", "-o", "sick.txt", "--python", str(python), "--timeout", "1")
    result = healthy.run("check", "--from", "sick.txt")
    assert f"{as_shown(python)} hung: it gave no answer within 1s" in _one_line(result.out)


def test_all_tools_and_the_interpreter_hang_side_by_side(tmp_path: Path) -> None:
    """Each question says that it waited one deadline; none is asked after another has used up that of the run."""
    radeons = place(tmp_path, "rx7900xtx-2gpu")
    for name in TOOLS:
        radeons.tool(name, WAYS["hangs"])
    python = radeons.tool("job-python", WAYS["hangs"])
    text = _one_line(_report(radeons, ("check", "--verbose"), "--python", str(python)))
    assert as_shown(python) in text
    assert "run rocminfo (within 1s)" in text and "run dmesg (within 1s)" in text
    assert "run journalctl" not in text  # the second way to one log would have cost a second deadline


@pytest.mark.heavy
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("gpus", ["rx7900xtx-2gpu", ""])
@pytest.mark.parametrize("sick", ["python", *TOOLS, "all"])
def test_everything_hangs_everywhere(tmp_path: Path, sick: str, gpus: str, way: str, command: tuple[str, ...]) -> None:
    where = place(tmp_path, gpus) if gpus else place(tmp_path)
    for name in TOOLS:
        if sick in (name, "all"):
            where.tool(name, WAYS[way])
    python = where.tool("job-python", WAYS[way] if sick in ("python", "all") else _PYTHON + '"$@"\n')
    text = _report(where, command, "--python", str(python))
    if sick == "python" and (gpus or "--import" not in way):
        assert as_shown(python) in _one_line(text)


def test_one_that_is_not_there_or_is_not_run_is_said(tmp_path: Path) -> None:
    """Whoever names an interpreter learns that nothing is known of it, and why."""
    healthy = place(tmp_path)
    gone = tmp_path / "gone" / "python3"
    assert f"({as_shown(gone)} is not there, or not a program)" in _one_line(
        _report(healthy, ("check",), "--python", str(gone))
    )
    others = healthy.tool("job-python", _PYTHON + '"$@"\n')
    others.chmod(0o777)
    if os.geteuid() == 0:
        text = _one_line(_report(healthy, ("check",), "--python", str(others)))
        assert "1 question was not asked: the Python interpreter (" in text
        assert str(others) in text
