"""Modes by launchers of others: right on a healthy machine, and every planted fault is caught. Minutes in all."""

from __future__ import annotations

import importlib.metadata

import pytest

from rocdoctor.train.smoke.run.pool import MOST_STRETCHED
from rocdoctor.train.smoke.worker.mode import all_modes
from tests.train.smoke import launch_kit as kit

pytest.importorskip("torch")
pytestmark = pytest.mark.heavy


def _skip_without_packages(mode: str) -> None:
    chosen = next(one for one in all_modes() if one.name == mode)
    assert chosen.launch is not None
    for name in chosen.launch.packages:
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pytest.skip(f"{name} is not installed")


@pytest.mark.parametrize("world", (2, 4))
@pytest.mark.parametrize(
    "mode",
    (
        *("elastic", "accelerate", "megatron-tensor-parallel", "deepspeed-ulysses"),
        *(f"deepspeed-zero-{stage}" for stage in (*range(4), "hpz")),
    ),
)
def test_agrees_with_one_process(mode: str, world: int) -> None:
    _skip_without_packages(mode)
    result = kit.run(mode, world=world, limit_s=300.0)
    assert result.state == "pass", result.message
    compared = {"value", "grad"} if mode == "deepspeed-ulysses" else {"loss", "param"}  # that one has no optimizer
    assert compared <= set(result.max_error)
    assert all(result.max_error[name] <= result.tolerance[name] for name in result.max_error)


@pytest.mark.parametrize(
    ("mode", "fault", "rank", "state", "layer", "named", "words"),
    [
        ("elastic", "no-restart", "all", "crashed", "framework", (), "rank 1 had ended itself as planned"),
        ("elastic", "old-checkpoint", 0, "fail", "framework", (0, 1), "resumes at step 1 instead of 2"),
        ("elastic", "no-moments", 1, "fail", "framework", (1,), "exp_avg"),
        ("elastic", "old-weights", 1, "fail", "framework", (1,), "head.weight"),
        ("elastic", "killed", 1, "crashed", "", (1,), "was ended by signal 9 (SIGKILL)"),
        ("elastic", "apart", "all", "fail", "collectives", (0, 1), "nothing was exchanged"),
        ("accelerate", "plain", "all", "fail", "configuration", (), "1 process was started"),
        ("accelerate", "apart", "all", "fail", "collectives", (0, 1), "nothing was exchanged"),
        ("accelerate", "killed", 1, "crashed", "", (1,), "SIGKILL"),
        ("deepspeed-zero-1", "one-gpu", "all", "fail", "configuration", (), "1 process was started"),
        ("deepspeed-zero-0", "silent-sums", "all", "fail", "collectives", (0, 1), "the gradients of step 0"),
        ("deepspeed-zero-1", "silent-sums", "all", "fail", "collectives", (0, 1), "the parameters after step 0"),
        ("deepspeed-zero-3", "silent-sums", "all", "fail", "collectives", (0, 1), "the parameters after step 0"),
        ("deepspeed-zero-hpz", "silent-sums", "all", "fail", "collectives", (0, 1), "the parameters after step 0"),
        ("deepspeed-zero-hpz", "second-copy-off", 1, "fail", "framework", (1,), "second copy of"),
        ("deepspeed-ulysses", "parts-reversed", 1, "fail", "collectives", (1,), "query of this rank's heads"),
        ("deepspeed-zero-2", "killed", 1, "crashed", "", (1,), "exits with return code = -9"),
        ("megatron-tensor-parallel", "bit", 1, "fail", "collectives", (1,), "sum of the parts of the embedding"),
        ("megatron-tensor-parallel", "silent-sums", "all", "fail", "collectives", (0, 1), "2144 of 4096"),
    ],
)
def test_a_planted_fault_is_caught(
    mode: str, fault: str, rank: int | str, state: str, layer: str, named: tuple[int, ...], words: str
) -> None:
    _skip_without_packages(mode)
    result = kit.run(mode, fault, rank, limit_s=300.0)
    assert (result.state, result.layer, result.named) == (state, layer, named), result.message
    assert words in result.message


@pytest.mark.parametrize("rank", (0, 1))
def test_a_rank_that_never_joins_is_named_in_time(rank: int) -> None:
    result = kit.run("elastic", "never-joins", rank, limit_s=20.0)
    assert (result.state, result.layer, result.named) == ("crashed", "framework", (rank,)), result.message
    assert result.wall_s < 20.0 * MOST_STRETCHED + 2.0  # where the machine is busy, else 2 s after the deadline
