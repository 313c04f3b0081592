"""The smoke test of DDP must pass on a healthy machine and catch what it is there to catch."""

from __future__ import annotations

import sys

import pytest

from rocdoctor.smoke.runner import run_mode

pytest.importorskip("torch")


def test_ddp_on_two_ranks_agrees_with_one_process() -> None:
    result = run_mode("ddp", 2, "gloo", sys.executable)
    assert result.state == "pass", result.message
    assert set(result.max_error) == {"loss", "grad", "param"}
    assert [rank["state"] for rank in result.ranks] == ["pass", "pass"]
    assert result.torch


def test_a_skipped_reduction_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCDOCTOR_SMOKE_FAULT", "no-sync")
    result = run_mode("ddp", 2, "gloo", sys.executable)
    assert (result.state, result.layer) == ("fail", "collectives")
    assert result.max_error["grad"] > 1e-3


def test_a_rank_that_hangs_is_named_and_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCDOCTOR_SMOKE_FAULT", "hang:1")
    result = run_mode("ddp", 2, "gloo", sys.executable, deadline_s=8.0)
    assert result.state == "crashed"
    assert "rank 1 gave no answer before the deadline" in [rank["message"] for rank in result.ranks]


def test_a_batch_that_does_not_divide_is_not_applicable() -> None:
    assert run_mode("ddp", 3, "gloo", sys.executable).state == "not-applicable"


def test_an_interpreter_without_torch_is_unknown_not_a_fault(tmp_path: object) -> None:
    result = run_mode("ddp", 2, "gloo", "/nonexistent/python")
    assert result.state == "unknown"
