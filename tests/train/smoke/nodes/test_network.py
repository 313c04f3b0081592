"""Nodes that are network namespaces: each fault of the network is named, with its node, and nothing is left behind."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.train.smoke.nodes.network import Network, Ran, both, command, finish, missing, network
from tests.waiting import until

pytest.importorskip("torch")
_WHY = missing()
pytestmark = pytest.mark.skipif(bool(_WHY), reason=_WHY)
PLANTED = Path(__file__).parents[1] / "planted"


def ended(made: Network, first: Ran, second: Ran, code: int) -> None:
    """Both ended with this code, and no process stayed."""
    assert (first.code, second.code) == (code, code), (first.text, second.text)
    assert made.left() == []


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("ib0", "GLOO_SOCKET_IFNAME is ib0, but node 1 has no such interface"),
        ("lo", "GLOO_SOCKET_IFNAME is lo: the loopback interface of node 1"),
    ],
)
def test_a_wrong_interface_on_one_node_is_named_on_both(value: str, words: str) -> None:
    with network() as made:
        first, second = both(made.smoke(0, "ddp"), made.smoke(1, "ddp", gloo=value))
        ended(made, first, second, 1)
    assert words in first.text and words in second.text
    assert "export GLOO_SOCKET_IFNAME=eth0" in first.text


def test_an_address_that_both_nodes_have_leads_to_oneself() -> None:
    with network() as made:
        for space in made.spaces:  # as docker0 has on every machine
            command("ip", "-n", space, "link", "add", "docker0", "type", "veth", "peer", "name", "box")
            command("ip", "-n", space, "addr", "add", "172.17.0.1/16", "dev", "docker0")
            for name in ("docker0", "box"):
                command("ip", "-n", space, "link", "set", name, "up")
        first, second = both(made.smoke(0, "ddp", gloo="docker0"), made.smoke(1, "ddp", gloo="docker0"))
        ended(made, first, second, 1)
    assert "Node 1 cannot connect to node 0 at 172.17.0.1" in first.text
    assert "Node 0 cannot connect to node 1 at 172.17.0.1" in first.text


def test_another_torch_on_one_node(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise RuntimeError('imported')")
    (tmp_path / "torch" / "version.py").write_text("__version__ = '2.1.0+other'\n")
    with network() as made:
        first, second = both(made.smoke(0, "ddp"), made.smoke(1, "ddp", more={"PYTHONPATH": str(tmp_path)}))
        ended(made, first, second, 1)
    assert "different versions of torch: 2.1.0+other on node 1" in first.text


def test_a_wrong_port_is_told_by_the_node_that_has_it() -> None:
    with network() as made:
        other = f"{made.address(0)}:29999"
        first, second = both(made.smoke(0, "ddp", wait=4), made.smoke(1, "ddp", rdzv=other, wait=4))
        ended(made, first, second, 1)
    assert "nothing listens on port 29999" in second.text
    assert "Node 1 did not reach" in first.text


@pytest.mark.heavy
def test_an_address_that_nobody_has() -> None:
    with network() as made:
        words = "198.51.100.77:29511"
        first, second = both(made.smoke(0, "ddp", rdzv=words), made.smoke(1, "ddp", rdzv=words))
        ended(made, first, second, 1)
    assert "not an address of this node" in first.text
    assert "Nothing on the network answers for 198.51.100.77" in second.text


@pytest.mark.heavy
def test_no_route() -> None:
    with network() as made:
        first, second = both(made.smoke(0, "ddp", wait=4), made.smoke(1, "ddp", rdzv="203.0.113.1:29511", wait=4))
        ended(made, first, second, 1)
    assert "Node 1 has no route to 203.0.113.1" in second.text


@pytest.mark.heavy
def test_sound_nodes_compute_right(tmp_path: Path) -> None:
    more = {"TMPDIR": str(tmp_path)}
    with network() as made:
        words = ("ddp", "all-reduce")
        first, second = both(made.smoke(0, *words, more=more), made.smoke(1, *words, more=more))
        ended(made, first, second, 0)
    assert list(tmp_path.iterdir()) == [], "something is left of the launchers"
    assert "All 2 modes" in first.text
    assert "frames up to 1500 of 1500 bytes pass" in first.text
    assert "node 1: all is well" in second.err
    assert "warning speed" not in first.text, "of a cable that is none, or of a busy machine"


@pytest.mark.heavy
def test_three_nodes_with_two_ranks_each_one_of_them_late() -> None:
    with network(3) as made:
        began = [made.smoke(number, "ddp", "--nproc-per-node", "2", nodes=3) for number in (0, 1)]
        time.sleep(8)  # longer than silence counts as a loss
        began.append(made.smoke(2, "ddp", "--nproc-per-node", "2", nodes=3))
        first, second = both(began[0], began[1])
        third = finish(began[2], time.monotonic())
        ended(made, first, second, 0)
        assert third.code == 0
    assert "6 ranks on the CPU" in first.text
    for ends in ("node 0 to node 1", "node 1 to node 2", "node 2 to node 0"):
        assert ends in first.text


@pytest.mark.heavy
def test_no_variable_and_a_host_name_that_is_loopback() -> None:
    # What /etc/hosts of a namespace says is read by ip netns exec from /etc/netns/NAME/hosts; the machine's own says
    # loopback for its name or nothing at all, and either is a fault here.
    with network() as made:
        first, second = both(made.smoke(0, "ddp", gloo=""), made.smoke(1, "ddp", gloo=""))
        ended(made, first, second, 1)
    assert "GLOO_SOCKET_IFNAME is not set: gloo gives 127.0." in first.text


@pytest.mark.heavy
def test_an_mtu_black_hole() -> None:
    with network() as made:
        for number in (0, 1):
            made.link(number, "mtu", "9000", "gso_max_segs", "1")  # else whole segments pass the switch uncut
            made.port(number, "mtu", "1500")
        first, second = both(made.smoke(0, "ddp"), made.smoke(1, "ddp"))
        ended(made, first, second, 1)
    assert "Frames of 9000 bytes do not get from node 0 to node 1" in first.text
    assert "up to 1500 bytes pass" in first.text


@pytest.mark.heavy
def test_an_mtu_that_differs_does_no_harm() -> None:
    with network() as made:
        made.link(1, "mtu", "9000")
        first, second = both(made.smoke(0, "ddp"), made.smoke(1, "ddp"))
        ended(made, first, second, 0)
    assert "mtu" not in first.out.lower().replace("mtu   torch", "")


@pytest.mark.heavy
def test_a_slow_link_is_a_warning_with_its_rate() -> None:
    with network() as made:
        shape = ("root", "tbf", "rate", "10mbit", "burst", "64kb", "latency", "50ms")
        for number in (0, 1):
            command("tc", "-n", made.switch, "qdisc", "add", "dev", f"p{number}", *shape)
        first, second = both(made.smoke(0, "ddp"), made.smoke(1, "ddp"))
        ended(made, first, second, 0)
    assert "warning speed nodes 0-1" in first.text


def planted(made: Network, folder: Path, fault: str, *words: str) -> tuple[Ran, Ran]:
    """Two nodes with two ranks each and a fault in one of them."""
    plant = folder / "plant"
    plant.write_text(fault)
    variables = {"PYTHONPATH": str(PLANTED), "ROCDOCTOR_PLANT": str(plant)}
    words = ("ddp", *words, "--nproc-per-node", "2")
    return both(made.smoke(0, *words, more=variables), made.smoke(1, *words, more=variables))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("sigkill 3 ddp", "rank 3 (node 1) was ended by signal 9"),
        ("sigkill 0 ddp", "rank 0 (node 0) was ended by signal 9"),
        ("exit-0 2 ddp", "rank 2 (node 1) ended with exit status 0"),
        ("sigstop 2 ddp", "rank 2 (node 1) is stopped"),
        ("error 1 ddp", "rank 1 (node 0) at 'step 0: forward and backward': ValueError: planted"),
        ("wrong-size 3 ddp", "rank 3"),
    ],
)
def test_a_fault_in_a_rank_names_rank_and_node_and_the_next_mode_runs(tmp_path: Path, fault: str, words: str) -> None:
    with network() as made:
        first, second = planted(made, tmp_path, fault, "fsdp2", "--deadline", "16")
        ended(made, first, second, 1)
    assert words in first.text
    assert words in second.text
    assert "fsdp2 ok ok ok ok" in first.text


@pytest.mark.heavy
@pytest.mark.parametrize(("port", "node"), [(1, 1), (0, 0), (None, None)], ids=["node 1", "node 0", "between"])
def test_a_link_that_goes_down_in_the_middle(tmp_path: Path, port: int | None, node: int | None) -> None:
    plant = tmp_path / "plant"
    plant.write_text("sleep 3 ddp")  # so that there is a middle
    variables = {"PYTHONPATH": str(PLANTED), "ROCDOCTOR_PLANT": str(plant)}
    with network() as made:
        words = ("all-reduce", "ddp", "--nproc-per-node", "2", "--deadline", "60")
        runs = [made.smoke(number, *words, more=variables) for number in (0, 1)]
        _until_ranks_run(made)
        if port is None:
            command("ip", "-n", made.switch, "link", "set", "p1", "nomaster")
        else:
            made.port(port, "down")
        first, second = both(*runs)
        ended(made, first, second, 1)
    assert "Node 1 at 198.51.100.2 has not been heard of for 5 s" in first.text
    assert "Node 0 has not been heard of for 5 s" in second.text
    for number, ran in enumerate((first, second)):
        assert (f"eth0 of node {number} has no link" in ran.text) is (number == node)
    assert "ranks 2, 3 (node 1)" in first.text


@pytest.mark.heavy
def test_nothing_is_left_of_a_node_that_is_killed(tmp_path: Path) -> None:
    plant = tmp_path / "plant"
    plant.write_text("sleep 3 ddp")
    # A killed program cannot remove its folder; the test does.
    more = {"PYTHONPATH": str(PLANTED), "ROCDOCTOR_PLANT": str(plant), "TMPDIR": str(tmp_path)}
    with network() as made:
        words = ("all-reduce", "ddp", "--nproc-per-node", "2", "--deadline", "60")
        runs = [made.smoke(number, *words, more=more) for number in (0, 1)]
        _until_ranks_run(made)
        runs[1].kill()
        first, second = both(*runs)
        assert until(lambda: not made.left()), made.left()
    assert (first.code, second.code) == (1, -9)
    assert "Node 1 at 198.51.100.2 closed its connection" in first.text


def _until_ranks_run(made: Network) -> None:
    """Wait until the ranks of both nodes have formed their group, which their first collectives show soon after."""

    def run() -> bool:
        boards = [_board(pid) for pid in made.left()]
        return sum("planted" in one or "ddp" in one for one in boards) >= 2

    assert until(run), "the ranks did not begin"


def _board(pid: str) -> str:
    """What stands on the board that a rank has in its memory; empty for any other process."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
        path = next(line.split()[-1] for line in maps.splitlines() if line.endswith("/board"))
        return Path(path).read_bytes().decode("utf-8", errors="replace")
    except (OSError, StopIteration):
        return ""
