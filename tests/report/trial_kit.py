"""Trials that were never run: depths whose memory and steps are so many times the estimate."""

from __future__ import annotations

from typing import Any

from rocdoctor.parsers.own.smoke_results import ModeResult, RankResult, SmokeRun
from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.smoke.plan.depths import guess
from rocdoctor.train.smoke.plan.order import cut
from rocdoctor.train.smoke.plan.outcome import Outcome, outcome

GIB = 2.0**30
SPEC: dict[str, Any] = {
    "model": "llama-3-8b",
    "gpu": "MI300X",
    "gpus": 2,
    "seq": 4096,
    "micro_batch": 2,
    "parallel": {"fsdp": 2},
    "framework": "fsdp2",
    "recompute": "full",
    "precision": "bf16",
}
RANKS = (RankResult(0, "pass", gpu="0000:03:00.0"), RankResult(1, "pass", gpu="0000:83:00.0"))


def depth(
    layers: int, times: float, seconds: float, more: float = 0.0, others: float = 0.0, **told_too: Any
) -> ModeResult:
    """A depth whose memory and step are so many times the estimate; rank 1 holds ``more`` bytes beyond.

    ``others``: bytes of other programs on the GPUs; ``told_too``: further facts.
    """
    told = guess(cut(solve(SPEC).work, layers))
    assert told.step_s is not None
    rows = [
        {
            "seconds": [seconds * told.step_s],
            "live_bytes": times * told.memory.live_peak + own,
            "reserved_bytes": times * told.memory.reserved + own,
            "outside_bytes": 2 * GIB + others,
        }
        for own in (0.0, more)
    ]
    facts = {"layers": layers, "vocab": 128256, "trials": rows, **told_too}
    return ModeResult(f"plan of {layers} layers", "pass", 3.0, facts=facts, ranks=RANKS)


def tried(*modes: ModeResult, device: str = "cuda") -> Outcome:
    run = SmokeRun(2, "nccl", device, "2.9.0+rocm6.4", 42.0, modes, notes=("a note",))
    return outcome(SPEC, run, "2026-11-28")


def lost(state: Any, message: str, **facts: Any) -> ModeResult:
    ranks = (RankResult(0, "crashed", "lost another rank"), RankResult(1, "crashed", message, named=True))
    named = {"layers": 4, "vocab": 128256, **facts}
    return ModeResult("plan of 4 layers", state, 9.0, message, ranks=ranks, facts=named)
