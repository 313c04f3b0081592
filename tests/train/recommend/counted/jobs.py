"""What is run and counted: name, ranks, program and specification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.model.spec import Work

# Grouped queries, and no dimension divides by 4 that need not, so that padding is seen.
DENSE: dict[str, Any] = {
    "name": "dense",
    "layers": 4,
    "hidden": 36,
    "heads": 4,
    "kv_heads": 2,
    "head_dim": 9,
    "ffn": 90,
    "vocab": 145,
}
EVEN = {**DENSE, "name": "even", "layers": 2, "hidden": 32, "head_dim": 8, "kv_heads": 4, "ffn": 88, "vocab": 144}


@dataclass(frozen=True, slots=True)
class Job:
    """``mixed``: several kinds of parallelism at once, which two ranks cannot have."""

    name: str
    world: int
    program: str
    spec: Mapping[str, Any]
    mixed: bool = False

    @property
    def work(self) -> Work:
        """The specification read and completed."""
        return solve(self.spec).work


MOE: dict[str, Any] = {
    "name": "experts",
    "layers": 3,
    "hidden": 32,
    "heads": 4,
    "kv_heads": 4,
    "head_dim": 8,
    "ffn": 64,
    "vocab": 144,
    "experts": 4,
    "top_k": 2,
    "expert_ffn": 23,
    "dense_layers": 1,
}
TIED = {**DENSE, "name": "tied", "tied": True, "gated": False, "bias": True, "norm": "layer", "norm_bias": True}


def _job(name: str, world: int, program: str, mixed: bool = False, **fields: Any) -> Job:
    spec = {
        "model": DENSE,
        "gpu": {"name": "MI300X"},
        "gpus": world,
        "seq": 16,
        "micro_batch": 2,
        "recompute": "none",
        "precision": "bf16",
        "framework": {"ring": "megatron"}.get(program, program),
        **fields,
    }
    return Job(f"{program} {name} on {world}", world, program, spec, mixed)


def _data(world: int) -> list[Job]:
    full = {"fsdp": world}
    return [
        _job("plain", world, "ddp", parallel={"dp": world}),
        _job("accumulated", world, "ddp", parallel={"dp": world}, grad_accum=3),
        _job("tied fp32", world, "ddp", parallel={"dp": world}, model=TIED, precision="fp32"),
        _job("pure bf16", world, "ddp", parallel={"dp": world}, precision="pure bf16"),
        _job("lora", world, "ddp", parallel={"dp": world}, method="lora", lora_rank=4),
        _job("zero 1", world, "ddp", parallel={"dp": world, "zero": 1}, grad_accum=2),
        _job("full", world, "fsdp2", parallel=full),
        _job("fp32", world, "fsdp2", parallel=full, precision="fp32"),
        _job("pure bf16", world, "fsdp2", parallel=full, precision="pure bf16"),
        _job("tied", world, "fsdp2", parallel=full, model=TIED),
        _job("kept", world, "fsdp2", parallel={**full, "strategy": "SHARD_GRAD_OP"}),
        _job("accumulated", world, "fsdp2", parallel=full, grad_accum=3),
        _job("recomputed", world, "fsdp2", parallel=full, recompute="full"),
        _job("lora", world, "fsdp2", parallel=full, method="lora", lora_rank=4),
        _job("full", world, "fsdp1", parallel=full),
        _job("fp32", world, "fsdp1", parallel=full, precision="fp32"),
        _job("kept", world, "fsdp1", parallel={**full, "strategy": "SHARD_GRAD_OP"}),
        _job("accumulated recomputed", world, "fsdp1", parallel=full, grad_accum=2, recompute="full"),
        _job("tied", world, "fsdp1", parallel=full, model=TIED),
        _job("tensor", world, "fsdp2", parallel={"tp": world, "sp": False}, model=EVEN),
        _job("sequence", world, "fsdp2", parallel={"tp": world}, model=EVEN),
        _job("sequence recomputed", world, "fsdp2", parallel={"tp": world}, recompute="full", grad_accum=2, model=EVEN),
        *(
            _job(
                f"pipeline {name}",
                world,
                "fsdp2",
                parallel={"pp": world, "schedule": name},
                grad_accum=2 * world,
                model={**DENSE, "layers": 9},
                micro_batch=1,
            )
            for name in ("gpipe", "1f1b", "interleaved", "zbv")
        ),
        _job("context", world, "fsdp2", parallel={"cp": world, "fsdp": 1}),
        _job("context recomputed", world, "fsdp2", parallel={"cp": world, "fsdp": 1}, recompute="full"),
        _job("plain", world, "ring", parallel={"cp": world}),
        _job("recomputed", world, "ring", parallel={"cp": world}, recompute="full", grad_accum=2),
        _job("experts", world, "fsdp2", parallel={**full, "ep": world}, model=MOE),
        _job("experts recomputed", world, "fsdp2", parallel={**full, "ep": world}, model=MOE, recompute="full"),
        _job("experts sharded", world, "fsdp2", parallel=full, model=MOE),
    ]


def _mixed() -> list[Job]:
    return [
        _job("hybrid", 4, "fsdp2", True, parallel={"fsdp": 2, "replicate": 2}, grad_accum=2),
        _job("sharded tensor", 4, "fsdp2", True, parallel={"fsdp": 2, "tp": 2, "sp": False}, model=EVEN),
        _job("sharded sequence", 4, "fsdp2", True, parallel={"fsdp": 2, "tp": 2}, grad_accum=2, model=EVEN),
        _job("pipeline sharded", 4, "fsdp2", True, parallel={"fsdp": 2, "pp": 2}, grad_accum=4),
        _job(
            "pipeline interleaved sharded",
            4,
            "fsdp2",
            True,
            grad_accum=4,
            model={**DENSE, "layers": 5},
            parallel={"fsdp": 2, "pp": 2, "schedule": "interleaved"},
        ),
        _job("pipeline tensor", 4, "fsdp2", True, parallel={"tp": 2, "pp": 2}, grad_accum=4, model=EVEN),
        _job("experts sharded twice", 4, "fsdp2", True, parallel={"fsdp": 4, "ep": 2}, model=MOE),
        _job("two experts", 4, "fsdp2", True, parallel={"fsdp": 4}, model={**MOE, "experts": 2, "expert_ffn": 24}),
        _job("context sharded", 4, "fsdp2", True, parallel={"cp": 2, "fsdp": 2}),
    ]


JOBS = {job.name: job for job in [*_data(2), *_data(4), *_mixed()]}
