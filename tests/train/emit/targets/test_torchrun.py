from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.targets.torchrun import files, refuses
from rocdoctor.train.recommend.plan import Setting, Vendor
from tests.train.emit.plan_kit import fleet, plan
from tests.train.emit.shell_kit import outcome, value

ODD = Order("my train.py", ("--name", "it's $HOME `id` $(id)", "--x=*"))


def test_one_node_starts_its_ranks(tmp_path: Path) -> None:
    (file,) = files(plan(), ODD)
    assert (file.name, file.executable) == ("train.sh", True)
    words, environment = outcome(file, tmp_path, {})
    assert value(words, "--nproc-per-node") == "8"
    assert words[-4:] == ["my train.py", *ODD.script_arguments]
    assert environment["OMP_NUM_THREADS"] == "8"


def test_several_nodes_need_to_know_the_first_and_their_number(tmp_path: Path) -> None:
    (file,) = files(plan(fleet(nodes=3)), ODD)
    words, _ = outcome(file, tmp_path, {"MASTER_ADDR": "a-node", "NODE_RANK": "2"})
    assert (value(words, "--nnodes"), value(words, "--node-rank")) == ("3", "2")
    assert value(words, "--rdzv-endpoint") == "a-node:29500"
    for given in ({"MASTER_ADDR": "a-node"}, {"NODE_RANK": "1"}):
        done = subprocess.run(["bash", tmp_path / "train.sh"], env=given, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert "set it to" in done.stderr


def test_gpus_that_are_chosen_already_stay_chosen(tmp_path: Path) -> None:
    made = replace(plan(), environment=(Setting("HIP_VISIBLE_DEVICES", "1,2", "not all are used"),))
    (file,) = files(made, Order())
    assert outcome(file, tmp_path, {})[1]["HIP_VISIBLE_DEVICES"] == "1,2"
    assert "HIP_VISIBLE_DEVICES" not in outcome(file, tmp_path, {"ROCR_VISIBLE_DEVICES": "4,5"})[1]
    assert outcome(file, tmp_path, {"HIP_VISIBLE_DEVICES": "3"})[1]["HIP_VISIBLE_DEVICES"] == "3"


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("vendor", ["amd", "nvidia", "cpu"])
def test_shellcheck_and_bash_find_nothing(nodes: int, vendor: Vendor, tmp_path: Path) -> None:
    where = replace(fleet(nodes=nodes), vendor=vendor, name="a name\nwith a line end")
    made = replace(plan(where), environment=(Setting("HIP_VISIBLE_DEVICES", "1,2", "why\nnot"),))
    script = tmp_path / "train.sh"
    script.write_text(files(made, ODD)[0].text)
    subprocess.run(["bash", "-n", script], check=True)
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    script.write_text(script.read_text() + "echo $MASTER_ADDR\n")
    assert subprocess.run(["shellcheck", script], capture_output=True, check=False).returncode != 0


def test_no_configuration_is_refused() -> None:
    assert refuses(plan(parallel={"pp": 4}, framework="megatron").work) is None
