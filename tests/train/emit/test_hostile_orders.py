"""What a user or a machine is called, in the files of every target: scripts are run with programs that only tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.train.emit.targets import Order, target
from rocdoctor.train.recommend.plan import Setting
from tests.shell_box import HOSTILE, ShellBox, needs_bash
from tests.train.emit.plan_kit import fleet, plan

# Files of the other targets are data, which their own tests read.
_WITH_SCRIPTS = ("axolotl", "env", "llamafactory", "megatron", "slurm", "torchrun", "trl")


_GIVEN = {
    "MASTER_ADDR": "192.0.2.1",
    "NODE_RANK": "0",
    "SLURM_NNODES": "2",
    "SLURM_JOB_ID": "7",
    "SLURM_CPUS_ON_NODE": "128",
    "SLURM_JOB_NODELIST": "node-[07-08]",
    "DATA_PATH": "/d",
    "MODEL": "m",
    "DATASET": "d",
    "DATASET_DIR": "d/data",
    "DATASET_TYPE": "alpaca",
    "TEMPLATE": "t",
    "OUTPUT": "o",
    "TOKENIZER_MODEL": "/t",
    "TRAIN_ITERS": "10",
    "LEARNING_RATE": "1e-4",
    "ROTARY_BASE": "10000",
    "NORM_EPSILON": "1e-5",
}


def _order(word: str) -> Order:
    return Order(word, (word, f"--name={word}"), word, word, word, "01:00:00")


@needs_bash
@pytest.mark.parametrize("name", _WITH_SCRIPTS)
def test_no_word_of_an_order_is_run(name: str, tmp_path: Path) -> None:
    one: Any = target(name)
    ran = 0
    box = ShellBox(tmp_path)
    made = plan(fleet(nodes=2), framework=one.FRAMEWORKS[0])
    for word in HOSTILE:
        named = replace(
            made,
            fleet=replace(made.fleet, name=word),
            workload=replace(made.workload, model_id=word),
            environment=(Setting("NCCL_SOCKET_IFNAME", word, word),),
        )
        for file in one.files(named, _order(word)):
            if file.name.endswith((".sh", ".sbatch")) or file.text.startswith("#!"):
                calls = box.script(file.text, **_GIVEN)
                ran += name == "env" or any(call[0] in ("torchrun", "srun") for call in calls)
                asked = [line for line in file.text.splitlines() if line.startswith(': "${')]
                assert not [line for line in asked if "'" in line], "bash pairs apostrophes in these"
    assert ran, "no script got to its program"
