"""Slurm itself takes the files: a controller and two nodes, which are network namespaces of this machine."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.targets.slurm import files
from rocdoctor.train.recommend.environment import settings
from rocdoctor.train.recommend.plan import Fleet
from tests.train.emit.plan_kit import fleet, plan
from tests.train.emit.readers.test_torchrun import ORDER, PROGRAM, SMALL, said
from tests.train.emit.readers.venvs import reader
from tests.train.smoke.nodes.network import missing
from tests.train.smoke.nodes.slurm import Cluster, cluster, slurm_missing

_WHY = missing() or slurm_missing()
pytestmark = [pytest.mark.reader, pytest.mark.skipif(bool(_WHY), reason=_WHY)]


@pytest.fixture(scope="module")
def slurm() -> Iterator[Cluster]:
    """Two nodes with two CPUs and two (pretended) GPUs each."""
    reader("torch")
    with cluster(gpus=2) as found:
        yield found


def _sbatch(
    slurm: Cluster, folder: Path, text: str, *words: str, program: str = PROGRAM, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Submit a file."""
    (folder / "train.sbatch").write_text(text)
    (folder / ORDER.script).write_text(program)
    given = {"PATH": f"{reader('torch').parent}:{os.environ['PATH']}", "SAID": str(folder), **variables}
    # Names of this machine lead to its loopback, so the interface is named as the file asks for.
    environment = {**slurm.environment(**given), "GLOO_SOCKET_IFNAME": "eth0"}
    environment.pop("OMP_NUM_THREADS", None)
    return subprocess.run(
        slurm.inside(0, "sbatch", *words, "train.sbatch"),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=300,
        check=False,
    )


def _ended(slurm: Cluster, folder: Path, text: str, **variables: str) -> tuple[str, str]:
    """Run a file as a job; its exit code and what it printed. ``sbatch --wait`` looks only after 2, 10 and 42 s."""
    job = _sbatch(slurm, folder, text, "--parsable", **variables).stdout.strip()
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        asked = subprocess.run(
            slurm.inside(0, "scontrol", "show", "job", job),
            env=slurm.environment(),
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
        if match := re.search(
            r"JobState=(?:COMPLETED|FAILED|TIMEOUT|CANCELLED).*?ExitCode=(\S+)", asked.stdout, re.DOTALL
        ):
            return match[1], _printed(folder)
        time.sleep(0.5)
    raise AssertionError(f"the job did not end: {_printed(folder)}")


def _printed(folder: Path) -> str:
    return "\n".join(path.read_text() for path in folder.glob("*.out"))


def _text(where: Fleet, order: Order = ORDER) -> str:
    made = plan(where, "llama-3.2-1b", seq=512)
    return files(replace(made, environment=settings(made)), order)[0].text


def test_jobs_on_one_node_and_on_two_run_their_ranks(slurm: Cluster, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    alone = _text(SMALL, replace(ORDER, partition="all", time="00:10:00", job="a run"))
    with ThreadPoolExecutor() as pool:
        began = []
        for folder, text in ((one, alone), (two, _text(replace(SMALL, nodes=2)))):
            folder.mkdir()
            began.append(pool.submit(_ended, slurm, folder, text))
        for each in began:
            code, out = each.result()
            assert code == "0:0", out
    assert [(rank["rank"], rank["sum"], rank["threads"]) for rank in said(one)] == [(0, 3.0, "2"), (1, 3.0, "2")]
    assert [path.name.split("-")[:2] for path in one.glob("*.out")] == [["a", "run"]]
    ranks = said(two)
    assert [(rank["rank"], rank["node"], rank["local"]) for rank in ranks] == [
        (0, 0, 0),
        (1, 0, 1),
        (2, 1, 0),
        (3, 1, 1),
    ]
    assert {(rank["world"], rank["sum"]) for rank in ranks} == {(4, 10.0)}


def test_gpus_are_handed_out(slurm: Cluster, tmp_path: Path) -> None:
    text = _text(replace(fleet(per_node=2, nodes=2), cpu_cores=2, cpu_threads=2))
    code, out = _ended(slurm, tmp_path, text)
    assert code == "0:0", out
    assert len(said(tmp_path)) == 4


def test_a_rank_that_fails_fails_the_job(slurm: Cluster, tmp_path: Path) -> None:
    code, out = _ended(slurm, tmp_path, _text(replace(SMALL, nodes=2)), ENDS_WITH="3")
    assert code != "0:0"
    assert "exitcode  : 3" in out


# Ranks that take two seconds to save what they have when they are told to end.
_SAVING = """
import os, signal, sys, time
import torch.distributed as dist
dist.init_process_group("gloo")
place = os.path.join(os.environ["SAID"], str(dist.get_rank()))
def save(*_):
    time.sleep(2)
    open(place + ".saved", "w").close()
    os._exit(0)
signal.signal(signal.SIGTERM, save)
open(place + ".began", "w").close()
time.sleep(240)
"""


def test_ranks_may_save_what_they_have_when_the_time_is_over(slurm: Cluster, tmp_path: Path) -> None:
    job = _sbatch(slurm, tmp_path, _text(SMALL), "--parsable", program=_SAVING).stdout.strip()
    deadline = time.monotonic() + 200
    while len(list(tmp_path.glob("*.began"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.5)
    assert len(list(tmp_path.glob("*.began"))) == 2, _printed(tmp_path)
    # What --signal=TERM does some time before the end, and Slurm at the end.
    subprocess.run(slurm.inside(0, "scancel", "--signal=TERM", job), env=slurm.environment(), check=True, timeout=30)
    while len(list(tmp_path.glob("*.saved"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.5)
    subprocess.run(slurm.inside(0, "scancel", job), env=slurm.environment(), check=True, timeout=30)
    assert len(list(tmp_path.glob("*.saved"))) == 2, _printed(tmp_path)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("--ntasks-per-node=1", "--ntasks-per-nod3=1"),
        ("--nodes=2", "--nodes=two"),
        ("--nodes=2", "--nodes=3"),
        ("--gres=gpu:2", "--gres=gpu:3"),
        ("--gres=gpu:2", "--gres=gp:2"),
        ("--time=00:10:00", "--time=soon"),
    ],
)
def test_a_broken_file_is_refused(right: str, wrong: str, slurm: Cluster, tmp_path: Path) -> None:
    text = _text(fleet(per_node=2, nodes=2), replace(ORDER, time="00:10:00"))
    assert _sbatch(slurm, tmp_path, text, "--test-only").returncode == 0
    assert re.search(rf"^#SBATCH {right}$", text, re.MULTILINE)
    assert _sbatch(slurm, tmp_path, text.replace(right, wrong), "--test-only").returncode != 0
