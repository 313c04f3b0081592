"""One device by itself, and the data loader: right on a healthy machine, planted faults caught at their rank."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.train.smoke.worker.rank import _crash
from tests.train.smoke import kit

pytest.importorskip("torch")
import torch

from tests.train.smoke.planted.faults import Active, wrap


@pytest.mark.parametrize("mode", ("compute", "memory", "data-loader"))
def test_a_healthy_machine_passes(mode: str) -> None:
    result = kit.run(mode, 2)
    assert result.state == "pass", result.message
    if mode == "memory":
        assert result.facts["memory_tested_bytes"] == 64 << 20
    assert kit.processes() == []


def test_copies_need_a_device() -> None:
    assert kit.run("copies").state == "not-applicable"


def relu_at_zero(active: Active) -> None:
    """The gradient of a relu passes where its input is zero."""

    def around(original: Any, x: Any, *args: Any) -> Any:
        return torch.where(x == 0, x, original(x, *args)) if active() else original(x, *args)

    wrap(torch.nn.functional, "relu", around)


def squares_twice(active: Active) -> None:
    """The gradient of a mean squared error is that of a sum of two."""
    wrap(torch.nn.functional, "mse_loss", lambda original, *two: original(*two) * (2 if active() else 1))


WRONG: tuple[tuple[str | kit.Fault, str, str], ...] = (
    (relu_at_zero, "compute", "relu, some inputs zero in float32, gradient 0"),
    (squares_twice, "compute", "mean squared error in float32"),
    ("conv-bf16-off", "compute", "convolution in bfloat16"),
    ("gelu-off", "compute", "gelu in float32"),
    ("bmm-fp16-off", "compute", "batched product in float16"),
    ("wrong-prefix-sum", "compute", "prefix sum of whole numbers"),
    ("stuck-bit", "memory", "1 words read back wrong, first 49380 bytes into it"),
    ("read-twice", "data-loader", "order of epoch 0"),
)


def test_a_wrong_device_is_named() -> None:
    layers = {"data-loader": "framework"}
    rows = [(one, 1, mode, 2, "fail", (1,), layers.get(mode, "device"), words) for one, mode, words in WRONG]
    assert kit.wrong_of(rows, 30.0) == []


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


def test_shared_memory_that_cannot_be_written_is_no_fault_of_the_framework() -> None:
    for number, words in ((30, "Read-only file system"), (28, "No space left on device")):
        assert _crash(torch, OSError(number, words))["kind"] == "space"
    traced = "Caught RuntimeError in worker 0.\nOriginal Traceback (most recent call last):\n"
    traced += '  File "a.py", line 1, in b\n    c()\nRuntimeError: unable to write: No space left on device (28)\n'
    found = _crash(torch, RuntimeError(traced))
    told = "RuntimeError: Caught RuntimeError in worker 0. RuntimeError: unable to write: No space left on device (28)"
    assert (found["kind"], found["message"]) == ("space", told)
    assert _crash(torch, RuntimeError("Original Traceback"))["message"] == "RuntimeError: Original Traceback"
