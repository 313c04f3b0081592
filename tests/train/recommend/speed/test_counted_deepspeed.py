"""DeepSpeed's ZeRO stages, counted in the environment of its readers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.speed import transfers as model
from tests.kit import ROOT
from tests.train.emit.readers import venvs
from tests.train.recommend.spec_kit import changed


@pytest.mark.reader
def test_deepspeed_sends_what_the_model_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.train.recommend.counted.deepspeed_zero import MICRO, MODEL, PERSISTENT  # loads torch

    out = tmp_path / "counted.json"
    command: list[str | Path] = [venvs.reader("deepspeed"), "-W", "ignore", "-m", "torch.distributed.run"]
    command += ["--standalone", "--nproc-per-node=2", "-m", "tests.train.recommend.counted.deepspeed_zero", out]
    own = {"DS_ACCELERATOR": "cpu", "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": str(ROOT)}
    done = venvs.run(command, 600.0, ROOT, own)
    assert out.exists(), done.stderr[-3000:]
    found = json.loads(out.read_text())
    assert len(found) == 6
    # The thresholds of the run: the model is far below those that DeepSpeed has by default.
    monkeypatch.setattr(model, "PERSISTENT", PERSISTENT)
    for name, got in found.items():
        stage, reuse = name.split()
        monkeypatch.setattr(model, "REUSED", 500_000_000 if reuse == "True" else 0)
        parallel = {"dp": 2, "zero": int(stage)}
        spec = changed(
            model=MODEL, gpus=2, seq=16, micro_batch=2, grad_accum=MICRO, framework="deepspeed", parallel=parallel
        )
        wanted: Counter[str] = Counter()
        for one in model.transfers(solve(spec).work):
            wanted[f"dp {one.kind}"] += one.total
        assert got == dict(wanted), name
