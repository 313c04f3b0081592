"""One device by itself, and the data loader: right on a healthy machine, planted faults caught at their rank."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocdoctor.train.smoke.worker.modes.loader import remove_segments
from rocdoctor.train.smoke.worker.rank import _crash
from tests.train.smoke import kit

pytest.importorskip("torch")


@pytest.mark.parametrize("mode", ("compute", "memory", "data-loader"))
def test_a_healthy_machine_passes(mode: str) -> None:
    result = kit.run(mode, 2)
    assert result.state == "pass", result.message
    if mode == "memory":
        assert result.facts["memory_tested_bytes"] == 64 << 20
    assert kit.processes() == []


def test_copies_need_a_device() -> None:
    assert kit.run("copies").state == "not-applicable"


@pytest.mark.parametrize(
    ("fault", "mode", "words"),
    [
        ("conv-bf16-off", "compute", "convolution in bfloat16"),
        ("gelu-off", "compute", "gelu in float32"),
        ("bmm-fp16-off", "compute", "batched product in float16"),
        ("wrong-prefix-sum", "compute", "prefix sum of whole numbers"),
        ("stuck-bit", "memory", "1 words read back wrong, first 49380 bytes into it"),
        ("read-twice", "data-loader", "order of epoch 0"),
    ],
)
def test_a_wrong_device_is_named(fault: str, mode: str, words: str) -> None:
    result = kit.planted(fault, 1, mode, 2)
    layer = "framework" if mode == "data-loader" else "device"
    assert (result.state, result.layer, result.named) == ("fail", layer, (1,)), result.message
    assert words in result.message


def test_a_reader_that_dies_is_a_matter_of_shared_memory() -> None:
    result = kit.planted("reader-dies", 1, "data-loader", 2)
    assert (result.state, result.layer, result.named) == ("crashed", "configuration", (1,)), result.message
    assert "shared memory" in result.message
    assert kit.processes() == []


def test_an_order_that_never_changes_is_caught() -> None:
    result = kit.planted("same-order", "all", "data-loader", 2)
    assert (result.state, result.named) == ("fail", (0, 1))
    assert "order of epoch 1" in result.message


@pytest.mark.heavy
@pytest.mark.parametrize("world", (1, 2))
def test_compiled_code_computes_the_same(world: int) -> None:
    result = kit.run("compile", world, limit_s=60.0)
    assert result.state == "pass", result.message


def test_segments_of_workers_that_failed_are_removed_and_no_others(tmp_path: Path) -> None:
    for name in ("torch_12_345_0", "torch_12_345_1", "torch_123_4_0", "torch_1_2_0", "sem.mp-12", "torch_12"):
        (tmp_path / name).touch()
    remove_segments([12, 77], str(tmp_path))
    assert {one.name for one in tmp_path.iterdir()} == {"torch_123_4_0", "torch_1_2_0", "sem.mp-12", "torch_12"}
    remove_segments([], str(tmp_path))
    remove_segments([1], str(tmp_path / "none"))
    assert len(list(tmp_path.iterdir())) == 4


def test_shared_memory_that_cannot_be_written_is_no_fault_of_the_framework() -> None:
    torch = pytest.importorskip("torch")
    for number, words in ((30, "Read-only file system"), (28, "No space left on device")):
        assert _crash(torch, OSError(number, words))["kind"] == "space"
