"""Files and folders that somebody names: root is led nowhere, and nobody waits for a FIFO."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rocdoctor.cli.main import run
from rocdoctor.host.live import named_path
from rocdoctor.host.live.named_path import open_folder, open_named
from rocdoctor.host.live.regular_files import read_regular
from rocdoctor.service.errors import InputError
from rocdoctor.service.evidence import open_evidence, read_text

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
_OTHER = 12345
_REFUSED = "is a symbolic link of user 12345, which root does not follow: name the file or folder that it leads to"


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of another user with links to what is root's alone."""
    for name in ("SUDO_USER", "SUDO_UID", "SUDO_GID"):
        monkeypatch.delenv(name, raising=False)
    secret = tmp_path / "secret"
    (secret / "etc").mkdir(parents=True)
    (secret / "job.sh").write_text("export HSA_OVERRIDE_GFX_VERSION=topsecret\n")
    (secret / "etc" / "os-release").write_text("NAME=topsecret\n")
    secret.chmod(0o700)
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "job.sh").symlink_to(secret / "job.sh")
    (folder / "folder").symlink_to(secret)
    (folder / "etc").mkdir()
    (folder / "etc" / "os-release").write_text("NAME=theirs\n")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, _OTHER, _OTHER, follow_symlinks=False)
    return folder


def _estimate(name: str) -> int:
    return run(["estimate", name])


@needs_root
@pytest.mark.parametrize("name", ["job.sh", "folder", "folder/job.sh", "etc/../folder/etc/os-release"])
@pytest.mark.parametrize(
    "how", [open_evidence, read_text, lambda name: run(["estimate", name])], ids=["from", "read", "estimate"]
)
def test_root_reads_through_no_link_of_somebody_else(
    theirs: Path, name: str, how: Callable[[str], object], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        how(str(theirs / name))
        said = capsys.readouterr().err
    except InputError as error:
        said = str(error)
    assert _REFUSED in said or "neither a file nor a folder" in said, said
    assert "topsecret" not in said


@needs_root
@pytest.mark.parametrize(
    "words", [["lint", "--no-machine"], ["check", "--no-color", "--from"], ["read"]], ids=lambda one: one[0]
)
def test_no_command_shows_what_such_a_link_leads_to(
    theirs: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (".", "job.sh", "folder"):
        run([*words, str(theirs / name)])
        said = capsys.readouterr()
        assert "topsecret" not in said.out + said.err


@needs_root
def test_links_of_root_are_followed_and_folders_of_others_gone_through(theirs: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").symlink_to("theirs/etc")
    assert read_text(str(tmp_path / "mine" / "os-release")) == "NAME=theirs\n"
    assert read_text(str(theirs / "etc" / ".." / "etc" / "os-release")) == "NAME=theirs\n"


@needs_root
def test_the_root_of_a_process_is_its_own(theirs: Path) -> None:
    """The words of this link of the kernel are "/", which is our root."""
    opened = open_folder(Path(f"/proc/{os.getpid()}/cwd"))
    assert os.path.samestat(os.fstat(opened), os.stat("."))
    os.close(opened)


@pytest.mark.parametrize("root", [pytest.param(True, marks=needs_root), False])
def test_a_fifo_that_has_taken_the_place_of_a_file_holds_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: bool
) -> None:
    monkeypatch.setattr(named_path, "walks", lambda: root)
    os.mkfifo(tmp_path / "text")
    monkeypatch.setattr(Path, "is_file", lambda self: True)  # what it was at the first look
    for asked in (open_evidence, read_text):
        with pytest.raises(InputError, match="not a regular file"):
            asked(str(tmp_path / "text"))
    with pytest.raises(OSError, match="not a regular file"):
        read_regular(tmp_path / "text", 100)


@needs_root
def test_what_is_opened_is_what_was_judged(theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody puts a link in the place of a folder just after it was looked at."""
    judged = os.fstat

    def exchange(descriptor: int) -> os.stat_result:
        status = judged(descriptor)
        if (theirs / "etc").is_dir() and not (theirs / "etc").is_symlink():
            (theirs / "etc").rename(theirs / "was")
            (theirs / "etc").symlink_to(tmp_path / "secret" / "etc")
            os.chown(theirs / "etc", _OTHER, _OTHER, follow_symlinks=False)
        return status

    monkeypatch.setattr(os, "fstat", exchange)
    try:
        opened = open_named(theirs / "etc" / "os-release")
    except OSError:
        return
    assert os.read(opened, 100) == b"NAME=theirs\n"
    os.close(opened)


@needs_root
def test_without_proc_what_was_judged_is_opened_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one.txt").write_text("one")
    (tmp_path / "two.txt").write_text("two")
    usual, swapped = os.open, False

    def bare(name: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if str(name).startswith("/proc/"):
            raise FileNotFoundError(2, "No such file or directory", str(name))
        if swapped and name == "one.txt" and flags & named_path.READING == named_path.READING:
            name = "two.txt"
        return usual(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", bare)
    for path, kept in ((tmp_path / "one.txt", "one"), (tmp_path, None)):
        opened = open_named(path)
        try:
            assert os.path.samestat(os.fstat(opened), os.stat(path))
            assert kept is None or os.read(opened, 9).decode() == kept
        finally:
            os.close(opened)
    swapped = True
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="another file was put in its place"):
        open_named(tmp_path / "one.txt")
    assert len(os.listdir("/proc/self/fd")) == before
