"""The pager says how to come back: people who do not know less are lost in it."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from rocdoctor.host.live import pager


def test_the_pager_says_how_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[dict[str, Any]] = []
    monkeypatch.delenv("PAGER", raising=False)
    monkeypatch.setattr(pager, "find_helper", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(subprocess, "run", lambda argv, **options: ran.append({"argv": argv, **options}))
    pager.page("a report")
    (one,) = ran
    assert one["argv"] == ["/usr/bin/less"] and one["input"] == b"a report"
    assert "-Psq returns to the screens" in one["env"]["LESS"] and one["env"]["LESSSECURE"] == "1"
