"""Which ranks run over several nodes, from what torch sees on each of them (constructed)."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.train.smoke.nodes import member
from rocdoctor.train.smoke.nodes.findings import NodeFinding
from rocdoctor.train.smoke.nodes.leader import Lead, Wish
from rocdoctor.train.smoke.nodes.node_facts import NodeFacts
from rocdoctor.train.smoke.nodes.node_place import NodePlace
from rocdoctor.train.smoke.run.runner import RunSetting


class Answer:
    """Another node that tells what torch sees there."""

    def __init__(self, gpus: int) -> None:
        self.gpus = gpus

    def say(self, **_: Any) -> bool:
        return True

    def wait(self, *_: Any) -> dict[str, Any]:
        return {"surveyed": {"gpus": self.gpus, "nccl": True, "gloo": True, "problem": "no device"}}

    def peer_address(self) -> str:
        return "198.51.100.2"

    def local_address(self) -> str:
        return "198.51.100.1"


def setting(
    monkeypatch: pytest.MonkeyPatch, gpus: tuple[int, int], wish: Wish, hip: str | None = "7.0"
) -> tuple[RunSetting | None, list[NodeFinding]]:
    """What is decided for two nodes with so many GPUs."""
    monkeypatch.setattr(member, "survey", lambda _: {"gpus": gpus[0], "nccl": True, "gloo": True, "problem": ""})
    facts = {node: NodeFacts(node, {"torch": "2.9.0", "hip": hip}, (), None, "198.51.100.1", {}) for node in (0, 1)}
    wires: Any = {1: Answer(gpus[1])}
    nobody: Any = None
    lead = Lead(NodePlace(0, 2, "198.51.100.1", 29500), wish, "python", nobody, wires, facts, "nccl", None)
    return lead._setting()


def test_a_rank_for_each_gpu_on_rccl(monkeypatch: pytest.MonkeyPatch) -> None:
    found, problems = setting(monkeypatch, (8, 8), Wish(()))
    assert found is not None and problems == []
    assert (found.world, found.backend, found.device, found.limit_s) == (16, "nccl", "cuda", 120.0)


def test_unequal_nodes_use_what_all_have_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    found, problems = setting(monkeypatch, (8, 6), Wish(()))
    assert found is not None and found.world == 12
    assert [(one.severity, one.nodes) for one in problems] == [("warning", (1,))]
    assert "8 on node 0; 6 on node 1" in problems[0].message


def test_a_node_without_gpus_leaves_gloo_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    found, problems = setting(monkeypatch, (8, 0), Wish(()))
    assert found is not None and (found.world, found.backend, found.device) == (2, "gloo", "cpu")
    assert "no device" in problems[0].remedy


def test_nccl_with_more_ranks_than_gpus_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found, problems = setting(monkeypatch, (1, 1), Wish((), backend="nccl", per_node=2))
    assert found is None
    assert problems[0].severity == "error"


def test_without_a_gpu_build_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    found, problems = setting(monkeypatch, (8, 8), Wish((), per_node=3), hip=None)
    assert found is not None and problems == []
    assert (found.world, found.backend, found.device) == (6, "gloo", "cpu")
    assert "GPUs" in found.untested
