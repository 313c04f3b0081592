"""``python -m tests.train.recommend.counted.server OUT NAME...``: run the jobs named, all of one world, and write OUT.

OUT is a JSON object: of each job the list of what its ranks counted, rank 0 first. torch is imported once; each world
is forked from this process. A rank that fails ends the others; its traceback is on stderr, and the status is 1.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from tests.train.recommend.counted.jobs import JOBS, Job
from tests.train.recommend.counted.programs import PROGRAMS

file_store: Any = dist.FileStore  # type: ignore[attr-defined]
_DEADLINE_S = 60


def _rank(folder: Path, rank: int, world: int, jobs: list[Job]) -> None:
    store = file_store(str(folder / f"store-{world}"), world)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=timedelta(seconds=_DEADLINE_S))
    found: dict[str, Any] = {}
    for job in jobs:
        torch.manual_seed(5)
        began = time.monotonic()
        try:
            found[job.name] = dict(PROGRAMS[job.program](job.work))
        except Exception:
            print(f"{job.name}, rank {rank}", file=sys.stderr)
            raise
        if os.environ.get("COUNTED_TIMES") and rank == 0:
            print(f"{time.monotonic() - began:.2f} s  {job.name}", file=sys.stderr)
    (folder / f"{world}-{rank}.json").write_text(json.dumps(found))


def _fork(folder: Path, rank: int, world: int, jobs: list[Job]) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        _rank(folder, rank, world, jobs)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        # Threads of gloo may abort at an ordinary exit, after all is done.
        os._exit(status)


def _world(folder: Path, world: int, jobs: list[Job]) -> list[dict[str, Any]]:
    children = [_fork(folder, rank, world, jobs) for rank in range(world)]
    running, failed = set(children), False
    while running:
        child, status = os.wait()
        running.discard(child)
        if status and not failed:
            failed = True
            for other in running:
                os.kill(other, 9)
    if failed:
        raise SystemExit(1)
    return [json.loads((folder / f"{world}-{rank}.json").read_text()) for rank in range(world)]


def main() -> None:
    """Run the jobs named, world by world."""
    out, names = Path(sys.argv[1]), sys.argv[2:]
    jobs = [JOBS[name] for name in names]
    found: dict[str, list[Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for world in sorted({job.world for job in jobs}):
            ranks = _world(Path(folder), world, [job for job in jobs if job.world == world])
            for name in ranks[0]:
                found[name] = [one[name] for one in ranks]
    out.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
