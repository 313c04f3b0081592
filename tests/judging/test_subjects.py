"""A finding that several GPUs share reads as one of several."""

from __future__ import annotations

import pytest

from rocdoctor.judging.subjects import sentence, subject_parts
from rocdoctor.model.subject import MACHINE, Subject

_ONE, _OTHER = Subject("gpu", 0, "0000:03:00.0"), Subject("gpu", 1, "0000:06:00.0")


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("This GPU is gfx1100, and it waits.", "Each of these GPUs is gfx1100, and it waits."),
        ("This integrated GPU has 0.5 GiB.", "Each of these integrated GPUs has 0.5 GiB."),
        ("This vGPU has no licence.", "Each of these vGPUs has no licence."),
        ("The driver dropped this GPU twice.", "The driver dropped this GPU twice."),
        ("This GPU's fan stands.", "This GPU's fan stands."),
    ],
)
def test_a_message_of_one_gpu_is_put_in_the_plural_for_several(message: str, said: str) -> None:
    assert sentence(message, (_ONE, _OTHER)) == said


@pytest.mark.parametrize("subjects", [(), (MACHINE,), (_ONE,), (_ONE, _ONE)])
def test_a_message_stays_where_it_is_about_one(subjects: tuple[Subject, ...]) -> None:
    assert sentence("This GPU is gfx1100.", subjects) == "This GPU is gfx1100."


def test_gpus_that_a_tool_counts_otherwise_carry_its_numbers() -> None:
    def smi(*numbers: int) -> list[Subject]:
        return [Subject("gpu", at, name=f"nvidia-smi {number}") for at, number in enumerate(numbers)]

    assert subject_parts(smi(6)) == ("gpu 0 (nvidia-smi 6)", [])
    assert subject_parts(smi(2, 6, 7)) == ("gpu 0-2 (nvidia-smi 2,6-7)", [])
    assert subject_parts(smi(0, 1)) == ("gpu 0-1", ["nvidia-smi 0", "nvidia-smi 1"])
    assert subject_parts([_OTHER]) == ("gpu 1", ["0000:06:00.0"])
    assert subject_parts([*smi(3), Subject("gpu", 1, name="rocm-smi 5")])[0] == "gpu 0-1"
