"""The pager says how to come back: people who do not know less are lost in it."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from rocdoctor.host.live import pager


def _paged(monkeypatch: pytest.MonkeyPatch, root: bool) -> dict[str, Any]:
    ran: list[dict[str, Any]] = []
    monkeypatch.setattr(pager, "find_helper", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(pager, "privileged", lambda: root)
    monkeypatch.setattr(subprocess, "run", lambda argv, **options: ran.append({"argv": argv, **options}))
    pager.page("a report")
    (one,) = ran
    return one


def test_root_runs_no_words_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """PAGER of another user, as su leaves it, had root run a script of theirs: sh is root's, its words are not."""
    monkeypatch.setenv("PAGER", "sh /home/u/evil.sh")
    assert _paged(monkeypatch, root=True)["argv"] == ["/usr/bin/less"]
    assert _paged(monkeypatch, root=False)["argv"] == ["/usr/bin/sh", "/home/u/evil.sh"]


def test_the_pager_says_how_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAGER", raising=False)
    one = _paged(monkeypatch, root=False)
    assert one["argv"] == ["/usr/bin/less"] and one["input"] == b"a report"
    assert "-Psq returns to the screens" in one["env"]["LESS"] and one["env"]["LESSSECURE"] == "1"
