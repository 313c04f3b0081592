"""The program that traces, run in an interpreter with torch, and the command that uses it."""

from __future__ import annotations

import json
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from rocdoctor.cli.main import run
from rocdoctor.host.base import Answer
from rocdoctor.host.live import memory_tracing
from rocdoctor.host.live.memory_tracing import trace_memory
from rocdoctor.host.probe import memory_trace
from rocdoctor.train.recommend.estimate import efficiency, solve
from rocdoctor.train.recommend.memory.trace import Traced, heard, memory, read, request
from tests.train.recommend.spec_kit import changed

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
SMALL = {"layers": 8, "hidden": 256, "heads": 4, "kv_heads": 2, "ffn": 512, "vocab": 1000}
LIMIT_S = 240.0


def small(**fields: Any) -> dict[str, Any]:
    return changed(model=SMALL, seq=128, framework="fsdp2", gpus=4, parallel={"fsdp": 4}, **fields)


@cache
def plain() -> Answer:
    """The trace of a small model, once: starting torch and tracing two depths takes seconds."""
    return trace_memory(sys.executable, request(solve(small()).work), LIMIT_S)


def _interpreter(folder: Path, body: str) -> str:
    """A program in place of an interpreter."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.heavy
@needs_torch
def test_eight_layers_from_four_and_five_are_eight_layers_traced() -> None:
    work = solve(small(recompute="full", grad_accum=2)).work
    answer = trace_memory(sys.executable, {**request(work), "layers": [4, 5, 8]}, LIMIT_S)
    depths = json.loads(answer.text)["depths"]
    carried = read(json.dumps({"torch": "2", "depths": depths[:2]}), 8)
    whole = read(json.dumps({"torch": "2", "depths": depths[2:]}), 8)
    assert isinstance(carried, Traced) and isinstance(whole, Traced)
    assert carried == whole
    # The inner layers, which are not carried over, have no higher peak than those at the ends.
    assert max(size for _, _, size in depths[2]["parts"]) == max(whole.parts.values())


@needs_torch
def test_what_lives_before_the_step_is_the_sharded_weights() -> None:
    work = solve(small()).work
    told = heard(plain(), 8)
    assert isinstance(told, Traced)
    # 256 x (256 + 128 + 128 + 256) + 3 x 256 x 512 + 2 x 256 a layer, 2 x 1000 x 256 + 256 outside, fp32, over 4 ranks.
    weights = 4 * (8 * (256 * 768 + 3 * 256 * 512 + 512) + 2 * 256_000 + 256) / 4
    assert weights <= told.static < 1.15 * weights  # inputs and rounding to 512 B are small
    found = memory(work, solve(small()).memory, told, efficiency()["memory"])
    assert found.live_peak > max(told.parts.values())


@pytest.mark.parametrize("broken", [None, "raise OSError('libamdhip64.so.7: cannot open shared object file')"])
def test_an_interpreter_without_torch_is_named_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str | None
) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    if broken is None:
        monkeypatch.setitem(sys.modules, "torch", None)
    else:
        (tmp_path / "torch.py").write_text(broken)
        monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(memory_trace.Unavailable) as told:
        memory_trace.trace(request(solve(small()).work))
    assert sys.executable in str(told.value) and "--python PATH" in str(told.value)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo no torch here; exit 1", "status 1"),
        ("kill -9 $$", "status -9"),
        ("sleep 60", "did not end in time"),
    ],
)
def test_an_interpreter_that_cannot_trace_gives_a_reason(tmp_path: Path, body: str, words: str) -> None:
    told = heard(trace_memory(_interpreter(tmp_path, body), {}, 1.0 if "sleep" in body else 60.0), 8)
    assert isinstance(told, str) and words in told


def test_the_command_falls_back_to_the_closed_form_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(yaml.safe_dump(changed(parallel={"tp": 8}, framework="fsdp2")))
    assert run(["estimate", str(path), "--json"]) == 0
    closed = json.loads(capsys.readouterr().out)
    assert "trace" not in closed
    assert run(["estimate", str(path), "--json", "--trace"]) == 0
    told = json.loads(capsys.readouterr().out)
    trace = told.pop("trace")
    assert told == closed
    assert trace["state"] == "unavailable" and "tensor parallelism" in trace["why"]
    assert run(["estimate", str(path), "--trace"]) == 0
    assert "tensor parallelism is not traced" in " ".join(capsys.readouterr().out.split())


@needs_torch
def test_the_command_uses_the_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def kept(python: str, asked: Any, limit_s: float, trust: bool) -> Answer:
        assert not trust
        assert (python, asked) == (sys.executable, request(solve(small()).work))
        assert limit_s > 10
        return plain()

    monkeypatch.setattr(memory_tracing, "trace_memory", kept)
    path = tmp_path / "spec.yaml"
    path.write_text(yaml.safe_dump(small()))
    assert run(["estimate", str(path), "--json", "--trace", "--python", sys.executable]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["trace"]["state"] == "used" and told["trace"]["torch"]
    assert told["memory_gib"]["live_peak"] == told["trace"]["live_peak"]
