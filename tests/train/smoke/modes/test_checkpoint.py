"""Sharded checkpoints: every number equal after another sharding; a wrong file, reader or rank is named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rocdoctor.train.smoke.worker.context import Context
from rocdoctor.train.smoke.worker.modes import checkpoint
from tests.train.smoke import kit

pytest.importorskip("torch")
import torch

MODES = ("checkpoint", "checkpoint-shapes", "checkpoint-resize")


def _equal(mode: str, world: int) -> None:
    result = kit.run(mode, world)
    assert result.state == "pass", result.message
    assert {"local": 0.0, "value": 0.0}.items() <= result.max_error.items()


@pytest.mark.parametrize(("mode", "world"), [("checkpoint", 4), ("checkpoint-resize", 3)])
def test_parameters_and_moments_are_equal(mode: str, world: int) -> None:
    _equal(mode, world)


@pytest.mark.heavy
@pytest.mark.parametrize("world", (1, 2, 3, 4, 5, 8))
@pytest.mark.parametrize("mode", MODES)
def test_parameters_and_moments_are_equal_for_any_number_of_ranks(mode: str, world: int) -> None:
    if (mode, world) != ("checkpoint-resize", 1):
        _equal(mode, world)


# fault, rank, mode, ranks, state, named, layer, words
Case = tuple[str, "int | str", str, int, str, "tuple[int, ...]", str, str]
FAULTS: tuple[Case, ...] = (
    ("checkpoint-file", 1, "checkpoint", 4, "fail", (1,), "configuration", "head.weight, written and read back"),
    ("checkpoint-read", 1, "checkpoint", 4, "fail", (1,), "framework", "head.weight in two replicas"),
    ("checkpoint-full", 1, "checkpoint", 4, "crashed", (1,), "configuration", "No space left on device"),
    ("checkpoint-cut", 1, "checkpoint", 4, "fail", (1,), "configuration", "bytes too early"),
    ("old-view", 1, "checkpoint", 4, "fail", (1,), "configuration", "while the rank that wrote it reads it whole"),
    ("may-not-read", 1, "checkpoint", 4, "crashed", (1,), "configuration", "PermissionError"),
)
MORE: tuple[Case, ...] = (
    ("checkpoint-moment", 1, "checkpoint", 2, "fail", (1,), "configuration", "head.weight, exp_avg, written"),
    ("checkpoint-no-moments", "all", "checkpoint", 2, "fail", (0, 1), "framework", "nothing was loaded"),
    ("checkpoint-damaged", 1, "checkpoint", 2, "fail", (1,), "configuration", "cannot be read (BadZipFile: Bad CRC-32"),
    ("checkpoint-garbled", 1, "checkpoint", 4, "fail", (1,), "configuration", "cannot be read"),
    ("checkpoint-cut", 1, "checkpoint-resize", 4, "fail", (1,), "configuration", "bytes too early"),
    ("old-view", 1, "checkpoint-resize", 4, "fail", (1,), "configuration", "while the rank that wrote it reads it"),
    ("reads-nothing", 1, "checkpoint", 2, "fail", (1,), "framework", "nothing was loaded"),
    ("no-more-files", 1, "checkpoint", 2, "crashed", (1,), "configuration", "no more files could be opened"),
    ("checkpoint-dies", 1, "checkpoint", 4, "crashed", (1,), "", "SIGKILL"),
    ("fsdp2-splits-nothing", "all", "checkpoint", 2, "fail", (0, 1), "framework", "is not split among the ranks"),
    ("checkpoint-file", 2, "checkpoint-shapes", 4, "fail", (2,), "configuration", "written and read back"),
    ("checkpoint-read", 1, "checkpoint-shapes", 3, "fail", (1,), "framework", "a model that is not split"),
    ("checkpoint-file", 3, "checkpoint-resize", 4, "fail", (3,), "configuration", "written and read back"),
    ("checkpoint-read", 1, "checkpoint-resize", 4, "fail", (1,), "framework", "saved by half, loaded by all"),
)


# Each on ranks of its own: what wrote a file wrongly goes on doing so.
@pytest.mark.parametrize("case", FAULTS, ids=lambda case: "-".join(map(str, case[:4])))
def test_a_fault_is_seen_and_its_rank_named(case: Case) -> None:
    kit.check_fault(*case)


@pytest.mark.heavy
@pytest.mark.parametrize("case", MORE, ids=lambda case: "-".join(map(str, case[:4])))
def test_more_faults(case: Case) -> None:
    kit.check_fault(*case)


def test_what_is_saved_needs_no_step_that_a_rank_may_compute_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.optim.AdamW, "step", None)
    board: Any = SimpleNamespace(mark=lambda _text: None)
    one, two = (
        checkpoint._made(Context(torch, rank, 2, torch.device("cpu"), "gloo", "", board, {})) for rank in (0, 1)
    )
    assert one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)
    assert "head.weight, exp_avg_sq" in one
