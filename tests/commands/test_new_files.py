from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rocdoctor.cli import UsageError
from rocdoctor.commands.new_files import write_files, write_new
from rocdoctor.emit.files import File

TWO = (File("run.sh", "#!/bin/sh\n", executable=True), File("plan.yaml", "a: 1\n"))


def test_files_get_their_modes_whatever_the_umask_is(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        paths = write_files(tmp_path / "new" / "folder", TWO)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [0o755, 0o644]
    assert [path.read_text() for path in paths] == ["#!/bin/sh\n", "a: 1\n"]
    assert sorted(os.listdir(tmp_path / "new" / "folder")) == ["plan.yaml", "run.sh"]


def test_one_file_that_exists_stops_all_of_them_and_force_replaces_it(tmp_path: Path) -> None:
    mine = tmp_path / "plan.yaml"
    mine.write_text("mine")
    with pytest.raises(UsageError, match=r"plan\.yaml: exists already"):
        write_files(tmp_path, TWO)
    assert os.listdir(tmp_path) == ["plan.yaml"]
    assert mine.read_text() == "mine"
    write_files(tmp_path, TWO, force=True)
    assert mine.read_text() == "a: 1\n"


def test_links_folders_and_pipes_are_never_replaced(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("theirs")
    (tmp_path / "link").symlink_to(target)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "dangling", "folder", "pipe"):
        for force in (False, True):
            with pytest.raises(UsageError, match=name):
                write_new(tmp_path / name, "text", force=force)
    assert target.read_text() == "theirs"
    assert not (tmp_path / "nowhere").exists()
    assert len(os.listdir(tmp_path)) == 5


def test_a_name_taken_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.yaml"
    fsync = os.fsync

    def meanwhile(descriptor: int) -> None:
        path.write_text("theirs")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", meanwhile)
    with pytest.raises(UsageError, match="exists already"):
        write_new(path, "ours")
    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["plan.yaml"]


def test_errors_name_the_file_and_leave_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="file"):
        write_files(tmp_path / "file", TWO)
    with pytest.raises(UsageError, match=r"missing/plan\.yaml: No such file"):
        write_new(tmp_path / "missing" / "plan.yaml", "")
    for name in ("", "..", "../up", "a/b", "a\0b"):
        with pytest.raises(UsageError, match="no name of a file"):
            write_files(tmp_path, [File(name, "")])
    with pytest.raises(UsageError, match="two files of this name"):
        write_files(tmp_path, [TWO[0], TWO[0]])
    assert os.listdir(tmp_path) == ["file"]
