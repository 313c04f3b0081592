from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rocdoctor.cli import run
from rocdoctor.commands.bundle import _write_new
from rocdoctor.host.capture import parse
from tests.kit import ROOT


def _fixture() -> str:
    found = sorted((ROOT / "fixtures").glob("rx*.capture"))
    return str(found[0])


def test_a_bundle_holds_the_report_and_every_answer_and_belongs_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    assert run(["bundle", "--from", _fixture(), "-o", str(path)]) == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    capture = parse(path.read_bytes())
    assert capture.summary.strip()
    assert "list /sys/bus/pci/devices/*" in capture.answers


def test_nothing_is_overwritten_and_no_link_is_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "b.txt"
    path.write_text("mine")
    assert run(["bundle", "--from", _fixture(), "-o", str(path)]) == 2
    assert path.read_text() == "mine"
    assert "never overwritten" in capsys.readouterr().err
    link = tmp_path / "link.txt"
    os.symlink(tmp_path / "target.txt", link)
    assert run(["bundle", "--from", _fixture(), "-o", str(link)]) == 2
    assert not (tmp_path / "target.txt").exists()


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rocdoctor.cli import UsageError

    class _Full:
        def __enter__(self) -> _Full:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def write(self, _: str) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("builtins.open", lambda *_, **__: _Full())
    with pytest.raises(UsageError, match="No space left"):
        _write_new(str(tmp_path / "b.txt"), "text")
    assert not (tmp_path / "b.txt").exists()


def test_a_bundle_of_a_bundle_gives_the_same_report(tmp_path: Path) -> None:
    first, second = tmp_path / "1.txt", tmp_path / "2.txt"
    assert run(["bundle", "--from", _fixture(), "-o", str(first)]) == 0
    assert run(["bundle", "--from", str(first), "-o", str(second)]) == 0
    one, two = parse(first.read_bytes()), parse(second.read_bytes())
    assert one.summary == two.summary
    assert {q: a.data for q, a in one.answers.items()} == {q: a.data for q, a in two.answers.items()}
