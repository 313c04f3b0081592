"""Code of folders that others can change is not run."""

from __future__ import annotations

import importlib.util
import os
import py_compile
from pathlib import Path

import pytest

from rocdoctor.cli.main import run
from rocdoctor.host.live import trust
from rocdoctor.host.live.trust import untrusted
from rocdoctor.judging import loading
from rocdoctor.judging.loading import CheckLoadError, load_check
from tests.kit import ROOT

FIXTURE = str(ROOT / "fixtures" / "rx580.capture")
CHECK = '''"""A problem that a test looks for.

Why
    because

Fix
    none

References
    none
"""
from pathlib import Path
from rocdoctor.judging.check import check, info, whole_machine

Path(__file__).with_name("ran").write_text("x")


@check(whole_machine)
def own_one(machine):
    return info("it ran")
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "checks"
    made.mkdir(mode=0o755)
    (made / "own_one.py").write_text(CHECK)
    (made / "own_one.py").chmod(0o644)
    return made


def _ran(folder: Path) -> bool:
    return (folder / "ran").exists()


def test_a_folder_of_the_user_is_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert untrusted(folder, [folder / "own_one.py"]) == ""
    assert run(["check", "own-one", "--from", FIXTURE, "--checks", str(folder)]) == 1
    assert "it ran" in capsys.readouterr().out
    assert _ran(folder)


@pytest.mark.parametrize("which", ["", "own_one.py"], ids=["folder", "file"])
def test_what_everybody_can_change_is_refused(folder: Path, which: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / which).chmod(0o777)
    assert run(["check", "own-one", "--from", FIXTURE, "--checks", str(folder)]) == 2
    said = capsys.readouterr().err
    assert f"{(folder / which).resolve()} can be changed by everybody" in said
    assert "chmod o-w" in said
    assert not _ran(folder)


def test_a_folder_below_one_that_everybody_can_change_is_refused_unless_it_is_sticky(folder: Path) -> None:
    folder.parent.chmod(0o777)
    assert "can be changed by everybody" in untrusted(folder)
    folder.parent.chmod(0o1777)
    assert untrusted(folder) == ""
    folder.parent.chmod(0o755)


def test_a_link_is_judged_by_where_it_leads(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "x.py").write_text("")
    (tmp_path / "open").chmod(0o777)
    (folder / "linked.py").symlink_to(tmp_path / "open" / "x.py")
    assert str(tmp_path / "open") in untrusted(folder, [folder / "linked.py"])
    (tmp_path / "link").symlink_to(tmp_path / "open")
    assert "can be changed by everybody" in untrusted(tmp_path / "link")


def test_what_belongs_to_somebody_else_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        os.chown(folder / "own_one.py", 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert "and code of somebody else is not run" in untrusted(folder, [folder / "own_one.py"])


def test_a_fifo_or_device_is_no_check(folder: Path) -> None:
    os.mkfifo(folder / "pipe.py")
    assert "neither a file nor a folder" in untrusted(folder, [folder / "pipe.py"])


def test_an_open_configuration_folder_is_left_out_and_the_run_goes_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rocdoctor").mkdir()
    folder.rename(tmp_path / "rocdoctor" / "checks")
    place = tmp_path / "rocdoctor" / "checks"
    place.chmod(0o777)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert run(["check", "--from", FIXTURE, "--fail-on", "never", "--json"]) == 0
    assert "can be changed by everybody" in capsys.readouterr().out
    assert not _ran(place)


def test_the_source_that_was_judged_is_run_and_no_byte_code(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = tmp_path / "evil.py"
    evil.write_text(CHECK.replace('with_name("ran")', 'with_name("evil")'))
    kept = Path(importlib.util.cache_from_source(str(folder / "own_one.py")))
    kept.parent.mkdir()
    py_compile.compile(str(evil), str(kept), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    before = kept.read_bytes()
    assert run(["check", "own-one", "--from", FIXTURE, "--checks", str(folder)]) == 1
    assert "it ran" in capsys.readouterr().out
    assert _ran(folder)
    assert not (folder / "evil").exists()
    assert kept.read_bytes() == before
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


def test_a_file_that_is_exchanged_between_judging_and_reading_is_not_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "own_one.py"

    def exchanged(*_: object) -> str:
        (folder / "other").write_text("")
        (folder / "other").rename(path)
        return ""

    monkeypatch.setattr(trust, "untrusted", exchanged)
    with pytest.raises(OSError, match="exchanged"):
        trust.read_code(path)


def test_a_check_imports_nothing_from_its_own_folder(folder: Path) -> None:
    (folder / "_own_helper.py").write_text("")
    for statement in ("import _own_helper", "from . import _own_helper", "import own_two"):
        (folder / "own_two.py").write_text(statement)
        with pytest.raises(CheckLoadError, match=r"own_two\.py: "):
            load_check(folder / "own_two.py")


def test_our_own_checks_lose_their_byte_code_where_everybody_may_write_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "checks_folder", lambda: folder)
    kept = folder / "__pycache__"
    ours = loading._byte_code_is_ours.__wrapped__
    assert ours(folder)
    assert not ours(folder.parent)
    kept.mkdir(mode=0o755)
    assert ours(folder)
    kept.chmod(0o777)
    assert not ours(folder)
