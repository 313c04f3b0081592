from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.train.emit.readers import venvs
from tests.waiting import until

_CHILD = "import time; time.sleep(600)"
_PARENT = f"""
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {_CHILD!r}], start_new_session=True)
pathlib.Path(sys.argv[1]).write_text(str(child.pid))
time.sleep(600)
"""


def test_a_program_past_its_deadline_is_ended_with_what_it_started_in_other_sessions(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    for deadline in (1.5, 6.0, 30.0):  # a busy machine may not have come to the child in the first
        with pytest.raises(subprocess.TimeoutExpired):
            venvs.run([sys.executable, "-c", _PARENT, note], deadline_s=deadline)
        if note.exists():
            break
    child = int(note.read_text())
    assert until(lambda: _has_ended(child)), f"process {child} is still there"


def _has_ended(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def test_a_program_gives_its_output_and_status_and_sees_no_ranks_of_another_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RANK", "7")
    program = "import os, sys; print(os.environ.get('RANK'), os.environ['MINE']); sys.exit(3)"
    done = venvs.run([sys.executable, "-c", program], environment={"MINE": "1"})
    assert (done.stdout, done.returncode) == ("None 1\n", 3)


def _recipe(monkeypatch: pytest.MonkeyPatch, folder: Path, *commands: tuple[str, ...]) -> None:
    monkeypatch.setattr(venvs, "READERS", folder)
    monkeypatch.setattr(venvs, "RECIPES", {"one": venvs.Recipe(commands)})
    venvs._made.cache_clear()


def test_a_half_made_environment_is_made_anew_and_a_whole_one_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    def make(folder: Path, recipe: venvs.Recipe) -> str:
        del recipe
        made.append(folder)
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").touch()
        return ""

    _recipe(monkeypatch, tmp_path)
    monkeypatch.setattr(venvs, "_make", make)
    (tmp_path / "one" / "bin").mkdir(parents=True)
    (tmp_path / "one" / "bin" / "python").touch()  # no mark: its maker was ended
    assert venvs.reader("one") == tmp_path / "one" / "bin" / "python"
    assert len(made) == 1
    venvs._made.cache_clear()
    venvs.reader("one")
    assert len(made) == 1
    _recipe(monkeypatch, tmp_path, ("another==1",))
    venvs.reader("one")
    assert len(made) == 2


def test_what_this_interpreter_has_is_lent_with_all_that_it_requires(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (place,) = venvs._lend(venvs.Recipe((), lent="pytest>=8"), tmp_path)
    assert (place / "pytest").is_symlink() and (place / "pluggy" / "__init__.py").is_file()
    assert "from _pytest.config import " in (tmp_path / "bin" / "pytest").read_text()


def test_another_version_is_not_lent(tmp_path: Path) -> None:
    (place,) = venvs._lend(venvs.Recipe((), lent="pytest<1"), tmp_path)
    assert list(place.iterdir()) == []


@pytest.mark.reader
def test_what_pip_cannot_install_is_a_skip_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _recipe(monkeypatch, tmp_path, ("--no-index", str(tmp_path / "no-such-package")))
    with pytest.raises(pytest.skip.Exception, match=r"no environment for one: .*no-such-package"):
        venvs.reader("one")
    venvs._made.cache_clear()
