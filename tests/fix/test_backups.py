"""The folder of a run: who may undo it, what a damaged one does, and one run at a time."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rocdoctor.change import Unset, joining
from rocdoctor.fixes.files import Refused, look
from rocdoctor.fixes.files import replace as put
from rocdoctor.fixes.journal import alone, opened
from tests.fix.fix_kit import Scratch, done, tree, undone

_UNSET = (Unset("HSA_OVERRIDE_GFX_VERSION"),)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


def test_a_folder_that_others_could_have_made_is_not_undone(scratch: Scratch) -> None:
    place = scratch.place()
    _, journal = done(_UNSET, place)
    before = tree(scratch.root)
    for path, mode in ((journal.folder, 0o755), (journal.folder / "list.json", 0o666)):
        path.chmod(mode)
        with pytest.raises(Refused, match="others can read or change it"):
            undone(journal.folder, place)
        journal.folder.chmod(0o700)
        (journal.folder / "list.json").chmod(0o600)
    with pytest.raises(Refused, match="belongs to somebody else"):
        opened(journal.folder, os.geteuid() + 1, place.root)
    with pytest.raises(Refused, match="no folder of rocdoctor fix"):
        opened(scratch.home, place.uid, place.root)
    link = scratch.state / "link"
    link.symlink_to(journal.folder)
    with pytest.raises(Refused, match="no folder of rocdoctor fix"):
        opened(link, place.uid, place.root)
    with pytest.raises(Refused, match="another machine's root"):
        opened(journal.folder, place.uid, Path("/elsewhere"))
    assert tree(scratch.root) == before


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("path", "../../etc/passwd", "damaged"), ("path", "/home/../etc/passwd", "damaged"),
        ("kind", "shell", "damaged"),
        ("copies", [{"path": "/x", "copy": "../../../etc/shadow"}], "damaged"), ("copies", 3, "damaged"),
        ("words", [["rm"]], "damaged"),
    ],
)  # fmt: skip
def test_a_damaged_list_is_refused(scratch: Scratch, key: str, value: object, words: str) -> None:
    place = scratch.place()
    _, journal = done(_UNSET, place)
    file = journal.folder / "list.json"
    data = json.loads(file.read_text())
    data["entries"][0][key] = value
    file.write_text(json.dumps(data))
    with pytest.raises(Refused, match=words):
        opened(journal.folder, place.uid, place.root)
    file.write_text("{")
    with pytest.raises(Refused, match="damaged"):
        opened(journal.folder, place.uid, place.root)


def test_a_list_with_another_command_runs_nothing(scratch: Scratch) -> None:
    scratch.groups()
    place = scratch.place(privileged=True)
    _, journal = done([joining(("render",))], place)
    file = journal.folder / "list.json"
    data = json.loads(file.read_text())
    data["entries"][0]["undo"] = [["rm", "-rf", "/"]]
    file.write_text(json.dumps(data))
    scratch.calls.clear()
    (result,) = undone(journal.folder, place)
    assert not result.ok
    assert scratch.calls == []


def test_a_changed_copy_is_not_put_back(scratch: Scratch) -> None:
    place = scratch.place()
    _, journal = done(_UNSET, place)
    (journal.folder / "copy-1").write_text("evil\n")
    before = tree(scratch.root)
    (result,) = undone(journal.folder, place)
    assert not result.ok
    assert "copy-1 has been changed" in result.said
    assert tree(scratch.root) == before


# Another run of fix: it says when it is at work, and ends when its input does.
_OTHER = """
import os, pathlib, sys
from rocdoctor.fixes.journal import alone
with alone(pathlib.Path(sys.argv[1]), os.geteuid()):
    print("at work", flush=True)
    sys.stdin.read()
"""


def test_two_runs_at_once_do_not_meet(scratch: Scratch) -> None:
    command = [sys.executable, "-c", _OTHER, str(scratch.state)]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"at work\n"
        with pytest.raises(Refused, match="another rocdoctor fix is at work"), alone(scratch.state, os.geteuid()):
            pass
    finally:
        other.communicate(timeout=60)
    assert other.returncode == 0
    with alone(scratch.state, os.geteuid()):
        pass


def test_backups_go_where_others_cannot_write(scratch: Scratch) -> None:
    scratch.state.mkdir(mode=0o700)
    scratch.state.chmod(0o777)
    with pytest.raises(Refused, match="that others cannot change"), alone(scratch.state, os.geteuid()):
        pass
    scratch.state.rmdir()
    scratch.state.symlink_to(scratch.root)
    with pytest.raises(Refused), alone(scratch.state, os.geteuid()):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_folder_of_somebody_else_is_not_written_in(scratch: Scratch) -> None:
    path = scratch.file("home/alice/x", "a")
    os.chown(scratch.home, 12345, -1)
    with pytest.raises(Refused, match="others can change the folder"):
        look(path, os.geteuid(), scratch.root)
    os.chown(scratch.home, 0, -1)
    os.chown(scratch.root / "home", 12345, -1)
    assert look(path, os.geteuid(), scratch.root).data == b"a", "what lies above may belong to anybody"


def test_a_file_keeps_mode_and_group(scratch: Scratch) -> None:
    path = scratch.file("home/alice/x", "a", 0o640)
    seen = look(path, os.geteuid(), scratch.root)
    put(seen, b"b")
    status = path.stat()
    assert (path.read_bytes(), stat.S_IMODE(status.st_mode), status.st_gid) == (b"b", 0o640, seen.gid)
    with pytest.raises(Refused, match="meanwhile"):
        put(seen, b"c")
    assert [one.name for one in scratch.home.iterdir() if one.name.startswith(".x")] == []
