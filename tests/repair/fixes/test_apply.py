"""Switching variables off in a scratch root: only what is declared changes, and undoing restores every byte."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.model.change import Unset
from rocdoctor.repair.fixes.apply import Done, apply, undo
from rocdoctor.repair.fixes.journal import Journal
from rocdoctor.repair.fixes.steps import Edit
from rocdoctor.repair.fixes.user_files import Refused, look
from tests.repair.fixes.fix_kit import BASHRC, Scratch, changed, done, tree, undone, work

_UNSET = (Unset("HSA_OVERRIDE_GFX_VERSION"),)
_OFF = "    : # off by rocdoctor fix (a-check): export HSA_OVERRIDE_GFX_VERSION=10.3.0  # from a guide\n"


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


def test_a_line_is_switched_off_and_comes_back(scratch: Scratch) -> None:
    place = scratch.place()
    before = tree(scratch.root)
    results, journal = done(_UNSET, place)
    assert results == [Done(True, "changed ~/.bashrc")]
    assert changed(before, tree(scratch.root)) == {"home/alice/.bashrc"}
    lines = (scratch.home / ".bashrc").read_text().splitlines(keepends=True)
    assert lines[4] == _OFF
    assert [line for number, line in enumerate(lines) if number != 4] == [
        line for number, line in enumerate(BASHRC.splitlines(keepends=True)) if number != 4
    ]
    assert stat.S_IMODE((scratch.home / ".bashrc").stat().st_mode) == 0o644
    assert stat.S_IMODE(journal.folder.stat().st_mode) == 0o700
    assert undone(journal.folder, place) == [Done(True, "~/.bashrc is as it was before")]
    assert tree(scratch.root) == before, "bytes, mode and time"
    assert undone(journal.folder, place) == [], "a second time there is nothing to undo"


def test_every_file_that_sets_it_is_changed(scratch: Scratch) -> None:
    scratch.file("home/alice/.profile", "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n")
    scratch.file("etc/environment", "HSA_OVERRIDE_GFX_VERSION=10.3.0\n")
    scratch.file("etc/environment.d/50.conf", "HSA_OVERRIDE_GFX_VERSION=10.3.0\n")
    scratch.file("etc/profile.d/rocm.sh", "export HSA_OVERRIDE_GFX_VERSION=11.0.0\n")
    place = scratch.place()
    before = tree(scratch.root)
    results, journal = done(_UNSET, place)
    assert all(one.ok for one in results)
    assert changed(before, tree(scratch.root)) == {
        "home/alice/.bashrc",
        "home/alice/.profile",
        "etc/environment",
        "etc/environment.d/50.conf",
    }
    assert (scratch.root / "etc/environment").read_text().startswith("# off by rocdoctor fix (a-check): HSA")
    assert all(one.ok for one in undone(journal.folder, place))
    assert tree(scratch.root) == before


def test_it_takes_effect_at_the_next_login_and_says_what_to_type(scratch: Scratch) -> None:
    made = work(_UNSET, scratch.place())
    assert made.effective == "new-login"
    assert made.typed == ("unset HSA_OVERRIDE_GFX_VERSION",)


def test_a_variable_that_no_file_sets_is_left_to_the_person(scratch: Scratch) -> None:
    made = work(_UNSET, scratch.place({"HSA_OVERRIDE_GFX_VERSION": "9.9.9"}))
    assert made.steps == ()
    assert "no start-up file was found that sets HSA_OVERRIDE_GFX_VERSION=9.9.9" in made.left[0]
    assert made.typed == ("unset HSA_OVERRIDE_GFX_VERSION",)
    assert work(_UNSET, scratch.place({})).left == ("HSA_OVERRIDE_GFX_VERSION is not set in this session",)


def test_what_cannot_be_done_whole_is_not_begun(scratch: Scratch) -> None:
    scratch.file("home/alice/.profile", "export A=1 HSA_OVERRIDE_GFX_VERSION=10.3.0\n")
    made = work(_UNSET, scratch.place())
    assert made.steps == ()
    assert made.left == ("~/.profile:1 sets it among other things: change that line",)
    assert made.typed == ("unset HSA_OVERRIDE_GFX_VERSION", "sed -i '5s/^/: # /' \"$HOME/.bashrc\"")


def _link(scratch: Scratch) -> None:
    path = scratch.home / ".bashrc"
    path.rename(scratch.home / "dotfiles-bashrc")
    path.symlink_to("dotfiles-bashrc")


def _dangling(scratch: Scratch) -> None:
    os.link(scratch.home / ".bashrc", scratch.home / "second-name")


def _open_above(scratch: Scratch) -> None:
    (scratch.root / "home").chmod(0o777)


def _open_folder(scratch: Scratch) -> None:
    scratch.home.chmod(0o777)


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (_link, "symbolic link"),
        (_dangling, "several names (hard links)"),
        (lambda scratch: (scratch.home / ".bashrc").chmod(0o444), "read-only"),
        (_open_folder, "others can change the folder"),
        (_open_above, "others can change the folder"),
    ],
)
def test_an_unusual_file_is_left_alone(scratch: Scratch, prepare: object, words: str) -> None:
    assert callable(prepare)
    prepare(scratch)
    before = tree(scratch.root)
    made = work(_UNSET, scratch.place())
    assert made.steps == ()
    assert "~/.bashrc:5 sets it, and is left alone" in made.left[0]
    assert words in made.left[0]
    linked = "--follow-symlinks " if words == "symbolic link" else ""
    assert f"sed -i {linked}'5s/^/: # /' \"$HOME/.bashrc\"" in made.typed
    assert tree(scratch.root) == before


def test_somebody_elses_file_is_left_alone(scratch: Scratch) -> None:
    made = work(_UNSET, replace(scratch.place(), uid=os.geteuid() + 1))
    assert made.steps == ()
    assert "it belongs to" in made.left[0]
    (scratch.home / ".bashrc").unlink()
    scratch.file("etc/environment", "HSA_OVERRIDE_GFX_VERSION=10.3.0\n")
    made = work(_UNSET, replace(scratch.place(), uid=os.geteuid() + 1))
    assert "sudo sed -i '1s/^/# /' /etc/environment" in made.typed


def test_a_file_too_large_to_be_read_is_named_and_nothing_is_begun(scratch: Scratch) -> None:
    scratch.file("home/alice/.profile", "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n" + "#" * (1 << 20))
    made = work(_UNSET, scratch.place())
    assert made.steps == ()
    assert made.left == (
        "~/.profile is larger than 1 MiB and was not read: check whether it sets HSA_OVERRIDE_GFX_VERSION",
    )


def test_a_fifo_and_a_folder_are_passed_over(scratch: Scratch) -> None:
    os.mkfifo(scratch.home / ".profile")
    (scratch.home / ".zshrc").mkdir()
    assert [type(step) for step in work(_UNSET, scratch.place()).steps] == [Edit]


def test_a_file_that_changes_meanwhile_is_left_alone(scratch: Scratch) -> None:
    place = scratch.place()
    steps = work(_UNSET, place).steps
    scratch.file("home/alice/.bashrc", "new\n")
    before = tree(scratch.root)
    journal = scratch.fresh()
    (result,) = apply(steps, "a-check", place, journal)
    assert result == Done(False, "~/.bashrc: somebody has changed it in the meantime")
    assert tree(scratch.root) == before
    (result,) = undo(journal, place)
    assert not result.ok, "what somebody else wrote stays"
    assert tree(scratch.root) == before


def test_undoing_leaves_what_was_changed_since(scratch: Scratch) -> None:
    place = scratch.place()
    _, journal = done(_UNSET, place)
    with (scratch.home / ".bashrc").open("a") as stream:
        stream.write("mine\n")
    before = tree(scratch.root)
    (result,) = undone(journal.folder, place)
    assert not result.ok
    assert str(journal.folder / "copy-1") in result.said
    assert tree(scratch.root) == before
    assert (journal.folder / "copy-1").read_text() == BASHRC


def test_two_fixes_of_one_file_are_taken_back_in_turn(scratch: Scratch) -> None:
    scratch.file("home/alice/.bashrc", BASHRC + "export ROCM_PATH=/opt/x\n")
    place = scratch.place({"HSA_OVERRIDE_GFX_VERSION": "10.3.0", "ROCM_PATH": "/opt/x"})
    before = tree(scratch.root)
    journal = scratch.fresh()
    for changes in (_UNSET, (Unset("ROCM_PATH"),)):
        assert all(one.ok for one in apply(work(changes, place).steps, "a-check", place, journal))
    assert (scratch.home / ".bashrc").read_text().count("off by rocdoctor fix") == 2
    assert [one.ok for one in undone(journal.folder, place)] == [True, True]
    assert tree(scratch.root) == before


def test_a_run_that_was_cut_off_can_be_taken_back(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    place = scratch.place()
    before = tree(scratch.root)
    journal = scratch.fresh()
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "end", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            apply(work(_UNSET, place).steps, "a-check", place, journal)
    assert changed(before, tree(scratch.root)) == {"home/alice/.bashrc"}
    assert [one.ok for one in undone(journal.folder, place)] == [True]
    assert tree(scratch.root) == before


def _interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_nothing_is_changed_without_a_copy(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    place = scratch.place()
    journal = scratch.fresh()
    before = tree(scratch.root)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rocdoctor.repair.fixes.journal.write_new", full)
    (result,) = apply(work(_UNSET, place).steps, "a-check", place, journal)
    assert not result.ok
    assert "No space left" in result.said
    assert tree(scratch.root) == before


def test_a_link_put_in_the_place_of_a_file_between_look_and_read_is_not_followed(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = scratch.root / "secret"
    secret.write_text("export HSA_OVERRIDE_GFX_VERSION=10.3.0\n")
    path = scratch.home / ".bashrc"
    real = os.lstat

    def exchanged(name: Any, **more: Any) -> os.stat_result:
        status = real(name, **more)
        if name == path and not path.is_symlink():
            path.unlink()
            path.symlink_to(secret)
        return status

    monkeypatch.setattr(os, "lstat", exchanged)
    with pytest.raises(Refused, match="somebody has changed it in the meantime"):
        look(path, os.geteuid(), scratch.root)
