"""The bytes of the model against the bytes that real gloo ranks handed to each collective and send."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.train.recommend.speed.traffic import share
from rocdoctor.train.recommend.speed.transfers import transfers
from tests.kit import ROOT
from tests.train.recommend.counted.jobs import JOBS, Job

pytest.importorskip("torch")

# After one start of torch: what sends another kind of thing, on two ranks, and on four some of those that need four.
MIXED = ("fsdp2 hybrid on 4", "fsdp2 pipeline tensor on 4", "fsdp2 experts sharded twice on 4")
KINDS = (
    *("ddp accumulated", "ddp tied fp32", "ddp lora", "ddp zero 1", "fsdp1 accumulated recomputed", "fsdp1 kept"),
    *("fsdp2 pure bf16", "fsdp2 tied", "fsdp2 recomputed", "fsdp2 sequence recomputed", "fsdp2 pipeline interleaved"),
    *("fsdp2 context recomputed", "ring recomputed", "fsdp2 experts recomputed"),
)
SOME = [JOBS[f"{name} on 2"] for name in KINDS] + [JOBS[name] for name in MIXED]
TWO = [job for job in JOBS.values() if job.world == 2 or job.name in MIXED]
FOUR = [job for job in JOBS.values() if job.world == 4]


def modelled(job: Job, rank: int) -> dict[str, int]:
    """What ``transfers`` says of a rank, in the words of the counter."""
    work = job.work
    found: Counter[str] = Counter()
    for one in transfers(work, rank // (job.world // work.parallel.pp)):
        # The ring is run by itself, without weights.
        if job.program != "ring" or one.group == "cp":
            found[f"{one.group} {one.kind}"] += one.total
    return dict(found)


def counted(jobs: Iterable[Job], folder: Path) -> dict[str, list[dict[str, int]]]:
    """What the ranks of each job counted, rank 0 first."""
    out = folder / "counted.json"
    command = [sys.executable, "-W", "ignore", "-m", "tests.train.recommend.counted.server", str(out)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(
        [*command, *(job.name for job in jobs)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, list[dict[str, int]]] = json.loads(out.read_text())
    return found


@pytest.mark.parametrize(
    "jobs",
    [
        pytest.param(SOME, id="every-kind"),
        pytest.param(TWO, id="two-ranks", marks=pytest.mark.heavy),
        pytest.param(FOUR, id="four-ranks", marks=pytest.mark.heavy),
    ],
)
def test_the_model_counts_what_gloo_ranks_hand_over(jobs: list[Job], tmp_path: Path) -> None:
    assert {job.name for job in jobs} >= set(MIXED)
    found = counted(jobs, tmp_path)
    wrong = {
        f"{job.name}, rank {rank}": {"counted": got, "model": modelled(job, rank)}
        for job in jobs
        for rank, got in enumerate(found[job.name])
        if got != modelled(job, rank)
    }
    assert not wrong, json.dumps(wrong, indent=1)
    assert {job.name for job in jobs} == set(found)
    assert all(len(found[job.name]) == job.world and found[job.name][0] for job in jobs)


@pytest.mark.parametrize("world", [pytest.param(2, marks=pytest.mark.heavy), 4])
def test_the_wire_carries_the_share_of_the_payload_that_a_ring_moves(world: int) -> None:
    """The loopback device of an empty network namespace, by its own counter; headers and notices are the 2 %."""
    command = ["unshare", "-rn", sys.executable, "-W", "ignore", "-m", "tests.train.recommend.counted.wire", str(world)]
    try:
        allowed = subprocess.run(["unshare", "-rn", "true"], capture_output=True, timeout=60, check=False)
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    if allowed.returncode:
        pytest.skip("no network namespace may be made here")
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, stdin=subprocess.DEVNULL, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[Any, tuple[int, int]] = json.loads(done.stdout)
    assert len(found) == 6
    for kind, (payload, carried) in found.items():
        # gloo reduces everywhere and keeps a part; NCCL and RCCL scatter on the way.
        asked: Any = "all_reduce" if kind == "reduce_scatter" else kind
        assert carried == pytest.approx(world * share(asked, world) * payload, rel=0.02), kind
