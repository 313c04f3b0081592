"""What a program, an interpreter or a folder of root's takes in: nothing that another user can change."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rocdoctor.host.live import programs
from rocdoctor.host.live.code_read import CodeReader
from rocdoctor.host.live.interpreter import weak_interpreter
from rocdoctor.host.live.patience import Patience
from rocdoctor.host.live.scripts import first_line, reader
from rocdoctor.host.live.trusted_content import weak_packages
from tests.host.live.kit import program_file
from tests.kit import ROOT

NOBODY = 65534
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root is in danger, and only root can give files away"),
]


@pytest.fixture
def ours(shared: Path) -> Path:
    """A folder of root's programs, with one that another user can change: he notes as whom it ran."""
    folder = shared / "ours"
    folder.mkdir()
    theirs = shared / "theirs"
    theirs.mkdir()
    for name in ("python3", "reader"):
        program_file(theirs / name, f"id -u >> {shared}/ran\n")
        os.chown(theirs / name, NOBODY, NOBODY)
    os.chown(theirs, NOBODY, NOBODY)
    (folder / "python3").symlink_to(theirs / "python3")
    (folder / "reader").symlink_to(theirs / "reader")
    program_file(folder / "through", "x\n", f"{theirs}/reader")
    return folder


def _asked(name: str, folder: Path) -> str:
    code = f"from rocdoctor.host.live.live_host import LiveHost; print(LiveHost().ask('run {name}').note)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": f"{folder}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def test_a_script_is_not_read_by_a_program_of_others(ours: Path) -> None:
    """As amd-smi is by env python3, where root's python3 is a link to a user's."""
    wrong = []
    for first in (
        "/usr/bin/env python3",
        "/usr/bin/env -S python3 -u",
        "/usr/bin/env -S A=b reader",
        f"/usr/bin/env -S PATH={ours.parent}/theirs:/bin reader",
        f"/usr/bin/env -S LD_PRELOAD={ours.parent}/theirs/reader sh",
        f"/usr/bin/env {ours}/python3",
        f"/bin/sh {ours.parent}/theirs/reader",
        f"{ours.parent}/theirs/reader -x",
        f" {ours}/through",
        str(ours)[1:] + "/reader",  # children start in /
    ):
        program_file(ours / "amd-smi", "x\n", first)
        note = _asked("amd-smi version", ours)
        if (ours.parent / "ran").exists() or "root does not run" not in note:
            wrong.append((first, note))
            (ours.parent / "ran").unlink(missing_ok=True)
    assert wrong == []


def test_what_reads_a_script(ours: Path) -> None:
    folders = (str(ours), "/bin")
    assert reader(["/usr/bin/env", "-i", "sh"], folders) == ("/bin/sh", ["/usr/bin/env"])
    assert reader(["/x/one", "/y", "-z"], folders) == ("/x/one", ["/y"])
    assert reader(["/usr/bin/env", "no-such-program"], folders)[0] == ""
    assert reader(["env", "-S", f"PATH={ours}", "through"], ("/bin",)) == (f"{ours}/through", [str(ours)])
    assert first_line(sys.executable) is None
    assert first_line("/no/such/file") is None
    program_file(ours / "self", "", str(ours / "self"))
    assert CodeReader(folders).weak(str(ours / "self")) == []


def _theirs(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    os.chown(path, NOBODY, NOBODY)


def test_an_interpreter_that_is_a_script_and_its_libraries_count(shared: Path, ours: Path) -> None:
    prefix = shared / "env"
    (prefix / "bin").mkdir(parents=True)
    program_file(prefix / "bin" / "python", "exec python3\n")
    assert weak_interpreter(str(prefix / "bin" / "python")) == []
    program_file(prefix / "bin" / "python", "exec python3\n", f"{ours}/reader")
    assert weak_interpreter(str(prefix / "bin" / "python"))
    program_file(prefix / "bin" / "python", "exec python3\n")
    _theirs(prefix / "lib" / "libpython3.11.so.1.0")
    (found,) = weak_interpreter(str(prefix / "bin" / "python"), "start")
    assert found.path.endswith("libpython3.11.so.1.0")


def test_folders_of_root_with_a_file_of_others_are_in_no_list(shared: Path) -> None:
    sound, library, packages, deep = (shared / name for name in ("sound", "library", "packages", "deep"))
    sound.mkdir()
    (sound / "a.py").write_text("")
    (sound / "b.so").symlink_to("a.py")
    _theirs(library / "libx.so")
    _theirs(packages / "sitecustomize.py")
    _theirs(deep / "torch" / "_C" / "x.so")
    every = ":".join(map(str, (sound, library, packages, deep)))
    found = programs.interpreter_environment({"PYTHONPATH": every, "LD_LIBRARY_PATH": every, "HOME": str(sound)})
    assert found["PYTHONPATH"] == str(sound)
    assert found["LD_LIBRARY_PATH"] == f"{sound}:{deep}"
    assert "PYTHONNOUSERSITE" not in found


@pytest.mark.parametrize("kind", ["file", "open folder", "PYTHONUSERBASE"])
def test_packages_in_root_s_home_that_others_can_change_are_left_out(shared: Path, kind: str) -> None:
    base = shared / ".local"
    site = base / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    if kind == "open folder":
        site.chmod(0o777)
    else:
        _theirs(site / "usercustomize.py")
    given = {"PYTHONUSERBASE": str(base)} if kind == "PYTHONUSERBASE" else {"HOME": str(shared)}
    assert programs.interpreter_environment(given)["PYTHONNOUSERSITE"] == "1"


def test_folders_on_a_server_that_is_gone_are_in_no_environment(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What looks names up there hangs before its first step: each tool, each Python."""
    monkeypatch.setattr(programs, "dead", lambda folder: folder.startswith("/gone"))
    monkeypatch.setattr(programs, "weak_user_site", lambda base, until: False)
    patience = Patience(5.0)
    monkeypatch.setattr(programs, "RUN", patience)
    given = {"PYTHONPATH": f"/gone/x:{shared}:", "LD_LIBRARY_PATH": "/gone", "HOME": "/gone/home", "A": "/gone"}
    for root in (True, False):
        monkeypatch.setattr(programs, "privileged", lambda root=root: root)
        found = programs.interpreter_environment(given)
        assert found["PYTHONPATH"] == (str(shared) if root else f"{shared}:")
        assert not found.get("LD_LIBRARY_PATH")
        assert found.get("HOME") == "/gone/home", "nothing has hung, so it is not looked for"
    patience.hung("/gone/home/.config", 2.0)
    found = programs.interpreter_environment(given)
    assert (found["HOME"], found["PYTHONNOUSERSITE"], found["A"]) == ("/nonexistent", "1", "/gone")


def test_a_folder_of_packages_that_cannot_be_looked_through_in_time_is_left_out(shared: Path) -> None:
    (shared / "deep").mkdir()
    assert not weak_packages(str(shared), math.inf)
    assert weak_packages(str(shared), 0.0)
