from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.host.live import new_file, trust
from rocdoctor.service.bundles import write_bundle
from rocdoctor.service.errors import UsageError
from rocdoctor.service.new_files import write_files, write_new
from rocdoctor.train.emit.files import File
from rocdoctor.train.smoke.figures.measure import _keep_trace

TWO = (File("run.sh", "#!/bin/sh\n", executable=True), File("plan.yaml", "a: 1\n"))


def test_files_get_their_modes_whatever_the_umask_is(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        paths = write_files(tmp_path / "new" / "folder", TWO)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [0o700, 0o600]
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


# -- as root, with links of others on the way

_OTHER = 12345
needs_root = pytest.mark.skipif(os.geteuid() != 0 or not trust.privileged(), reason="only root gives files away")


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of somebody else, in which a link of that user leads to one of root."""
    for name in ("SUDO_USER", "SUDO_UID", "SUDO_GID"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "roots").mkdir()
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "own").mkdir()
    (folder / "link").symlink_to(tmp_path / "roots")
    (folder / "relative").symlink_to("../roots")
    for path in (folder, *folder.iterdir()):
        os.chown(path, _OTHER, _OTHER, follow_symlinks=False)
    return folder


def _written(folder: Path) -> list[str]:
    """What each command says that writes into a folder; "" for one that wrote."""
    said = []
    for write in (
        lambda: write_files(folder, TWO),
        lambda: write_files(folder / "new" / "deeper", TWO),
        lambda: write_new(folder / "script.sh", "x", executable=True),
        lambda: write_bundle("x", str(folder), False),
        lambda: write_bundle("x", str(folder / "named.txt"), False),
    ):
        try:
            write()
            said.append("")
        except UsageError as error:
            said.append(str(error))
    (folder.parent / "made").write_text("a trace")
    trace = _keep_trace(str(folder.parent / "made"), str(folder / "trace"))
    return [*said, "" if "was written to" in trace else trace]


@needs_root
@pytest.mark.parametrize("name", ["link", "relative", "own/../link", "link/../roots"])
def test_root_writes_through_no_link_of_somebody_else(theirs: Path, name: str) -> None:
    for said in _written(theirs / name):
        assert "is a symbolic link of user 12345, which root does not follow: name the folder" in said
    assert os.listdir(theirs.parent / "roots") == []


@needs_root
def test_root_writes_into_folders_of_others_and_through_links_of_its_own(theirs: Path, tmp_path: Path) -> None:
    assert _written(theirs / "own") == [""] * 6
    (tmp_path / "mine").symlink_to(theirs)
    (tmp_path / "again").symlink_to("mine/own/new")
    assert _written(tmp_path / "again") == [""] * 6
    assert (theirs / "own" / "new" / "script.sh").read_text() == "x"


@needs_root
def test_under_sudo_the_links_of_the_caller_count_as_named(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SUDO_USER", "alice"), ("SUDO_UID", str(_OTHER)), ("SUDO_GID", str(_OTHER))):
        monkeypatch.setenv(name, value)
    assert _written(theirs / "link") == [""] * 6
    monkeypatch.setenv("SUDO_UID", str(_OTHER + 1))
    assert all("symbolic link of user 12345" in said for said in _written(theirs / "link"))


@needs_root
def test_a_folder_that_becomes_a_link_under_way_leads_nowhere(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was gone to stays what it is, whatever has its name when the file is written."""
    real = new_file.write_new

    def late(path: Path, *args: Any, **kwargs: Any) -> None:
        if not (theirs / "aside").exists():
            (theirs / "own").rename(theirs / "aside")
            (theirs / "own").symlink_to(theirs.parent / "roots")
        real(path, *args, **kwargs)

    monkeypatch.setattr(new_file, "write_new", late)
    write_files(theirs / "own", TWO)
    assert sorted(os.listdir(theirs / "aside")) == ["plan.yaml", "run.sh"]
    assert os.listdir(theirs.parent / "roots") == []


@needs_root
def test_the_way_of_root_ends_like_that_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(UsageError, match="Too many levels"):
        write_files(tmp_path / "a", TWO)
    with pytest.raises(UsageError, match="No such file"):
        write_new(tmp_path / "missing" / "x", "")
    monkeypatch.chdir(tmp_path)
    write_new(Path("here"), "x")
    write_files(Path("deep/er"), TWO)
    write_new(Path("deep/../there"), "x")
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "deep", "here", "there"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root goes to a folder by its descriptor")
def test_root_does_not_vouch_for_a_file_that_was_exchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who owns the folder puts a link, or a file of his, where the new file waits for its name."""
    secret = tmp_path / "secret"
    secret.write_text("of root alone")
    number = 0

    def exchanged(name: str) -> None:
        real = getattr(os, name)

        def first_theirs(beside: Path, target: Path, **more: Any) -> None:
            waiting = tmp_path / "theirs" / beside.name
            waiting.rename(tmp_path / "kept")
            if number % 2:
                waiting.symlink_to(secret)
            else:
                waiting.write_text("theirs")
            real(beside, target, **more)

        monkeypatch.setattr(os, name, first_theirs)

    (tmp_path / "theirs").mkdir()
    exchanged("link")
    exchanged("replace")
    for number in range(4):
        path = tmp_path / "theirs" / f"bundle{number}.txt"
        with pytest.raises(UsageError, match="another file was put in its place"):
            if number < 2:
                write_bundle("text", str(path), False)
            else:
                write_new(path, "text", force=True)
    assert secret.read_text() == "of root alone"
