"""This machine as a place: whose home, where backups go, and programs that are started without a shell."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocdoctor.host.live import programs
from rocdoctor.model.change import joining
from rocdoctor.model.finding import Fix
from rocdoctor.repair.fixes.apply import Done, apply, undo
from rocdoctor.repair.fixes.steps import work_of
from rocdoctor.repair.fixes.target_machine import ProgramOutcome, run_program, this_machine
from tests.repair.fixes.fix_kit import Scratch, changed, tree

_FAKE = """#!/bin/sh
printf '%s|' "$(basename "$0")" "$@" >> {calls}
printf '\\n' >> {calls}
{more}
"""


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of programs in front of PATH that record their arguments."""
    folder = tmp_path / "bin"
    folder.mkdir(mode=0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    _forget()
    yield folder
    _forget()


def _forget() -> None:
    for one in (programs.find_program, programs._directories, programs.child_environment):
        one.cache_clear()


def _fake(folder: Path, name: str, more: str = "") -> None:
    path = folder / name
    path.write_text(_FAKE.format(calls=folder / "calls", more=more))
    path.chmod(0o755)


def test_a_program_gets_its_words_as_they_are(fakes: Path) -> None:
    _fake(fakes, "usermod", "echo done")
    words = ("usermod", "-aG", "a b", "$USER", "`id`", ";", "*")
    assert run_program(words) == ProgramOutcome(True, "done")
    assert (fakes / "calls").read_text() == "usermod|-aG|a b|$USER|`id`|;|*|\n"


def test_a_program_that_fails_or_is_missing(fakes: Path) -> None:
    _fake(fakes, "usermod", "echo 'no such group' >&2; exit 6")
    assert run_program(("usermod", "x")) == ProgramOutcome(False, "no such group")
    assert run_program(("no-program-of-this-name",)) == ProgramOutcome(
        False, "there is no program no-program-of-this-name here"
    )


def test_groups_by_programs_on_the_path(fakes: Path, tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    group = scratch.root / "etc/group"
    _fake(fakes, "usermod", f"sed -i 's/^render:x:992:$/render:x:992:alice/' {group}")
    _fake(fakes, "gpasswd", f"sed -i 's/^render:x:992:alice$/render:x:992:/' {group}")
    scratch.run = run_program  # type: ignore[method-assign]
    place = scratch.place(privileged=True)
    before = tree(scratch.root)
    journal = scratch.fresh()
    steps = work_of(Fix("t", "c", "safe"), (joining(("render",)),), "a-check", place).steps
    assert apply(steps, "a-check", place, journal) == [Done(True, "ran usermod -aG render alice")]
    assert changed(before, tree(scratch.root)) == {"etc/group"}
    assert undo(journal, place) == [Done(True, "ran gpasswd -d alice render")]
    assert tree(scratch.root) == before
    assert (fakes / "calls").read_text().splitlines() == ["usermod|-aG|render|alice|", "gpasswd|-d|alice|render|"]


def test_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SUDO_USER", "SUDO_UID", "SUDO_GID", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/nowhere")
    account = pwd.getpwuid(os.geteuid())
    place = this_machine()
    assert (place.uid, place.home, place.user) == (os.geteuid(), account.pw_dir.rstrip("/"), account.pw_name)
    assert place.state == Path(account.pw_dir) / ".local/state/rocdoctor/fixes", "not where a variable points"
    assert place.privileged == (os.geteuid() == 0)


def test_who_called_sudo_is_the_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name, value in (("SUDO_USER", "alice"), ("SUDO_UID", "1000"), ("SUDO_GID", "1000"), ("XDG_STATE_HOME", "/x")):
        monkeypatch.setenv(name, value)
    place = this_machine()
    assert (place.user, place.uid) == ("alice", 0)
    assert place.state == Path(pwd.getpwuid(0).pw_dir) / ".local/state/rocdoctor/fixes"
    monkeypatch.setenv("SUDO_USER", "-rf")
    assert this_machine().user == "", "a name that an option could be is none"


def test_the_home_is_that_of_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = pwd.getpwuid(os.geteuid()).pw_dir.rstrip("/")
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(tmp_path).st_uid or 1000)
    monkeypatch.setattr(
        pwd, "getpwuid", lambda uid: pwd.struct_passwd(("alice", "x", uid, uid, "", account, "/bin/sh"))
    )
    owner = os.stat(tmp_path).st_uid
    monkeypatch.setattr(os, "stat", lambda path, **more: os.lstat(path) if owner else _owned_by(1000, os.lstat(path)))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert this_machine().home == str(tmp_path)
    (tmp_path / "*").mkdir()
    for elsewhere in ("", "relative", str(tmp_path / "missing"), str(tmp_path / "*")):
        monkeypatch.setenv("HOME", elsewhere)
        assert this_machine().home == account


def _owned_by(uid: int, status: os.stat_result) -> os.stat_result:
    return os.stat_result([uid if place == 4 else value for place, value in enumerate(status[:10])])


def test_the_home_of_root_is_that_of_its_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under ``sudo -E`` HOME is another person's."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert this_machine().home == pwd.getpwuid(0).pw_dir.rstrip("/")
