"""The way to GPUs without having one: selection, masks, partitions, busy GPUs, out of memory, first kernels.

A device layer stands in for the GPUs (``stand_in/layer.py``); names, memory and addresses are those of captures.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rocdoctor.parsers.own.smoke_results import ModeResult, SmokeRun
from rocdoctor.train.smoke.run.pool import PoolError
from rocdoctor.train.smoke.run.request import Request
from tests.train.smoke.stand_in_kit import StandIn, gpus_of

pytest.importorskip("torch")

MODES = ("all-reduce", "ddp")


def _right(run: SmokeRun) -> None:
    wrong = [f"{one.mode}: {one.message}" for one in run.modes if one.state != "pass"]
    assert not wrong


def _mode(run: SmokeRun, name: str) -> ModeResult:
    return next(one for one in run.modes if one.mode == name)


def _places(run: SmokeRun) -> list[str | None]:
    return [one.gpu for one in run.modes[-1].ranks]


def test_each_gpu_gets_a_rank_on_nccl_and_memory_is_written_up_to_what_is_free(tmp_path: Path) -> None:
    gpus = [dict(one, memory_bytes=96 << 20) for one in gpus_of("mi300x-8gpu")[:3]]
    machine = StandIn(tmp_path, gpus)
    (run,) = machine.run(Request(modes=("memory", *MODES)))  # what the first takes is given back
    _right(run)
    assert (run.world, run.backend, run.device, run.notes) == (3, "nccl", "cuda", ())
    assert _places(run) == [one["pci"] for one in gpus]
    # A job forms its group with nccl alone, and its watchdog must not come before our deadline.
    assert {one.partition(" ")[0] for one in machine.backends()} == {"nccl"}
    assert all("4:00:00" in one for one in machine.backends())
    # Four fifths of it, but for what the comparison takes beside.
    assert _mode(run, "memory").facts["memory_tested_bytes"] == pytest.approx(0.8 * (96 << 20) * 5 / 8, rel=0.01)


@pytest.mark.parametrize(
    ("variables", "chosen"),
    [
        pytest.param({"HIP_VISIBLE_DEVICES": "5,1"}, [5, 1], marks=pytest.mark.heavy),
        pytest.param({"ROCR_VISIBLE_DEVICES": "4,6,7"}, [4, 6, 7], marks=pytest.mark.heavy),
        ({"ROCR_VISIBLE_DEVICES": "4,6,7", "HIP_VISIBLE_DEVICES": "2,0"}, [7, 4]),
        pytest.param({"CUDA_VISIBLE_DEVICES": "3,2"}, [3, 2], marks=pytest.mark.heavy),
        pytest.param(
            {"HIP_VISIBLE_DEVICES": "2,9,3", "ROCR_VISIBLE_DEVICES": "0,1,2,3,4"}, [2], marks=pytest.mark.heavy
        ),
    ],
)
def test_masks_choose_among_gpus_and_the_report_says_so(
    tmp_path: Path, variables: dict[str, str], chosen: list[int]
) -> None:
    gpus = gpus_of("mi300x-8gpu")
    run = StandIn(tmp_path, gpus).run(Request(modes=("all-reduce",), backend="nccl"), **variables)[0]
    _right(run)
    assert _places(run) == [gpus[number]["pci"] for number in chosen]
    name, value = next(iter(variables.items()))
    assert any(f"{name}={value}" in note and f"torch sees {len(chosen)} GPU" in note for note in run.notes)


@pytest.mark.heavy
def test_a_mask_that_hides_all_gpus_is_told_where_the_cpu_is_tested_instead(tmp_path: Path) -> None:
    (run,) = StandIn(tmp_path, gpus_of("mi210-8gpu")).run(
        Request(modes=("all-reduce",)), ROCR_VISIBLE_DEVICES="0", HIP_VISIBLE_DEVICES="3"
    )
    assert run.device == "cpu"
    assert run.notes == ("torch sees no GPU: ROCR_VISIBLE_DEVICES=0, HIP_VISIBLE_DEVICES=3 may hide all of them",)


@pytest.mark.heavy
def test_a_mig_part_is_chosen_by_its_uuid(tmp_path: Path) -> None:
    parts = [
        {
            "name": "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
            "memory_bytes": 10 << 30,
            "capability": "9.0",
            "uuid": f"MIG-{one}",
        }
        for one in ("41b2", "5c0d")
    ]
    run = StandIn(tmp_path, parts, cuda="13.0").run(
        Request(modes=("all-reduce",), backend="nccl"), CUDA_VISIBLE_DEVICES="MIG-5c0d"
    )[0]
    _right(run)
    assert (run.world, run.backend) == (1, "nccl")


def test_of_partitions_one_of_each_gpu_is_taken_and_a_gpu_slower_than_its_equals_is_said(tmp_path: Path) -> None:
    first, second, third = (dict(one, name="MI300X CPX") for one in gpus_of("mi300x-8gpu")[:3])
    gpus = [dict(one) for one in (first, second, {**third, "slower": 3.0}) for _ in range(4)]
    (run,) = StandIn(tmp_path, gpus).run(Request(modes=("all-reduce", "compute"), world=3))
    _right(run)
    assert _places(run) == [gpus[number]["pci"] for number in (0, 4, 8)]  # so that links between GPUs are tested
    assert "torch's 12 GPUs are partitions of 3" in run.notes
    assert f"rank 2 (GPU {third['pci']}) takes 3.0 times as long" in _mode(run, "compute").message


@pytest.mark.heavy
def test_of_a_gpu_as_fast_as_its_equals_nothing_is_said(tmp_path: Path) -> None:
    (run,) = StandIn(tmp_path, gpus_of("mi300x-8gpu")[:3]).run(Request(modes=("compute",)))
    _right(run)
    assert not run.modes[-1].message


def test_a_busy_gpu_and_one_that_another_program_has_alone_are_said_before_anything_fails(tmp_path: Path) -> None:
    busy = "CUDA error: CUDA-capable device(s) is/are busy or unavailable"
    first, second, third = gpus_of("h100-8gpu")[:3]
    first = {**first, "integrated": True, "busy_bytes": int(first["memory_bytes"] * 0.5)}  # the system has half of it
    many = [first, {**second, "busy_bytes": int(second["memory_bytes"] * 0.99)}, {**third, "refused": busy}]
    (run,) = StandIn(tmp_path, many, cuda="13.0").run(Request(modes=("all-reduce",)))
    assert any(f"GPU 1 ({second['pci']}) has 0." in note and "something else may use it" in note for note in run.notes)
    assert any(f"GPU 2 ({third['pci']}) cannot be opened" in note for note in run.notes)
    assert not any("GPU 0" in note for note in run.notes)
    start = run.modes[0]
    assert (start.state, start.named, start.layer) == ("crashed", (2,), "configuration"), start.message


def test_too_little_memory_is_no_fault_of_the_library(tmp_path: Path) -> None:
    first, second = gpus_of("mi210-8gpu")[:2]
    tight = {**second, "busy_bytes": second["memory_bytes"] - (8 << 10)}
    (run,) = StandIn(tmp_path, [first, tight]).run(Request(modes=("ddp",)))
    found = run.modes[-1]
    assert (found.state, found.named, found.layer) == ("crashed", (1,), "configuration"), found.message
    assert "out of memory" in found.message


def test_copies_reach_each_pair_once_and_what_they_leave_goes_with_their_ranks(tmp_path: Path) -> None:
    machine = StandIn(tmp_path, gpus_of("mi300x-8gpu")[:4])
    (run,) = machine.run(Request(modes=("copies", "all-reduce")))
    _right(run)
    rows = machine.contexts()
    foreign = [(int(rank), gpu) for rank, gpu, mode, _ in rows if mode == "copies" and rank != str(gpu)]
    assert Counter(frozenset(pair) for pair in foreign) == {
        frozenset((one, two)): 1 for one in range(4) for two in range(one)
    }
    # No process that has a context on a foreign GPU runs the mode after it.
    before = {pid for rank, gpu, mode, pid in rows if mode == "copies"}
    after = [pid for rank, gpu, mode, pid in rows if mode not in ("copies",) and rank != "None" and pid not in before]
    assert len(set(after)) == 4


def _pairs_accuse(run: SmokeRun, named: tuple[int, ...]) -> None:
    found = _mode(run, "copies")
    assert (found.state, found.named, found.layer) == ("fail", named, "link"), found.message
    assert "copy from GPU" in found.message and "1 of 1048576 values differ" in found.message


@pytest.mark.heavy
@pytest.mark.parametrize(("pairs", "named"), [([[0, 1]], (0, 1)), ([[0, 1], [2, 3]], ())], ids=str)
def test_a_copy_that_comes_back_wrong_accuses_no_healthy_end_alone(
    tmp_path: Path, pairs: list[list[int]], named: tuple[int, ...]
) -> None:
    (run,) = StandIn(tmp_path, gpus_of("mi300x-8gpu")[:4], wrong_pairs=pairs).run(Request(modes=("copies",)))
    _pairs_accuse(run, named)


@pytest.mark.heavy
def test_gpus_of_others_are_left_alone(tmp_path: Path) -> None:
    machine = StandIn(tmp_path, gpus_of("mi300x-8gpu"))
    (run,) = machine.run(Request(modes=("copies",), world=2))
    _right(run)
    assert {gpu for rank, gpu, _, _ in machine.contexts() if rank != "None"} == {0, 1}


def test_what_one_gpu_computes_copies_and_keeps_wrong_is_told_apart(tmp_path: Path) -> None:
    """A bit that it forgets, with its address; products with TF32, which many jobs allow, and right without; copies."""
    gpus = [dict(one, memory_bytes=96 << 20) for one in gpus_of("h100-8gpu")[:3]]
    faults = {"fault": "memory-bit tf32-wrong", "fault_gpu": 1, "wrong_pairs": [[1, 0], [2, 1]]}
    (run,) = StandIn(tmp_path, gpus, cuda="13.0", **faults).run(Request(modes=("copies", "memory", "compute")))
    _pairs_accuse(run, (1,))
    for name, words in (("memory", f"rank 1 (GPU {gpus[1]['pci']})"), ("compute", "TF32 allowed")):
        found = _mode(run, name)
        assert (found.state, found.named, found.layer) == ("fail", (1,), "device"), found.message
        assert words in found.message


@pytest.mark.heavy
def test_pace_is_left_out_where_its_product_does_not_fit(tmp_path: Path) -> None:
    (run,) = StandIn(tmp_path, [dict(one, memory_bytes=64 << 20) for one in gpus_of("mi300x-8gpu")[:2]]).run(
        Request(modes=("compute",))
    )
    _right(run)
    assert "pace_ms" not in run.modes[-1].facts


def test_a_deadline_that_passes_while_kernels_are_searched_for_accuses_no_rank(tmp_path: Path) -> None:
    cache = tmp_path / "miopen"
    cache.mkdir()
    (run,) = StandIn(tmp_path, gpus_of("mi300x-8gpu")[:2], fault="compiles", fault_gpu=1).run(
        Request(modes=("compute",), deadline_s=6.0), MIOPEN_CUSTOM_CACHE_DIR=str(cache)
    )
    found = run.modes[-1]
    assert (found.state, found.named, found.layer) == ("crashed", (), "configuration"), found.message
    assert "kernels were still being compiled" in found.message and str(cache) in found.message


def test_a_gpu_that_was_opened_when_python_started_is_said_and_not_forked(tmp_path: Path) -> None:
    machine = StandIn(tmp_path, gpus_of("mi210-8gpu")[:2], opened=True)
    with pytest.raises(PoolError, match="has opened the GPU"):
        machine.run(Request(modes=("all-reduce",)))
    (run,) = machine.run(Request(modes=("all-reduce",), device="cpu"))
    _right(run)
