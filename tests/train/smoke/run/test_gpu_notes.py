"""What is said of GPUs before a run, which of them it takes, and what compilers leave behind: pure, no ranks."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rocdoctor.train.smoke.judge.slow_gpus import slow_gpus
from rocdoctor.train.smoke.run.gpu_notes import busy, hidden, one_of_each, partitions
from rocdoctor.train.smoke.run.kernel_caches import compiling
from rocdoctor.train.smoke.run.pool import RankRecord
from rocdoctor.train.smoke.worker.modes.device import _pace, _partners


def _parts(gpus: int, each: int) -> list[dict[str, Any]]:
    return [{"index": number, "pci": f"0000:{number // each:02x}:00.0"} for number in range(gpus * each)]


def test_devices_are_spread_over_gpus_only_where_several_share_one() -> None:
    assert one_of_each(_parts(8, 8), 8) == tuple(range(0, 64, 8))
    assert one_of_each(_parts(2, 4), 3) == (0, 4, 1)
    assert one_of_each(_parts(8, 1), 4) == ()
    assert one_of_each(_parts(1, 8), 4) == ()  # all in one GPU: there is no other
    assert one_of_each(_parts(2, 2), 4) == ()
    assert one_of_each([{"index": 0, "pci": None}, {"index": 1, "pci": None}], 1) == ()
    assert (partitions(_parts(8, 8)), partitions(_parts(8, 1)), partitions([{"index": 0}])) == (8, 0, 0)


def test_only_what_somebody_uses_is_busy() -> None:
    idle = {"index": 0, "memory_bytes": 100 << 30, "free_bytes": 99 << 30}
    assert busy([idle, {**idle, "free_bytes": 81 << 30}, {"index": 1}]) == ()
    (half,) = busy([{**idle, "free_bytes": 50 << 30}])
    assert "too little" not in half
    (full,) = busy([{**idle, "free_bytes": 1 << 30}])
    assert "1.0 of 100.0 GiB of memory free before the test, which may be too little: something else may use it" in full


def test_memory_that_a_gpu_shares_with_the_system_accuses_no_program() -> None:
    shared = {"index": 0, "memory_bytes": 100 << 30, "free_bytes": 50 << 30, "integrated": True}
    assert busy([shared]) == ()
    (few,) = busy([{**shared, "free_bytes": 1 << 30}])
    assert few.endswith("which may be too little: the system has it too")


def test_only_the_variables_of_this_vendor_hide_gpus() -> None:
    assert hidden({"HIP_VISIBLE_DEVICES": "0"}, False, 8) == ()
    assert hidden({"PATH": "/"}, True, 8) == ()
    # It may name all that there are.
    (named,) = hidden({"HIP_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}, True, 8)
    assert named.endswith("torch sees 8 GPUs, others, if any, are not tested")
    assert hidden({"CUDA_VISIBLE_DEVICES": ""}, False, 0) == (
        "torch sees no GPU: CUDA_VISIBLE_DEVICES= may hide all of them",
    )


def test_kernels_count_as_being_compiled_only_while_files_still_come(tmp_path: Path) -> None:
    cache = tmp_path / ".triton" / "cache" / "abc"
    cache.mkdir(parents=True)
    kernel, home = cache / "kernel.hsaco", {"HOME": str(tmp_path)}
    kernel.touch()
    for at_s, words in ((1110.0, "1 file came into"), (1050.0, ""), (990.0, ""), (1200.0, "")):
        os.utime(kernel, (at_s, at_s))
        told = compiling(home, 1000.0, 120.0, now_s=1120.0)
        assert (words in told) if words else told == "", at_s
    os.utime(kernel, (1110.0, 1110.0))
    assert str(cache.parent) in compiling({"TRITON_CACHE_DIR": str(cache.parent)}, 1000.0, 120.0, now_s=1120.0)
    assert compiling({}, 1000.0, 120.0, now_s=1120.0) == ""


def _paced(rank: int, pace_ms: float, gpu: str = "MI300X") -> RankRecord:
    return RankRecord(
        rank, gpu=f"0000:0{rank}:00.0", result={"state": "pass", "facts": {"pace_ms": pace_ms, "gpu": gpu}}
    )


def test_a_gpu_is_slow_only_beside_equal_ones() -> None:
    three = [_paced(0, 1.0), _paced(1, 1.1), _paced(2, 2.6)]
    assert "rank 2 (GPU 0000:02:00.0) takes 2.4 times as long" in slow_gpus(three)
    assert slow_gpus([_paced(0, 1.0), _paced(1, 1.1), _paced(2, 1.9)]) == ""
    assert slow_gpus([_paced(0, 1.0), _paced(1, 3.0)]) == ""  # of two none is the usual one
    assert slow_gpus([_paced(0, 1.0), _paced(1, 1.1), _paced(2, 9.0, "MI210")]) == ""


class _Timed:
    """A host and a GPU with clocks of their own: the host starts products, the GPU does them one after another."""

    def __init__(self, flops: float, launch_s: float, pauses_s: float = 0.0) -> None:
        self.flops, self.launch_s, self.pauses_s = flops, launch_s, pauses_s
        self.host_s = self.gpu_s = 0.0
        self.calls, self.bfloat16 = 0, None
        properties = SimpleNamespace(name="MI300X")
        self.cuda = SimpleNamespace(
            Event=lambda **_: _Moment(self),
            device_count=lambda: 8,
            get_device_properties=lambda _: properties,
            synchronize=self._wait,
        )

    def ones(self, *shape: int, **_: Any) -> Any:
        return SimpleNamespace(shape=shape)

    def mm(self, one: Any, other: Any) -> None:
        self.calls += 1
        self.host_s += self.launch_s + (self.pauses_s if self.calls % 10 == 3 else 0.0)
        work = 2.0 * one.shape[0] * one.shape[1] * other.shape[1]
        self.gpu_s = max(self.gpu_s, self.host_s) + work / self.flops

    def _wait(self) -> None:
        self.host_s = max(self.host_s, self.gpu_s)


class _Moment:
    def __init__(self, of: _Timed) -> None:
        self.of, self.at_s = of, 0.0

    def record(self) -> None:
        self.at_s = max(self.of.host_s, self.of.gpu_s)

    def elapsed_time(self, other: _Moment) -> float:
        return (other.at_s - self.at_s) * 1e3


def _pace_ms(torch: _Timed) -> float:
    context: Any = SimpleNamespace(
        torch=torch, world=8, device=SimpleNamespace(index=0), mark=lambda _: None, facts=dict[str, Any]()
    )
    _pace(context)
    return float(context.facts["pace_ms"])


def test_the_pace_of_a_gpu_is_not_that_of_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    usual_ms = _pace_ms(_Timed(700e12, 8e-6))
    assert _pace_ms(_Timed(700e12, 80e-6)) == pytest.approx(usual_ms, rel=0.1)  # a core that others use too
    assert _pace_ms(_Timed(700e12, 8e-6, pauses_s=4e-3)) == pytest.approx(usual_ms, rel=0.1)  # taken away for a while
    assert _pace_ms(_Timed(250e12, 8e-6)) == pytest.approx(2.8 * usual_ms, rel=0.1)


@pytest.mark.parametrize("count", range(1, 10))
def test_each_pair_of_gpus_is_copied_between_by_one_rank(count: int) -> None:
    used = [3 * number for number in range(count)]
    pairs = [frozenset((own, other)) for own in used for other in _partners(used, own)]
    assert sorted(map(sorted, pairs)) == sorted([one, two] for one in used for two in used if one < two)
