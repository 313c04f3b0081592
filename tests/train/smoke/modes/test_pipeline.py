"""Pipelines: right on a healthy machine; a wrong, swapped or lost micro-batch is named with the stage it met."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from rocdoctor.train.smoke.worker.mode import ModeNotApplicable
from rocdoctor.train.smoke.worker.modes import pipeline
from tests.train.smoke import kit

pytest.importorskip("torch")
MODES = tuple(mode.name for mode in pipeline.MODES)


def _agrees(mode: str, world: int, beside: Sequence[str] = MODES) -> None:
    result = kit.run(mode, world, beside=beside)
    assert result.state == "pass", result.message
    assert set(result.max_error) == {"input", "before", "local", "value", "loss", "grad", "param"}
    assert all(result.max_error[name] <= result.tolerance[name] for name in result.max_error)


QUICK = dict.fromkeys(MODES, 2) | {"pipeline-1f1b": 3, "pipeline-interleaved-1f1b": 4}


@pytest.mark.parametrize("mode", MODES)
def test_agrees_with_one_process(mode: str) -> None:
    _agrees(mode, QUICK[mode], [one for one in MODES if QUICK[one] == QUICK[mode]])


@pytest.mark.heavy
@pytest.mark.parametrize("world", (2, 3, 4, 8))
@pytest.mark.parametrize("mode", MODES)
def test_agrees_with_one_process_on_any_number_of_ranks(mode: str, world: int) -> None:
    _agrees(mode, world)


def test_one_rank_is_no_pipeline() -> None:
    assert kit.run("pipeline-1f1b", 1).state == "not-applicable"


FAULTS = [
    ("pp-received-bit", 2, "pipeline-1f1b", (1, 2), "collectives", "input of stage 2, micro-batch 1"),
    ("pp-received-gradient-bit", 1, "pipeline-zero-bubble", (1, 2), "collectives", "gradient for the output of"),
    ("pp-swapped-sends", 1, "pipeline-gpipe", (1, 2), "collectives", "it equals that of micro-batch 1"),
    ("pp-swapped-inputs", 0, "pipeline-1f1b", (0,), "framework", "it equals that of micro-batch 1"),
    ("pp-swapped-targets", 3, "pipeline-gpipe", (3,), "framework", "loss of micro-batch 0"),
    ("pp-not-scaled", 2, "pipeline-1f1b", (2,), "framework", "4 times the expected"),
    ("compute-bit", 3, "pipeline-looped-bfs", (3,), "device", "output of stage 3, micro-batch 0"),
]


def test_a_fault_of_one_rank_is_named_with_its_micro_batch() -> None:
    assert not kit.wrong_of(
        [(fault, rank, mode, 4, "fail", named, layer, words) for fault, rank, mode, named, layer, words in FAULTS]
    )


# A rank that sends nothing forward, or holds no first or last stage, cannot have the fault; a swap needs two sends in
# a row, which these schedules have.
_EVERYWHERE = ("pp-received-bit", "pp-received-gradient-bit", "pp-not-scaled", "compute-bit")


@pytest.mark.heavy
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fault", _EVERYWHERE)
def test_every_fault_is_named_in_every_schedule(fault: str, mode: str) -> None:
    result = kit.planted(fault, 1, mode, world=3)
    assert result.state == "fail"
    assert 1 in result.named
    assert len(result.named) <= 2, result.message


def test_another_schedule_than_the_one_asked_for_is_no_success() -> None:
    result = kit.planted("pp-other-schedule", "all", "pipeline-1f1b", world=3)
    assert (result.state, result.layer) == ("fail", "framework"), result.message
    assert "schedule: kept 6 micro-batches in flight, not at most" in result.message


@pytest.mark.heavy
def test_what_one_micro_batch_added_may_not_be_lost() -> None:
    result = kit.planted("pp-lost-backward", 2, "pipeline-gpipe", world=4)
    assert (result.state, result.named, result.layer) == ("fail", (2,), "framework"), result.message


@pytest.mark.heavy
def test_a_stage_that_hangs_is_named() -> None:
    result = kit.planted("pp-hangs", 1, "pipeline-1f1b", world=4, limit_s=6.0)
    assert (result.state, result.named, result.layer) == ("crashed", (1,), "framework"), result.message


def test_stages_cover_the_model_and_ranks_hold_them_in_turn() -> None:
    blocks = [number for stage in range(3) for number in pipeline.PipelineStage(stage, 3, 4).blocks]
    assert blocks == [0, 1, 2, 3]
    assert pipeline.holders_of(3, 2, "loop") == [0, 1, 2, 0, 1, 2]
    assert pipeline.holders_of(3, 2, "v") == [0, 1, 2, 2, 1, 0]


def test_a_schedule_that_torch_does_not_have_names_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.distributed import pipelining
    from torch.distributed.pipelining import schedules

    def need(holds: Any, words: str) -> None:
        if not holds:
            raise ModeNotApplicable(words)

    for owner in (pipelining, schedules):
        monkeypatch.delattr(owner, "ScheduleDualPipeV", raising=False)
    with pytest.raises(ModeNotApplicable, match=r"needs torch 2\.9: ScheduleDualPipeV"):
        pipeline.schedule_class(SimpleNamespace(need=need), "ScheduleDualPipeV")  # type: ignore[arg-type]
