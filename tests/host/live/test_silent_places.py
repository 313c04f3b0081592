"""Named files and folders that give no answer: found by a thread that is left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rocdoctor.host.live import silent_places
from rocdoctor.host.live.named_path import open_named
from rocdoctor.host.live.silent_places import silent_place
from rocdoctor.host.live.user_mounts import served_below
from tests.sick.kit import GIVE_UP_S


def _hanging_at(silent: str, go: threading.Event) -> Callable[[Path], int]:
    def opened(path: Path) -> int:
        if str(path) == silent:
            go.wait(GIVE_UP_S)
            raise FileNotFoundError
        return open_named(path)

    return opened


def test_what_gives_no_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    monkeypatch.setattr(silent_places, "open_named", _hanging_at("/gone/a", go))
    try:
        assert silent_place(["/gone/a"], 0.01) == "/gone/a"
    finally:
        go.set()


def test_what_answers_is_not_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    assert silent_place([str(tmp_path), str(tmp_path / "a"), str(tmp_path / "none"), "a\0b", ""], GIVE_UP_S) == ""


def test_mounts_below_a_folder_that_others_serve() -> None:
    mounts = (
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "2 1 0:40 / /data/nfs\\040a rw shared:1 - nfs4 nas:/v rw\n"
        "3 1 0:41 / /data/auto rw - autofs systemd-1 rw\n"
        "4 1 0:42 / /database rw - fuse.sshfs x rw\n"
        "5 1 0:43 / /data/tmp rw - tmpfs none rw\n"
    )
    assert served_below("/data", mounts) == ["/data/nfs a"]
    assert served_below("/", mounts) == ["/data/nfs a", "/database"]
