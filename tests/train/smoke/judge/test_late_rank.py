"""Who is late: only a rank that does nothing, outside every collective, while all others wait or are done."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.train.smoke.judge.late_rank import Lateness, innermost_frames, waits
from rocdoctor.train.smoke.run.processes import has_children

IN_COLLECTIVE = (
    'Stack (most recent call first):\n  File "/x/torch/distributed/distributed_c10d.py", line 9 in all_reduce\n'
)
IN_DISPATCHER = 'Stack:\n  File "/x/torch/_ops.py", line 1 in __call__\n' + IN_COLLECTIVE.split("\n", 1)[1]
ASLEEP = (
    'Stack (most recent call first):\n  File "/x/user/train.py", line 3 in load\n  File "/x/b.py", line 4 in main\n'
)


def test_what_waiting_looks_like() -> None:
    assert waits(IN_COLLECTIVE)
    assert waits(IN_DISPATCHER)
    # In torch 2.13 a differentiable collective passes through torch/_library/autograd.py as well.
    assert waits(IN_DISPATCHER.replace("torch/_ops.py", "torch/_library/autograd.py"))
    for name in ("_verify_param_shape_across_processes", "_sync_params_and_buffers"):
        assert waits(f'Stack:\n  File "/x/torch/distributed/utils.py", line 286 in {name}\n{ASLEEP}')
    assert not waits(ASLEEP)
    assert not waits("")
    assert innermost_frames(ASLEEP) == "train.py:3 load < b.py:4 main"


class Looks(Lateness):
    """Ranks as a test states them: rank -> (stack, idle)."""

    def __init__(self, world: int) -> None:
        super().__init__(Path("/nonexistent"), dict.fromkeys(range(world), 0))
        self.now: dict[int, tuple[str, bool]] = {}

    def _stacks(self, ranks: Any) -> dict[int, str]:
        return {rank: self.now[rank][0] for rank in ranks}

    def _is_idle(self, rank: int, now: float) -> bool:
        return self.now[rank][1]


def late(*looks: dict[int, tuple[str, bool]], world: int = 3) -> set[int]:
    seen = Looks(world)
    for one in looks:
        seen.now = one
        seen.look(list(one))
    return set(seen.seconds)


WAITING = (IN_COLLECTIVE, True)


def test_a_rank_that_sleeps_while_all_wait_is_late_at_the_second_look() -> None:
    state = {0: WAITING, 1: (ASLEEP, True), 2: WAITING}
    assert late(state) == set()
    assert late(state, state) == {1}
    assert late({1: (ASLEEP, True)}, {1: (ASLEEP, True)}) == {1}  # the others are done


@pytest.mark.parametrize(
    "state",
    [
        {0: WAITING, 1: (ASLEEP, False), 2: WAITING},  # it computes, or wants to
        {0: (ASLEEP, True), 1: (ASLEEP, True), 2: (ASLEEP, True)},  # nobody waits for it
        {0: WAITING, 1: WAITING, 2: WAITING},
        {0: WAITING, 1: (ASLEEP, True), 2: (ASLEEP, False)},  # another one is still at work
        {0: (IN_COLLECTIVE, False), 1: (ASLEEP, True), 2: WAITING},  # its backward pass computes: nobody waits yet
    ],
)
def test_everything_else_is_not_late(state: dict[int, tuple[str, bool]]) -> None:
    assert late(state, state, state) == set()


def test_two_looks_must_agree() -> None:
    first, second = {0: WAITING, 1: (ASLEEP, True), 2: WAITING}, {0: WAITING, 1: WAITING, 2: (ASLEEP, True)}
    assert late(first, second, first) == set()


def _started(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_a_rank_with_a_process_at_work_is_not_idle(tmp_path: Path) -> None:
    code = "import subprocess, sys; c = subprocess.Popen(['sleep', '60']); print(1, flush=True); input(); c.kill()"
    rank, lone = _started(code), _started("print(1, flush=True); input()")
    try:
        for one in (rank, lone):
            assert one.stdout is not None
            one.stdout.readline()
        assert has_children(rank.pid)
        assert not has_children(lone.pid)
        seen = Lateness(tmp_path, {0: rank.pid, 1: lone.pid})
        found: list[bool] = []
        for _ in range(50):  # two looks: the first knows no earlier one
            found = [seen._is_idle(number, time.monotonic()) for number in (0, 1)]
            assert found[0] is False
            if found[1]:
                break
            time.sleep(0.1)
        assert found == [False, True]
    finally:
        for one in (rank, lone):
            one.communicate(b"\n")
