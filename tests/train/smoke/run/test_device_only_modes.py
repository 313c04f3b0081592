"""Modes that need GPUs: graphs around collectives, symmetric memory, async tensor parallel; on GPUs that a device layer
stands in for (no streams, no kernels of the GPU), and what they say where they do not apply."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.parsers.own.smoke_results import SmokeRun
from rocdoctor.train.smoke.run.request import Request
from rocdoctor.train.smoke.worker.modes import symmetric
from tests.train.smoke import kit
from tests.train.smoke.stand_in_kit import StandIn, gpus_of

pytest.importorskip("torch")

MODES = ("captured-collectives", "symmetric-memory", "async-tensor-parallel")


def _run(folder: Path, **told: Any) -> SmokeRun:
    machine = StandIn(folder, gpus_of("mi300x-8gpu")[:2], fault_gpu=1, **told)
    return machine.run(Request(modes=MODES, deadline_s=40.0))[0]


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("captured-collectives", "needs GPUs: a graph records GPU work"),
        ("symmetric-memory", "needs GPUs: it is memory of a GPU that other GPUs map"),
        ("async-tensor-parallel", "needs GPUs: it is memory of a GPU that other GPUs map"),
    ],
)
def test_on_the_cpu_they_say_what_they_need(mode: str, words: str) -> None:
    result = kit.run(mode)
    assert (result.state, result.named) == ("not-applicable", ())
    assert words in result.message


def test_sockets_for_handles_are_where_nobody_else_can_make_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/tmp")
    symmetric.keep_sockets_in("/" + "x" * 90)
    assert os.environ["TMPDIR"] == "/tmp", "torch does not cut a name that is too long"
    symmetric.keep_sockets_in("/tmp/rocdoctor-smoke-1/2")
    assert os.environ["TMPDIR"] == "/tmp/rocdoctor-smoke-1/2"


@pytest.mark.heavy
def test_on_gpus_all_of_them_agree_with_what_was_worked_out(tmp_path: Path) -> None:
    found = _run(tmp_path)
    assert [(one.mode, one.state, one.message) for one in found.modes] == [(name, "pass", "") for name in MODES]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"peer_access": False}, "needs peer access: GPU 0 does not reach the memory of GPU 1"),
        ({"fault": "none-built"}, "this build of torch, or the driver, has none: CUDASymmetricMemory requires"),
    ],
)
def test_without_peer_access_or_in_another_build_they_do_not_apply(
    tmp_path: Path, told: dict[str, Any], words: str
) -> None:
    found = _run(tmp_path, **told)
    assert [one.state for one in found.modes] == ["pass", "not-applicable", "not-applicable"]
    assert all(words in one.message for one in found.modes[1:])


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("fault", "mode", "named", "words"),
    [
        ("graph-sums-lost", "captured-collectives", (1,), "sum over all ranks, replay 0"),
        ("graph-first-inputs", "captured-collectives", (1,), "what this rank gives to the sum, replay 0"),
        ("peer-read-off", "symmetric-memory", (), "memory of rank 0, read from here"),
        ("peer-write-lost", "symmetric-memory", (), "what rank 1 wrote into this rank's memory"),
        ("one-shot-off", "symmetric-memory", (1,), "sum by one_shot_all_reduce"),
        ("fused-gather-off", "async-tensor-parallel", (1,), "product 1 of gathered rows in torch.float32"),
        ("fused-scatter-off", "async-tensor-parallel", (1,), "this rank's rows of the sum of products"),
    ],
)
def test_a_fault_is_named(tmp_path: Path, fault: str, mode: str, named: tuple[int, ...], words: str) -> None:
    found = {one.mode: one for one in _run(tmp_path, fault=fault).modes}
    wrong = found.pop(mode)
    layer = "device" if fault == "graph-first-inputs" else "link"
    assert (wrong.state, wrong.named, wrong.layer) == ("fail", named, layer), wrong.message
    assert words in wrong.message
    assert {one.state for one in found.values()} == {"pass"}
