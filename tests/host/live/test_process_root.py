"""Paths below the root folder of a process never lead out of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocdoctor.host.live import process_root
from rocdoctor.host.live.quick_questions import look

PID = 4_194_305  # no process has this number


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Path]:
    """The root folder of a process that is not there, beside a secret."""
    root = tmp_path / "ctr"
    for name in ("etc", "usr/lib", "deep/a/b", "opt/rocm-6.4", "opt/rocm-7.0"):
        (root / name).mkdir(parents=True)
    (tmp_path / "secret").write_text("TOPSECRET")
    (root / "usr/lib/os-release").write_text("ID=inside\n")
    descriptor = os.open(root, os.O_PATH | os.O_DIRECTORY)
    process_root._roots[PID] = process_root.Root(descriptor, None)
    yield root
    os.close(process_root._roots.pop(PID).descriptor)


def _path(inner: str) -> str:
    return f"/proc/{PID}/root{inner}"


@pytest.mark.parametrize(
    "target",
    ["/usr/lib/os-release", "../usr/lib/os-release", "../../../../usr/lib/os-release", "/../usr/lib/os-release"],
)
def test_links_are_followed_inside(container: Path, target: str) -> None:
    (container / "etc/os-release").symlink_to(target)
    assert look(f"read {_path('/etc/os-release')}").text == "ID=inside"
    assert look(f"link {_path('/etc/os-release')}").text == _path("/usr/lib/os-release")
    assert look(f"stat {_path('/etc/os-release')}").text.startswith("file 0")
    assert look(f"space {_path('/etc/os-release')}").ok


def test_no_link_leads_out(container: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    (container / "etc/absolute").symlink_to(secret)
    (container / "etc/relative").symlink_to(os.path.relpath(secret, container / "etc"))
    (container / "etc/folder").symlink_to(tmp_path)
    (container / "etc/kernel").symlink_to(f"/proc/self/root{secret}")
    (container / "etc/far").symlink_to("../" * 30 + str(secret)[1:])
    names = ("absolute", "relative", "folder/secret", "kernel", "far", "../../secret", "../../../../../etc/passwd")
    for name in names:
        for verb in ("read", "stat", "link", "space", "open"):
            answer = look(f"{verb} {_path('/etc/' + name)}")
            assert (answer.status, answer.data) == ("absent", b""), (verb, name)
    assert look(f"list {_path('/etc/folder/*')}").text == ""


def test_lists_keep_the_form_of_their_pattern(container: Path) -> None:
    (container / "opt/rocm").symlink_to("/opt/rocm-7.0")
    (container / "opt/.rocm-hidden").mkdir()
    (container / "opt/rocm-7.0/version").write_text("7.0.1\n")
    assert look(f"list {_path('/opt/rocm*')}").lines() == [
        _path(f"/opt/{one}") for one in ("rocm", "rocm-6.4", "rocm-7.0")
    ]
    assert look(f"list {_path('/opt/*/version')}").lines() == [
        _path("/opt/rocm-7.0/version"),
        _path("/opt/rocm/version"),
    ]
    assert look(f"list {_path('/opt/rocm/version')}").lines() == [_path("/opt/rocm/version")]
    assert look(f"list {_path('/none/*')}").text == ""


def test_only_regular_files_are_read(container: Path) -> None:
    os.mkfifo(container / "etc/fifo")
    assert look(f"read {_path('/etc/fifo')}").note == "not a regular file"
    assert look(f"read {_path('/etc')}").note == "not a regular file"
    assert look(f"read {_path('/etc/none')}").status == "absent"
    assert look(f"read {_path('/usr/lib/os-release/x')}").status == "absent"
    assert look(f"open {_path('/usr/lib/os-release')}").note == "not a character device"
    assert look(f"read {_path('')}").note == "not a regular file"


def test_a_circle_of_links_ends(container: Path) -> None:
    (container / "etc/a").symlink_to("b")
    (container / "etc/b").symlink_to("a")
    assert look(f"read {_path('/etc/a')}").status == "failed"


def test_a_pinned_root_stays_although_the_folder_is_exchanged(container: Path, tmp_path: Path) -> None:
    container.rename(tmp_path / "moved")
    container.mkdir()
    (container / "usr").symlink_to("/etc")
    assert look(f"read {_path('/usr/lib/os-release')}").text == "ID=inside"


def test_descriptors_are_closed(container: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for question in (
        "read {}/usr/lib/os-release",
        "read {}/none/x",
        "list {}/*/*",
        "link {}/deep/../deep/a/b",
        "stat {}/",
    ):
        look(question.format(_path("")))
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root takes on the rights of others")
def test_files_are_looked_at_with_the_rights_of_the_job(container: Path) -> None:
    """Its user may have mounted there what he may not read."""
    for folder in (container.parent, container, container / "etc", container / "deep"):
        folder.chmod(0o755)
    (container / "etc/shadow").write_text("root:hash\n")
    (container / "etc/shadow").chmod(0o640)
    (container / "deep/open").write_text("readable\n")
    (container / "deep/open").chmod(0o644)
    old = process_root._roots[PID]
    process_root._roots[PID] = process_root.Root(old.descriptor, process_root.Rights(65534, 65534, (65534,)))
    assert look(f"read {_path('/etc/shadow')}").status == "denied"
    assert look(f"read {_path('/deep/open')}").text == "readable"
    (container / "deep").chmod(0o700)
    assert look(f"read {_path('/deep/open')}").status == "denied"
    assert look(f"list {_path('/deep/*')}").status == "denied"
    (container / "shut").mkdir()
    assert (container / "shut").exists() and os.stat(container / "shut").st_uid == 0, "our own rights are back"
    assert look("read /etc/shadow").status in ("ok", "absent"), "and so is what root may read"
