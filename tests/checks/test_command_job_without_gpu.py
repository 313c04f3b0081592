"""Slurm jobs that asked for no GPU. The texts are constructed scripts."""

from __future__ import annotations

import pytest

from rocdoctor.model.finding import Finding
from tests.message_kit import words_of
from tests.text_kit import diagnosed

CHECK = "command-job-without-gpu"
NO_GPU = "\nRuntimeError: No CUDA GPUs are available\n"
HEAD = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --partition=gpu\n"


def _finding(text: str) -> Finding | None:
    return next((one.finding for one in diagnosed(text).verdicts if one.check == CHECK and one.finding), None)


@pytest.mark.parametrize("text", [HEAD + "srun python train.py\n" + NO_GPU, "$ srun -n 1 python a.py\n" + NO_GPU])
def test_the_options_that_are_missing_are_named(text: str) -> None:
    found = _finding(text)
    assert found is not None and found.cause == "visible-devices-conflict" and "--gres=gpu" in words_of(found)
    assert found.finer == "scheduler-gave-no-gpu"


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "srun python train.py\n",
        HEAD + "#SBATCH --gres=gpu:1\nsrun python train.py\n" + NO_GPU,
        HEAD + "srun --gpus-per-task=1 python train.py\n" + NO_GPU,
        "$ srun python a.py\n" + NO_GPU,  # the head of the script is not shown
        HEAD + "export SLURM_GPUS_ON_NODE=4\nsrun python train.py\n" + NO_GPU,
    ],
)
def test_other_jobs_are_not_accused(text: str) -> None:
    assert _finding(text) is None
