"""Runs that a full disk or Ctrl-C cuts off: what was done is said, and all of it can be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rocdoctor.cli.main import run
from rocdoctor.model.change import Unset, joining
from rocdoctor.repair.fixes.journal import Folder
from rocdoctor.repair.fixes.target_machine import ProgramOutcome
from rocdoctor.repair.fixes.user_files import Refused
from tests.repair.fixes.fix_kit import Scratch, changed, done, tree, undone

_UNSET = (Unset("HSA_OVERRIDE_GFX_VERSION"),)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


def _full_after(monkeypatch: pytest.MonkeyPatch, writes: int) -> None:
    """A disk on which so many files more can be written."""
    real, left = Folder.put, [writes]

    def put(folder: Folder, name: str, data: bytes) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Refused("no space")
        real(folder, name, data)

    monkeypatch.setattr(Folder, "put", put)


def test_a_step_that_was_done_is_no_failure_when_the_disk_is_full_afterwards(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(scratch.root)
    with monkeypatch.context() as patch:
        _full_after(patch, 3)  # the list, the copy, the list with the step begun
        results, made = done(_UNSET, scratch.place())
    assert [(one.ok, one.said) for one in results] == [(True, "changed ~/.bashrc")]
    assert changed(before, tree(scratch.root)) == {"home/alice/.bashrc"}
    assert all(one.ok for one in undone(made.folder, scratch.place()))
    assert tree(scratch.root) == before


def test_a_full_disk_does_not_end_the_undoing(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch.file("home/alice/.profile", "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n")
    before = tree(scratch.root)
    _, made = done(_UNSET, scratch.place())
    assert changed(before, tree(scratch.root)) == {"home/alice/.bashrc", "home/alice/.profile"}
    _full_after(monkeypatch, 0)
    assert [one.ok for one in undone(made.folder, scratch.place())] == [True, True]
    assert tree(scratch.root) == before


def test_a_command_that_was_cut_off_before_it_did_anything(scratch: Scratch) -> None:
    def stopped(words: Sequence[str]) -> ProgramOutcome:
        raise KeyboardInterrupt

    scratch.programs["usermod"] = stopped
    place = scratch.place(privileged=True)
    with pytest.raises(KeyboardInterrupt):
        done((joining(["render"]),), place)
    (folder,) = (path for path in scratch.state.iterdir() if path.is_dir())
    (result,) = undone(folder, place)
    assert result.ok
    assert "cut off and changed nothing" in result.said
    assert [words[0] for words in scratch.calls] == ["usermod"]


def test_a_folder_that_is_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scratch: Scratch
) -> None:
    monkeypatch.setattr("rocdoctor.cli.commands.fix.this_machine", scratch.place)
    assert run(["fix", "--undo", str(tmp_path / "nothing")]) == 2
    assert "nothing: no folder of rocdoctor fix" in capsys.readouterr().err
    assert not scratch.state.exists()
