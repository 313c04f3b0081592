"""No file that is written opens a port where a stranger gets code run, and files that open ports say so."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.knowledge.load import knowledge_folder
from rocdoctor.train.emit.targets import TARGETS, Order, target
from tests.train.emit.plan_kit import fleet, plan

# Rendezvous whose state is a pickle in a store that asks nobody: torch's c10d over TCP, which --standalone is too.
_PICKLES = ("--standalone", "c10d", "etcd")
_STARTS = ("  torchrun\n", '- "torchrun"\n')


def _commands(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("# "))


@pytest.mark.parametrize("nodes", [1, 2])
def test_ranks_meet_without_pickles(nodes: int) -> None:
    started = set()
    for name in TARGETS:
        one: Any = target(name)
        try:
            found = one.files(plan(fleet(nodes=nodes), framework=one.FRAMEWORKS[0]), Order())
        except (ValueError, AttributeError):
            assert name in ("compose", "profile")
            continue
        for file in found:
            assert not [word for word in _PICKLES if word in _commands(file.text)], file.name
            if name == "accelerate" or any(word in _commands(file.text) for word in _STARTS):
                started.add(name)
                told = " ".join(file.text.replace("\n#", "").replace("\n", " ").split())
                assert "torch does not check who connects to its ports" in told, file.name
                if name == "accelerate" and file.name.endswith(".yaml"):
                    assert ("--rdzv_conf store_type=file" in told) is (nodes == 1)
                    assert ("only you can write to" in told) is (nodes == 1)
    wanted = {"torchrun", "accelerate", "trl", "llamafactory", "torchtitan", "megatron", "slurm", "kubernetes"}
    assert started >= wanted


def test_no_command_of_the_tables_opens_such_a_port() -> None:
    lines = [line for path in knowledge_folder().glob("*.yaml") for line in path.read_text().splitlines()]
    printed = [line for line in lines if line.lstrip().startswith(("command:", "- command:", "fix:"))]
    assert len(printed) > 100
    assert not [line for line in printed if any(word in line for word in _PICKLES[:1])]
