"""Launchers with more processes than GPUs. The texts are constructed command lines."""

from __future__ import annotations

import pytest

from rocdoctor.model.finding import Finding
from tests.message_kit import words_of
from tests.text_kit import diagnosed

CHECK = "command-more-ranks-than-gpus"
ORDINAL = "\n\nRuntimeError: CUDA error: invalid device ordinal\n"


def _finding(text: str) -> Finding | None:
    return next((one.finding for one in diagnosed(text).verdicts if one.check == CHECK and one.finding), None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("$ torchrun --nproc_per_node=8 train.py" + ORDINAL, "8 processes (--nproc_per_node 8)"),
        ("$ CUDA_VISIBLE_DEVICES=1,2 torchrun --nproc_per_node 4 train.py", "CUDA_VISIBLE_DEVICES=1,2 leaves 2 GPUs"),
        ("$ HIP_VISIBLE_DEVICES=0 accelerate launch --num_processes 2 train.py", "leaves one GPU"),
        ("$ accelerate launch --num_machines 2 --num_processes 16 train.py" + ORDINAL, "8 processes"),
        ("$ deepspeed --num_gpus=4 train.py" + ORDINAL, "--num_gpus 4"),
        ("$ docker run -e HIP_VISIBLE_DEVICES=0 rocm/vllm vllm serve m --tensor-parallel-size 2", "leaves one GPU"),
    ],
)
def test_the_numbers_are_named(text: str, said: str) -> None:
    found = _finding(text)
    assert found is not None and found.cause == "visible-devices-conflict" and said in words_of(found)
    assert found.finer == "more-ranks-than-gpus"


@pytest.mark.parametrize(
    "text",
    [
        "$ torchrun --nproc_per_node=8 train.py",
        "$ torchrun --nproc_per_node=1 train.py" + ORDINAL,
        "$ torchrun --nproc_per_node=gpu train.py" + ORDINAL,
        "$ CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 train.py" + ORDINAL,
        "$ CUDA_VISIBLE_DEVICES=$GPUS torchrun --nproc_per_node=2 train.py",
        "$ vllm serve m --tensor-parallel-size 16 --distributed-executor-backend ray" + ORDINAL,
        "Start torchrun --nproc_per_node=8 and not with fewer, says the page." + ORDINAL,
    ],
)
def test_other_launches_are_not_accused(text: str) -> None:
    assert _finding(text) is None
