"""Protocols are forced one by one: the finding names the one that is wrong, and what to set."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.parsers.own.smoke_results import ModeResult
from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.run.protocols import forced
from rocdoctor.train.smoke.run.runner import RunSetting, _by_protocol, _start, modes_named
from tests.train.smoke import kit

pytest.importorskip("torch")
import torch.distributed as dist

from tests.train.smoke.planted.faults import Active, wrap


def wrong_by_protocol(active: Active) -> None:
    """LL128 loses the last value; Tree is not there at all."""
    import os

    if os.environ.get("NCCL_ALGO") == "Tree":
        raise RuntimeError("planted: no tree")

    def around(original: Any, tensor: Any, *args: Any, **keywords: Any) -> Any:
        kept = tensor.view(-1)[-1].clone()
        work = original(tensor, *args, **keywords)
        if active() and os.environ.get("NCCL_PROTO") == "LL128":
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
    found = forced(usual, pool, lambda variables: _start(pool, setting, variables), 20.0)
    pool.stop_ranks()
    assert (found.state, found.named) == ("fail", (1,)), found.message
    assert found.message.startswith("wrong with NCCL_PROTO=LL128, right with LL, Simple: set NCCL_PROTO=LL,Simple; ")
    assert "NCCL_ALGO" not in found.message


def test_only_exchanges_are_tried_and_healthy_ones_by_the_largest_messages_alone() -> None:
    modes = {one.name: one for one in modes_named((), True)}
    tried = {(name, state) for name, one in modes.items() for state in ("pass", "fail") if _by(one, state)}
    assert ("large-messages", "pass") in tried and ("all-reduce", "fail") in tried
    assert ("all-reduce", "pass") not in tried and not any(name == "ddp" for name, _ in tried)


def _by(mode: Any, state: Any) -> bool:
    return _by_protocol(mode, ModeResult(mode.name, state, 1.0, "", layer="collectives"))
