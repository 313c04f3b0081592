"""One rank of a smoke test; runs in the user's interpreter with torch and the standard library alone (Python 3.9+).

Usage: program.py MODE RANK WORLD BACKEND STORE_FILE RESULT_FILE. The result is one JSON object, written and flushed
before the process ends without running exit handlers: some torch builds abort there after all work is done.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from typing import Any

SEED, VOCABULARY, WIDTH, BATCH, STEPS = 7, 64, 32, 8, 2
# Largest absolute difference from one process on the whole batch, fp32: healthy runs stay at 2e-8 (gradients) and
# 5e-7 (loss); a skipped reduction shows 3.5e-2, one flipped bit 7.6e-6 (measured with torch 2.13.0, gloo, world 2).
TOLERANCE = {"loss": 5e-6, "grad": 1e-6, "param": 1e-6}


def _model(torch: Any) -> Any:
    torch.manual_seed(SEED)
    return torch.nn.Sequential(
        torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Flatten(), torch.nn.Linear(WIDTH * 4, WIDTH),
        torch.nn.Tanh(), torch.nn.Linear(WIDTH, VOCABULARY),
    )  # fmt: skip


def _batch(torch: Any) -> Any:
    generator = torch.Generator().manual_seed(SEED + 1)
    tokens = torch.randint(VOCABULARY, (BATCH, 4), generator=generator)
    return tokens, torch.randint(VOCABULARY, (BATCH,), generator=generator)


def _train(torch: Any, model: Any, tokens: Any, targets: Any) -> Any:
    """Losses and the gradients of the last step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(tokens), targets)
        loss.backward()
        losses.append(loss.detach())
        optimizer.step()
    return losses


def ddp(torch: Any, rank: int, world: int) -> Any:
    """DistributedDataParallel against one process on the whole batch: loss, every gradient, every parameter."""
    from torch.nn.parallel import DistributedDataParallel

    if BATCH % world:
        return {"state": "not-applicable", "message": f"the batch of {BATCH} does not divide by {world} ranks"}
    tokens, targets = _batch(torch)
    reference = _model(torch)
    wanted_losses = _train(torch, reference, tokens, targets)
    part = slice(rank * BATCH // world, (rank + 1) * BATCH // world)
    model = DistributedDataParallel(_model(torch))
    if os.environ.get("ROCDOCTOR_SMOKE_FAULT") == "no-sync":  # planted by the tests of this test
        model = model.module
    losses = _train(torch, model, tokens[part], targets[part])
    total = torch.stack(losses)
    torch.distributed.all_reduce(total)
    inner = getattr(model, "module", model)
    pairs = list(zip(inner.parameters(), reference.parameters()))  # noqa: B905 - strict= needs Python 3.10
    errors = {
        "loss": float((total / world - torch.stack(wanted_losses)).abs().max()),
        "grad": max(float((one.grad - two.grad).abs().max()) for one, two in pairs),
        "param": max(float((one - two).detach().abs().max()) for one, two in pairs),
    }
    bad = [name for name, value in errors.items() if not value <= TOLERANCE[name]]
    message = "" if not bad else f"{bad[0]} differs from the one-process reference by {errors[bad[0]]:.1e}"
    return {"state": "fail" if bad else "pass", "max_error": errors, "message": message, "tolerance": TOLERANCE}


MODES = {"ddp": ddp}


def main() -> None:
    mode, rank, world, backend, store_file, result_file = sys.argv[1:7]
    result: Any = {"rank": int(rank), "state": "crashed", "message": ""}
    try:
        import datetime

        import torch  # type: ignore[import-not-found, unused-ignore]
        import torch.distributed  # type: ignore[import-not-found, unused-ignore]

        torch.set_num_threads(1)
        store = torch.distributed.FileStore(store_file, int(world))  # type: ignore[attr-defined, unused-ignore]
        torch.distributed.init_process_group(
            backend, store=store, rank=int(rank), world_size=int(world), timeout=datetime.timedelta(seconds=20)
        )
        result["torch"] = torch.__version__
        if os.environ.get("ROCDOCTOR_SMOKE_FAULT") == f"hang:{rank}":  # planted by the tests of this test
            time.sleep(3600)
        result.update(MODES[mode](torch, int(rank), int(world)))
    except BaseException as error:
        result["message"] = f"{type(error).__name__}: {str(error)[:300]}"
        traceback.print_exc()
    with open(result_file + ".part", "w") as stream:
        json.dump(result, stream)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(result_file + ".part", result_file)
    os._exit(0 if result["state"] in ("pass", "not-applicable") else 1)


if __name__ == "__main__":
    main()
