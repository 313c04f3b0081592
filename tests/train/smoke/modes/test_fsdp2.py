"""FSDP2: right on a healthy machine; every planted fault is caught, and the rank it came from is named."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from rocdoctor.train.smoke.worker.context import Context
from rocdoctor.train.smoke.worker.mode import ModeNotApplicable
from rocdoctor.train.smoke.worker.modes.fsdp2 import trains
from tests.train.smoke import kit

pytest.importorskip("torch")
import torch

MODES = ("fsdp2", "fsdp2-no-reshard", "fsdp2-bf16", "fsdp2-hsdp", "fsdp2-checkpointing")
STAGES = {"before", "value", "local", "loss", "grad", "param"}


def _right(mode: str, world: int) -> None:
    result = kit.run(mode, world, beside=MODES)
    assert result.state == "pass", result.message
    assert set(result.max_error) >= STAGES
    assert all(result.max_error[name] <= result.tolerance[name] for name in result.max_error)
    assert result.facts["replicas"] * result.facts["shards"] == world


@pytest.mark.parametrize("mode", MODES)
def test_agrees_with_one_process(mode: str) -> None:
    _right(mode, 4)


@pytest.mark.heavy
@pytest.mark.parametrize("world", (1, 2, 3, 5, 8))
@pytest.mark.parametrize("mode", MODES)
def test_agrees_with_one_process_for_any_number_of_ranks(mode: str, world: int) -> None:
    if (mode, world) != ("fsdp2-hsdp", 1):
        _right(mode, world)


def test_what_each_rank_holds() -> None:
    assert kit.run("fsdp2", 2).facts == {"replicas": 1, "shards": 2, "elements_per_rank": 58_560 // 2}
    hybrid = kit.run("fsdp2-hsdp", 2)
    assert (hybrid.facts["shards"], hybrid.facts["elements_per_rank"]) == (1, 58_560)
    assert "4 or more" in hybrid.facts["untested"]


def test_without_a_gpu_there_is_nothing_to_offload_to() -> None:
    result = kit.run("fsdp2-offload")
    assert (result.state, result.message) == (
        "not-applicable",
        "needs a GPU: on the CPU there is nowhere to offload to",
    )


# fault, rank, mode, ranks, state, named, layer, words
Case = tuple[str, "int | str", str, int, str, "tuple[int, ...]", str, str]
FAULTS: tuple[Case, ...] = (
    ("stale-shard", 1, "fsdp2", 2, "fail", (1,), "device", "the parameters after step 0"),
    ("gather-sends-wrong", 1, "fsdp2", 2, "fail", (1,), "collectives", "what rank 1 sent is wrong at every rank"),
    ("scatter-nothing", 1, "fsdp2", 2, "fail", (1,), "collectives", "rank 1's share is missing"),
    ("scatter-sum", "all", "fsdp2", 2, "fail", (0, 1), "collectives", "it is 2 times the expected tensor"),
    ("fsdp2-splits-alone", "all", "fsdp2", 2, "fail", (0, 1), "framework", "has shape [128, 32] instead of [64, 32]"),
    ("fsdp2-precision-ignored", "all", "fsdp2-bf16", 2, "fail", (0, 1), "framework", "are torch.float32"),
    ("never-recomputes", "all", "fsdp2-checkpointing", 2, "fail", (0, 1), "framework", "ran 1 times instead of 2"),
    ("replicas-differ", 1, "fsdp2-hsdp", 2, "fail", (1,), "collectives", "the gradients of step 0"),
    ("gather-dies", 1, "fsdp2", 2, "crashed", (1,), "", "SIGKILL"),
)
MORE: tuple[Case, ...] = (
    ("shard-bit", 1, "fsdp2", 4, "fail", (1,), "device", "1 of"),
    ("shard-bit", 2, "fsdp2-no-reshard", 4, "fail", (2,), "device", "1 of"),
    ("shard-bit", 0, "fsdp2-bf16", 3, "fail", (0,), "device", "1 of"),
    ("shard-bit", 3, "fsdp2-hsdp", 4, "fail", (3,), "device", "1 of"),
    ("shard-bit", 1, "fsdp2-checkpointing", 2, "fail", (1,), "device", "1 of"),
    ("stale-shard", 1, "fsdp2-bf16", 4, "fail", (1,), "device", "the parameters after step 0"),
    ("forgotten-shard", 1, "fsdp2", 2, "fail", (1,), "device", "all values are zero"),
    ("gather-sends-wrong", 0, "fsdp2-bf16", 2, "fail", (0,), "collectives", "what rank 0 sent is wrong"),
    ("gather-sends-wrong", 1, "fsdp2-hsdp", 4, "fail", (1,), "collectives", "is wrong at ranks 0, 1"),
    # A part that one rank alone got wrong: either end of the way.
    ("gather-gets-wrong", 1, "fsdp2", 4, "fail", (0, 1), "collectives", "what rank 0 sent is wrong at rank 1"),
    ("scatter-twice", 1, "fsdp2", 4, "fail", (1,), "collectives", "rank 1's share counts 2 times"),
    ("scatter-twice", 1, "fsdp2-bf16", 4, "fail", (1,), "collectives", "rank 1's share counts 2 times"),
    ("scatter-twice", 2, "fsdp2-hsdp", 4, "fail", (2,), "collectives", "rank 2's share counts 2 times"),
    ("scatter-sum", 1, "fsdp2", 4, "fail", (1,), "collectives", "it is 4 times the expected tensor"),
    ("scatter-own", 1, "fsdp2", 4, "fail", (1,), "collectives", "nothing was added up"),
    ("scatter-own", "all", "fsdp2-bf16", 2, "fail", (0, 1), "collectives", "nothing was added up"),
    ("scatter-bit", 1, "fsdp2", 4, "fail", (1,), "collectives", "1 of"),
    ("scatter-bit", 1, "fsdp2-bf16", 4, "fail", (1,), "collectives", "1 of"),
    # The mean over replicas hands it on to the ranks with the same part.
    ("scatter-bit", 1, "fsdp2-hsdp", 4, "fail", (1, 3), "collectives", "1 of"),
    ("fsdp2-keeps-whole", "all", "fsdp2", 2, "fail", (0, 1), "framework", "still holds whole parameters"),
    ("fsdp2-keeps-whole", 1, "fsdp2", 4, "crashed", (1,), "framework", "entered reduce_scatter"),
    ("fsdp2-splits-nothing", "all", "fsdp2-hsdp", 4, "fail", (0, 1, 2, 3), "framework", "has shape [128, 32]"),
    ("fsdp2-freed-early", 1, "fsdp2-no-reshard", 4, "crashed", (1,), "framework", "storage of size 0"),
    ("fsdp2-precision-ignored", 1, "fsdp2-bf16", 4, "crashed", (1,), "framework", "rank 1 entered all_gather"),
    ("fsdp2-sums-short", "all", "fsdp2-bf16", 2, "fail", (0, 1), "framework", "added up in bf16 instead of fp32"),
    ("never-recomputes", 1, "fsdp2-checkpointing", 4, "fail", (1,), "framework", "ran 1 times instead of 2"),
)


def test_a_fault_is_seen_and_its_rank_named() -> None:
    assert not kit.wrong_of(FAULTS)


@pytest.mark.heavy
@pytest.mark.parametrize("case", MORE, ids=lambda case: "-".join(map(str, case[:4])))
def test_more_faults(case: Case) -> None:
    kit.check_fault(*case)


@pytest.mark.parametrize(
    ("release", "given", "words"),
    [
        ("2.8.0+cu128", 2.0, "its gradients are 2 times too large"),
        ("2.8.0+cu128", 1.0, ""),
        ("2.13.0+cpu", 2.0, ""),  # not asked: a mode must see it
    ],
)
def test_a_release_that_gives_sums_for_means_on_the_cpu_is_told_by_asking(
    monkeypatch: pytest.MonkeyPatch, release: str, given: float, words: str
) -> None:
    monkeypatch.setattr(torch, "__version__", release)
    monkeypatch.setattr(torch.distributed, "reduce_scatter_tensor", lambda own, *_, **__: own.fill_(given))
    board: Any = SimpleNamespace(mark=lambda _: None)
    context = Context(torch, 0, 2, torch.device("cpu"), "gloo", "", board, {})
    with pytest.raises(ModeNotApplicable, match=words) if words else contextlib.nullcontext():
        trains(context)
    monkeypatch.delattr(torch.cpu.Stream, "record_event")
    with pytest.raises(ModeNotApplicable, match="needs events that CPU streams do not have"):
        trains(context)
