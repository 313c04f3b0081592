"""How long ranks wait for each other: those of a launcher for a slow import, and no rank longer than the runner."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rocdoctor.train.smoke.nodes.local_ranks import Local
from rocdoctor.train.smoke.nodes.node_place import NodePlace
from rocdoctor.train.smoke.run.pool import START_LIMIT_S
from rocdoctor.train.smoke.worker import rank as ranks
from rocdoctor.train.smoke.worker import server
from rocdoctor.train.smoke.worker.rank import RankJob, meeting_s

NOW_S = 1000.0


def job(joined: bool, timeout_s: float, **more: Any) -> RankJob:
    """A rank as its plan tells it."""
    plan = {"world": 2, "backend": "gloo", "device": "cpu", "folder": "/x", "server": 1, "timeout_s": timeout_s}
    return RankJob({**plan, "joined": joined, **more}, 1)


@pytest.mark.parametrize("imported_s", [3.0, 60.0, 119.0])
def test_a_rank_that_imports_slowly_is_waited_for_and_the_runner_hears_of_one_that_never_comes(
    imported_s: float,
) -> None:
    one = job(True, 15.0, ready_by=NOW_S + START_LIMIT_S)
    wait_s = meeting_s(one, NOW_S + imported_s)
    assert wait_s >= 15.0
    if START_LIMIT_S - imported_s > 2 * 15.0:  # the runner's last word comes after theirs
        assert wait_s > 15.0
        assert START_LIMIT_S - 10.0 < imported_s + wait_s < START_LIMIT_S


def test_nobody_waits_less_than_in_a_mode_or_longer_without_a_launcher() -> None:
    assert meeting_s(job(True, 15.0), NOW_S) == 15.0
    assert meeting_s(job(True, 600.0, ready_by=NOW_S + START_LIMIT_S), NOW_S) == 600.0
    assert meeting_s(job(False, 15.0, ready_by=NOW_S + START_LIMIT_S), NOW_S) == 15.0


@pytest.mark.parametrize(
    ("joined", "shortens", "formed_s", "later_s"),
    [(True, True, 95.0, [15.0]), (True, False, 15.0, []), (False, True, 15.0, [])],
    ids=["launcher", "launcher, torch cannot shorten", "pool"],
)
def test_more_time_ends_when_all_have_met(
    monkeypatch: pytest.MonkeyPatch, joined: bool, shortens: bool, formed_s: float, later_s: list[float]
) -> None:
    told: list[float] = []
    shortened: list[float] = []
    inner = {"_set_pg_timeout": lambda timeout: shortened.append(timeout.total_seconds())} if shortens else {}
    dist = SimpleNamespace(
        distributed_c10d=SimpleNamespace(**inner),
        FileStore=lambda *_: None,
        init_process_group=lambda *_, timeout, **__: told.append(timeout.total_seconds()),
    )
    monkeypatch.setattr(ranks, "time", SimpleNamespace(monotonic=lambda: NOW_S))
    one = job(joined, 15.0, ready_by=NOW_S + 100.0)
    ranks.form(dist, one)
    assert (told, shortened) == ([formed_s], [])
    ranks.met(dist, one)
    assert shortened == later_s


def test_the_plan_of_a_launcher_tells_when_the_runner_stops_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    began_s = time.monotonic()
    plans: list[dict[str, Any]] = []

    def popen(command: list[str], **_: Any) -> SimpleNamespace:
        plans.append(json.loads(Path(command[-1]).read_text()))
        return SimpleNamespace(wait=lambda _: 0, pid=2**30)  # of no process

    monkeypatch.setattr(subprocess, "Popen", popen)
    local = Local("python3", NodePlace(0, 2, "127.0.0.1", 1))
    try:
        local.start(1, "gloo", "cpu", 15.0)
    finally:
        local.close()
    assert 0.0 <= plans[0]["ready_by"] - START_LIMIT_S - began_s <= time.monotonic() - began_s


@pytest.mark.parametrize(("joined", "wanted"), [(True, ["imported", "joined"]), (False, ["joined"])])
def test_what_modes_import_is_imported_before_ranks_on_nodes_meet(
    monkeypatch: pytest.MonkeyPatch, joined: bool, wanted: list[str]
) -> None:
    """A rank of a pool has it from the process that it was forked from."""
    pytest.importorskip("torch")
    done: list[str] = []

    def join(*_: Any) -> None:
        done.append("joined")
        raise ValueError("far enough")

    board = SimpleNamespace(begin=lambda _: None, mark=lambda _: None)
    monkeypatch.setattr(ranks, "boards", SimpleNamespace(Board=lambda *_: board))
    monkeypatch.setattr(ranks, "join", join)
    monkeypatch.setattr(server, "preload", lambda: done.append("imported"))
    with open(os.devnull, "wb") as events:
        ranks._serve(job(joined, 15.0), -1, events.fileno())
    assert done == wanted
