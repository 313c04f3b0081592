"""Words that were taken for the wrong memory, vendor, system or number of machines."""

from __future__ import annotations

import pytest

from rocdoctor.judging.diagnose import Cause
from tests.text_kit import diagnosed


def _first(text: str) -> Cause:
    return diagnosed(text).causes[0]


@pytest.mark.parametrize(
    "text",
    [
        "# oom-kill error in the captioning task\n\nThe training of the model ends with it.\n",
        "After an hour the training worker was oom-killed.\n",
    ],
)
def test_the_killer_of_processes_looks_at_main_memory(text: str) -> None:
    found = _first(text)
    assert found.cause == "out-of-memory"
    assert "main memory (RAM, not GPU memory)" in found.message


def test_memory_of_the_gpu_stays_memory_of_the_gpu() -> None:
    assert "GPU memory is exhausted" in _first("The training job dies with a CUDA OOM error.\n").message
    assert not diagnosed("There was no oom-kill in the training job.\n").causes


def test_a_mac_that_reached_its_limit_says_what_it_holds() -> None:
    found = _first(
        "RuntimeError: MPS backend out of memory (MPS allocated: 8.10 GB, other allocations: 120.00 MB, "
        "max allowed: 9.07 GB). Tried to allocate 20.00 MB on private pool.\n"
    )
    assert found.cause == "out-of-memory"
    assert "holds 8.10 GB" in found.message and "9.07 GB are allowed" in found.message
