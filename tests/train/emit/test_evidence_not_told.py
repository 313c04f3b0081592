"""Emitted files hold what launchers need of the evidence, and nothing else of it: no name, folder or secret."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rocdoctor.cli.main import run
from rocdoctor.train.emit.targets import TARGETS
from tests.host.masking.written import CHOSEN, DOMAIN, HOST, RANDOM, USER

FIXTURE = Path(__file__).parents[3] / "fixtures" / "mi300x-8gpu.capture"
_ENVIRONMENT = (
    f"VIRTUAL_ENV=/home/{USER}/train/.venv",
    f"HF_TOKEN=hf_{RANDOM}",
    f"HF_HOME=/scratch/{USER}/hf",
    f"HOSTNAME={HOST}.hpc.{DOMAIN}.edu",
    f"USER={USER}",
    f"HOME=/home/{USER}",
    f"https_proxy=http://bea:{CHOSEN}@proxy.{DOMAIN}.edu:3128",
    f"NCCL_COMM_ID={HOST}:29500",
    f"NCCL_DEBUG_FILE=/home/{USER}/n.log",
    f"MASTER_ADDR={HOST}",
    f"SLURMD_NODENAME={HOST}",
    f"TMPDIR=/scratch/{USER}",
    f"WANDB_API_KEY={RANDOM}",
    f"SLURM_JOB_PARTITION={DOMAIN}",
    f"SLURM_JOB_ACCOUNT={USER}",
    f"MIOPEN_USER_DB_PATH=/users/{USER}/x",
    f"TRITON_CACHE_DIR=/scratch/{USER}/t",
    f"LD_LIBRARY_PATH=/home/{USER}/lib",
    f"PYTHONPATH=/home/{USER}/p",
    f"DB_PASSWORD={CHOSEN}",
)


def test_no_target_tells_who_and_where_the_evidence_is_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = FIXTURE.read_text(encoding="utf-8").replace("/home/user", f"/home/{USER}").replace(":user\n", f":{USER}\n")
    said = re.sub(r"VIRTUAL_ENV=[^\n]*", "\n".join(_ENVIRONMENT), said)
    capture = tmp_path / "x.capture"
    capture.write_text(said, encoding="utf-8")
    alone = ("deepspeed", "torchtitan", "megatron", "axolotl")  # these choose the framework, or take adapters alone
    runs = [[name for name in TARGETS if name not in alone], *([name] for name in alone), ["env"]]
    for number, targets in enumerate(runs):
        wanted = ["--model", "llama-3.1-8b"] if number < len(runs) - 1 else []
        wanted += ["--method", "lora"] if targets == ["axolotl"] else []
        folder = tmp_path / f"run-{number}"
        assert run(["emit", "--from", str(capture), *targets, *wanted, "-o", str(folder)]) == 0
        files = [file for file in folder.rglob("*") if file.is_file()]
        assert len(files) >= len(targets)
        told = capsys.readouterr()
        shown = [told.out, told.err.replace(str(tmp_path), ""), *(one.read_text(encoding="utf-8") for one in files)]
        assert "not masked in these files" in told.err
        for hidden in (USER, HOST, DOMAIN, CHOSEN, RANDOM):
            assert [text for text in shown if hidden in text] == []
