"""Protocols are forced one by one: the finding names the one that is wrong, and what to set."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.parsers.own.smoke_results import ModeResult
from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.run.pool import ModeRecord, RankRecord
from rocdoctor.train.smoke.run.protocols import forced
from rocdoctor.train.smoke.run.runner import RunSetting, _by_protocol, _start, modes_named
from tests.train.smoke import kit

pytest.importorskip("torch")
import torch.distributed as dist

from tests.train.smoke.planted.faults import Active, wrap


def wrong_by_protocol(active: Active) -> None:
    """LL and LL128 lose the last value; Tree is not there at all."""
    import os

    if os.environ.get("NCCL_ALGO") == "Tree":
        raise RuntimeError("planted: no tree")

    def around(original: Any, tensor: Any, *args: Any, **keywords: Any) -> Any:
        kept = tensor.view(-1)[-1].clone()
        work = original(tensor, *args, **keywords)
        if active() and os.environ.get("NCCL_PROTO") in ("LL", "LL128"):
            tensor.view(-1)[-1] = kept
        return work

    wrap(dist, "broadcast", around)


def test_the_protocol_that_is_wrong_is_named_with_the_setting_that_avoids_it() -> None:
    pool = kit.healthy_pool()
    kit.plant(wrong_by_protocol, 1, "one-to-all")
    setting = RunSetting(2, "gloo", "cpu", 20.0)
    judge(_start(pool, setting))
    usual = judge(pool.run("one-to-all", 20.0))
    assert usual.state == "pass", usual.message
    tried: list[dict[str, str]] = []

    def start(variables: dict[str, str]) -> ModeRecord:
        tried.append(variables)
        return _start(pool, setting, variables)

    found = forced(usual, pool, start, 20.0)
    pool.stop_ranks()
    assert (found.state, found.named) == ("fail", (1,)), found.message
    assert found.message.startswith("wrong with NCCL_PROTO=LL, right with Simple: set NCCL_PROTO=Simple; ")
    assert "NCCL_ALGO" not in found.message
    assert {"NCCL_PROTO": "Simple"} in tried
    assert {"NCCL_PROTO": "LL128"} not in tried  # not safe on every sound machine


class Pretended:
    """Ranks that come up with every setting; those in ``wrong`` and what nobody has forced deliver wrong values."""

    def __init__(self, *wrong: str) -> None:
        self.surroundings = {"NCCL_ALGO": "Ring"}
        self._wrong, self._now = wrong, ""

    def start(self, variables: dict[str, str]) -> ModeRecord:
        self._now = variables["NCCL_PROTO"]
        return self._record("start", [])

    def run(self, mode: str, limit_s: float) -> ModeRecord:
        fault = {"stage": "value", "step": 0, "turn": 0, "name": "sum", "words": f"is wrong with {self._now}"}
        return self._record(mode, [fault] if self._now in self._wrong else [])

    def _record(self, mode: str, faults: list[Any]) -> ModeRecord:
        result = {"state": "fail" if faults else "pass", "faults": faults}
        ranks = tuple(RankRecord(rank, result=result) for rank in range(2))
        return ModeRecord(mode, 0.1, ranks, False)


@pytest.mark.parametrize(
    ("wrong", "words"),
    (
        (("LL128",), "wrong with NCCL_PROTO=LL128, right with LL, Simple: set NCCL_PROTO=LL,Simple; "),
        # Each alone is right and both together are not: another thing than the protocol is wrong.
        (("LL128", "LL,Simple"), ""),
        (("LL", "LL128", "Simple"), ""),
    ),
)
def test_where_values_are_wrong_only_a_setting_that_helps_is_advised(wrong: tuple[str, ...], words: str) -> None:
    pretended: Any = Pretended(*wrong)
    usual = ModeResult("all-reduce", "fail", 0.1, "every rank: wrong", layer="collectives")
    assert forced(usual, pretended, pretended.start, 1.0).message == words + usual.message


def test_only_exchanges_are_tried_and_healthy_ones_by_the_largest_messages_alone() -> None:
    modes = {one.name: one for one in modes_named((), True)}
    tried = {(name, state) for name, one in modes.items() for state in ("pass", "fail") if _by(one, state)}
    assert ("large-messages", "pass") in tried and ("all-reduce", "fail") in tried
    assert ("all-reduce", "pass") not in tried and not any(name == "ddp" for name, _ in tried)


def _by(mode: Any, state: Any) -> bool:
    return _by_protocol(mode, ModeResult(mode.name, state, 1.0, "", layer="collectives"))
