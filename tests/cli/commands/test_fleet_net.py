"""``rocdoctor fleet net``: which nodes there are, which one this is, and what stands in the way."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from rocdoctor.cli.commands import fleet_net
from rocdoctor.cli.commands.fleet_net import NetOptions, where
from rocdoctor.cli.main import run
from rocdoctor.parsers.listings.slurm_topology import parse_leaf_switches
from rocdoctor.service.errors import InputError, UsageError

KEY = {"ROCDOCTOR_SMOKE_KEY": "a-key-of-these-tests-alone"}
SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_STEP_ID": "0",
    "SLURM_NODEID": "1",
    "SLURM_NNODES": "2",
    "SLURM_STEP_NODELIST": "gpu[03,07]",
    "SLURMD_NODENAME": "gpu07",
}


def _node(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(platform, "node", lambda: name)


def test_a_node_finds_its_place_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    _node(monkeypatch, "gpu02.example.org")
    names, here = where("gpu[01-03]", NetOptions(), KEY)
    assert names == ["gpu01", "gpu02", "gpu03"]
    assert (here.node, here.nodes, here.endpoint, here.key) == (1, 3, "gpu01:29500", KEY["ROCDOCTOR_SMOKE_KEY"])
    _, here = where("gpu[01-03]", NetOptions(node_rank=0, rdzv="10.0.0.1:555"), KEY)
    assert (here.node, here.endpoint) == (0, "10.0.0.1:555")


def test_within_srun_all_is_known() -> None:
    names, here = where(None, NetOptions(), SLURM)
    assert names == ["gpu03", "gpu07"]
    assert (here.node, here.nodes, here.host, here.run, here.key) == (1, 2, "gpu03", "7.0", "")


@pytest.mark.parametrize(
    ("nodes", "options", "variables", "words"),
    [
        (None, NetOptions(), KEY, "net takes the nodes"),
        ("gpu[01-", NetOptions(), KEY, "is not a list of nodes"),
        ("gpu01", NetOptions(), KEY, "not 1: another node is needed to measure with"),
        ("gpu[0001-2000]", NetOptions(), KEY, "test one part after the other"),
        ("gpu[01-03]", NetOptions(), KEY, "this node is called login, which is not one of them"),
        ("gpu[01-03]", NetOptions(node_rank=3), KEY, "--node-rank takes 0 to 2"),
        ("gpu[01-03]", NetOptions(node_rank=1), {}, "net takes a key that all nodes have"),
        ("gpu[01-03]", NetOptions(node_rank=1, key_file="/nowhere/key"), {}, "/nowhere/key"),
        (None, NetOptions(), {**SLURM, "SLURMD_NODENAME": "gpu03"}, "Slurm calls this node gpu03, and number 1"),
    ],
)
def test_what_is_missing_is_said(
    nodes: str | None, options: NetOptions, variables: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _node(monkeypatch, "login")
    with pytest.raises(UsageError) as told:
        where(nodes, options, variables)
    assert words in str(told.value)


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", "net", "gpu01", "gpu02"]) == 2
    assert "the nodes in one word" in capsys.readouterr().err
    assert run(["fleet", "judge"]) == 2
    assert "judge takes a STORE" in capsys.readouterr().err


# The first two as topology.conf(5) shows them, the last two as scontrol prints them.
TOPOLOGY = """\
# fabric of a test
SwitchName=s0 Nodes=dev[0-2] # the first
switchname=s1 LinkSpeed=100 nodes=dev[3-4]
SwitchName=s3 Level=1 LinkSpeed=1 Nodes=dev[0-5] Switches=s[0-2]
SwitchName=s2 Level=0 LinkSpeed=1 Nodes=dev5
SwitchName=s9 Switches=s3
Nodes=dev9
"""


def test_leaf_switches_of_slurm(tmp_path: Path) -> None:
    assert parse_leaf_switches(TOPOLOGY) == {"s0": "dev[0-2]", "s1": "dev[3-4]", "s2": "dev5"}
    assert parse_leaf_switches("SwitchName=" + "x" * 100_000) == {}
    file = tmp_path / "topology.conf"
    file.write_text(TOPOLOGY)
    assert fleet_net._leaves(str(file), ["dev1", "dev4", "other"]) == {0: "s0", 1: "s1"}
    assert fleet_net._leaves(None, ["dev1"]) == {}
    with pytest.raises(InputError, match="names no leaf switch of these nodes"):
        fleet_net._leaves(str(file), ["n1"])
    with pytest.raises(InputError, match="No such file"):
        fleet_net._leaves(str(tmp_path / "none"), ["n1"])
