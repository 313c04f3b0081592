from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.targets.slurm import files
from rocdoctor.train.recommend.plan import Setting, Vendor
from tests.train.emit.plan_kit import fleet, plan

# What stands in for Slurm: srun runs its command for each node, with the number of the node.
_SRUN = """#!/bin/sh
for number in 0 1; do
  [ "$number" -lt "$SLURM_NNODES" ] || continue
  export SLURM_NODEID=$number
  printf '%s\\n' "$*" >> "$HERE/srun"
  copy=
  for word in "$@"; do case $word in bash|torchrun) copy=1;; esac; [ -n "$copy" ] && break; shift; done
  "$@" || exit 1
done
"""
_TORCHRUN = """#!/bin/sh
printf '%s\\0' "$@" > "$HERE/words-$SLURM_NODEID"
env -0 > "$HERE/environment-$SLURM_NODEID"
"""
_SCONTROL = '#!/bin/sh\n[ "$*" = "show hostnames node-[07-08]" ] && printf "node-07\\nnode-08\\n"\n'


def _options(text: str) -> dict[str, str]:
    """The options of sbatch, which stops reading at the first command."""
    found = {}
    for line in text.splitlines()[1:]:
        if match := re.fullmatch(r"#SBATCH --([a-z-]+)(?:=(\S+))?", line):
            found[match[1]] = match[2] or ""
        elif not line.startswith("#"):
            break
    assert len(found) == text.count("#SBATCH")
    return found


def _ran(text: str, folder: Path, nodes: int) -> list[tuple[list[str], dict[str, str]]]:
    """What torchrun got on each node: its words and its environment."""
    programs = folder / "bin"
    programs.mkdir()
    for name, program in (("srun", _SRUN), ("torchrun", _TORCHRUN), ("scontrol", _SCONTROL)):
        (programs / name).write_text(program)
        (programs / name).chmod(0o755)
    (folder / "train.sbatch").write_text(text)
    given = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HERE": str(folder),
        "SLURM_NNODES": str(nodes),
        "SLURM_JOB_ID": "41234",
        "SLURM_JOB_NODELIST": "node-[07-08]",
        "SLURM_CPUS_ON_NODE": "128",
    }
    done = subprocess.run(
        ["bash", folder / "train.sbatch"], env=given, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    found = []
    for number in range(nodes):
        words = (folder / f"words-{number}").read_text().split("\0")[:-1]
        listed = (folder / f"environment-{number}").read_text().split("\0")[:-1]
        found.append((words, dict(one.split("=", 1) for one in listed)))
    return found


def test_whole_nodes_with_one_task_each() -> None:
    (file,) = files(plan(fleet(nodes=4)), Order(job="my job", partition="gpu", time="12:00:00"))
    options = _options(file.text)
    assert options == {
        "job-name": "my-job",
        "partition": "gpu",
        "nodes": "4",
        "ntasks-per-node": "1",
        "gres": "gpu:8",
        "exclusive": "",
        "mem": "0",
        "output": "%x-%j.out",
        "time": "12:00:00",
        "signal": "TERM@60",
        "no-requeue": "",
    }


def test_what_was_not_asked_for_is_the_clusters_choice() -> None:
    options = _options(files(plan(), Order())[0].text)
    assert not {"partition", "time", "signal"} & set(options)
    assert "gres" not in _options(files(plan(fleet("RTX 4090", 2, vendor="cpu")), Order())[0].text)


def test_the_nodes_meet_on_the_first_and_know_their_numbers(tmp_path: Path) -> None:
    (file,) = files(plan(fleet(nodes=2)), Order("my train.py", ("$HOME", "it's")))
    for number, (words, environment) in enumerate(_ran(file.text, tmp_path, 2)):
        assert words == [
            "--nnodes",
            "2",
            "--rdzv-backend",
            "static",
            "--rdzv-endpoint",
            "node-07:21234",
            "--rdzv-id",
            "41234",
            "--nproc-per-node",
            "8",
            "my train.py",
            "$HOME",
            "it's",
        ]
        assert environment["PET_NODE_RANK"] == str(number)
        assert environment["OMP_NUM_THREADS"] == "8"
    assert "--cpus-per-task=128" in (tmp_path / "srun").read_text()


def test_one_node_needs_no_meeting(tmp_path: Path) -> None:
    ((words, environment),) = _ran(files(plan(), Order())[0].text, tmp_path, 1)
    assert words == [
        *("--rdzv-backend", "static", "--rdzv-endpoint", "127.0.0.1:21234"),
        *("--nproc-per-node", "8", "train.py"),
    ]
    assert "PET_NODE_RANK" not in environment


def test_which_gpus_a_job_sees_is_slurms_choice() -> None:
    hidden = Setting("HIP_VISIBLE_DEVICES", "1,2", "not all are used")
    (file,) = files(replace(plan(), environment=(hidden,)), Order())
    assert "HIP_VISIBLE_DEVICES" not in file.text


def test_odd_names_stay_one_option() -> None:
    order = Order(job="a b\n#SBATCH --uid=0", partition="x --wrap=y", time="1 --x", image="an\nimage")
    options = _options(files(plan(), order)[0].text)
    assert not {"uid", "wrap", "x"} & set(options)


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("vendor", ["amd", "nvidia", "cpu"])
def test_shellcheck_and_bash_find_nothing(nodes: int, vendor: Vendor, tmp_path: Path) -> None:
    script = tmp_path / "train.sbatch"
    order = Order("my train.py", ("it's $HOME",), time="1:00:00", partition="x", image="an/image")
    script.write_text(files(plan(replace(fleet(nodes=nodes), vendor=vendor)), order)[0].text)
    subprocess.run(["bash", "-n", script], check=True)
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)
    assert done.stdout == ""
