"""``python -m tests.train.recommend.counted.deepspeed_zero OUT`` under torchrun: what a step of each ZeRO stage sends.

Run by an interpreter that has DeepSpeed. OUT is a JSON object of rank 0: stage, and whether weights stay gathered until
they are used again (its default, as the model is small): what was counted in a step of two micro-batches.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from rocdoctor.train.recommend.model.shapes import Model
from tests.train.recommend.counted.counter import Counting
from tests.train.recommend.counted.decoder import Decoder, loss_of

MODEL: dict[str, Any] = {
    "name": "dense",
    "layers": 4,
    "hidden": 36,
    "heads": 4,
    "kv_heads": 2,
    "head_dim": 9,
    "ffn": 90,
    "vocab": 145,
}
MICRO, PERSISTENT = 2, 1000


def _counted(deepspeed: Any, stage: int, reuse: bool) -> dict[str, int]:
    zero: dict[str, Any] = {"stage": stage, "stage3_param_persistence_threshold": PERSISTENT}
    if not reuse:
        zero |= dict.fromkeys(
            ("stage3_max_reuse_distance", "stage3_max_live_parameters", "stage3_prefetch_bucket_size"), 0
        )
    model = Decoder(Model(**MODEL))
    engine, *_ = deepspeed.initialize(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters()),
        config={
            "train_micro_batch_size_per_gpu": 2,
            "gradient_accumulation_steps": MICRO,
            "bf16": {"enabled": True},
            "zero_optimization": zero,
            "zero_allow_untested_optimizer": True,
            "zero_force_ds_cpu_optimizer": False,
        },
    )
    tokens = torch.randint(MODEL["vocab"], (2, 16))

    def step() -> None:
        for _ in range(MICRO):
            engine.backward(loss_of(engine(tokens), tokens))
            engine.step()

    step()  # stage 3 learns the order of modules
    step()
    group: Any = dist.group.WORLD
    counting = Counting({group.group_name: "dp"})
    with counting:
        step()
    return dict(counting.found)


def main() -> None:
    """Count each stage, and write what rank 0 found."""
    deepspeed: Any = importlib.import_module("deepspeed")
    deepspeed.init_distributed("gloo", verbose=False)
    found = {f"{stage} {reuse}": _counted(deepspeed, stage, reuse) for stage in (1, 2, 3) for reuse in (False, True)}
    if dist.get_rank() == 0:
        Path(sys.argv[1]).write_text(json.dumps(found))
    dist.barrier()
    sys.stdout.flush()
    # Threads of gloo may abort at an ordinary exit, after all is done.
    os._exit(0)


if __name__ == "__main__":
    main()
