"""What probes between nodes are read as: constructed facts and links in, findings out."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.host.masking.masker import Masker
from rocdoctor.train.smoke.nodes import interfaces
from rocdoctor.train.smoke.nodes.findings import (
    clock_findings,
    local_findings,
    merged,
    numbers,
    variable_findings,
    version_findings,
)
from rocdoctor.train.smoke.nodes.interfaces import NodeInterface, from_json, gloo_choice, nccl_choice
from rocdoctor.train.smoke.nodes.node_facts import NodeFacts, disclosed, facts_from_json
from rocdoctor.train.smoke.nodes.node_place import NodePlace
from rocdoctor.train.smoke.nodes.path_findings import frame_findings, reach_findings, speed_findings
from rocdoctor.train.smoke.nodes.path_probes import ProbedLink, Stream
from rocdoctor.train.smoke.nodes.rendezvous import explain

LO = NodeInterface("lo", True, True, 65536, None, ("127.0.0.1", "::1"))
ETH = NodeInterface("eth0", True, True, 1500, 10000, ("198.51.100.1",))
IB = NodeInterface("ib0", True, True, 4092, 100000, ("192.0.2.1",))
DOCKER = NodeInterface("docker0", True, False, 1500, None, ("172.17.0.1",))
VERSIONS: dict[str, str | None] = {
    "rocdoctor": "0.1.0",
    "python": "3.12.3",
    "torch": "2.9.0",
    "hip": "7.0.2",
    "cuda": None,
}


def node(number: int = 0, *faces: NodeInterface, host: tuple[str, ...] | None = (), **variables: str) -> NodeFacts:
    """A node with lo and eth0 unless told otherwise; its host name is eth0's address."""
    faces = faces or (LO, ETH)
    addresses = (ETH.addresses[0],) if host == () else host
    own = next((one for one in addresses or () if any(one in face.addresses for face in faces)), None)
    facts = NodeFacts(number, VERSIONS, faces, addresses, own, variables)
    return replace(facts, data_address="198.51.100.1", data_port=4000)


def test_a_sound_node_has_no_finding() -> None:
    assert local_findings(node(), "gloo", "198.51.100.1") == []
    assert local_findings(node(GLOO_SOCKET_IFNAME="eth0", NCCL_SOCKET_IFNAME="^docker,lo"), "nccl") == []


@pytest.mark.parametrize(
    ("faces", "value", "words"),
    [
        ((LO, ETH), "ib0", "has no such interface"),
        ((LO, ETH), "lo", "the loopback interface"),
        ((LO, replace(ETH, up=False, running=False)), "eth0", "is down"),
        ((LO, replace(ETH, running=False)), "eth0", "no link"),
        ((LO, replace(ETH, addresses=())), "eth0", "no IP address"),
    ],
)
def test_a_variable_that_names_the_wrong_interface(faces: tuple[NodeInterface, ...], value: str, words: str) -> None:
    found = local_findings(node(3, *faces, GLOO_SOCKET_IFNAME=value), "gloo")
    assert [(one.probe, one.severity, one.nodes) for one in found] == [("interface", "error", (3,))]
    assert words in found[0].message
    assert "node 3" in found[0].message


def test_the_interface_that_node_0_was_reached_on_is_the_advice() -> None:
    found = local_findings(node(1, LO, IB, ETH, GLOO_SOCKET_IFNAME="lo"), "gloo", "198.51.100.1")
    assert found[0].command == "export GLOO_SOCKET_IFNAME=eth0"


@pytest.mark.parametrize(
    ("host", "words"),
    [
        (None, "does not resolve"),
        (("127.0.1.1",), "resolves to 127.0.1.1"),
        (("203.0.113.9",), "not an address of that node"),
    ],
)
def test_a_host_name_that_gives_gloo_loopback(host: tuple[str, ...] | None, words: str) -> None:
    broken = replace(node(2, host=host), host_address=host[0] if host and host[0].startswith("127") else None)
    found = local_findings(broken, "gloo", "198.51.100.1")
    assert [one.probe for one in found] == ["name-resolution"]
    assert words in found[0].message
    assert found[0].command == "export GLOO_SOCKET_IFNAME=eth0"
    assert local_findings(broken, "nccl", "198.51.100.1") == []
    assert local_findings(broken, "gloo", alone=True) == []


def test_what_nccl_takes_by_itself() -> None:
    assert nccl_choice({}, (LO, DOCKER, ETH, IB)).interface == "ib0"
    assert nccl_choice({}, (LO, DOCKER, ETH)).interface == "eth0"
    assert nccl_choice({"NCCL_SOCKET_IFNAME": "=eth0"}, (LO, IB, ETH)).address == "198.51.100.1"
    assert nccl_choice({"NCCL_SOCKET_IFNAME": "bond"}, (LO, ETH)).address is None
    assert gloo_choice({"GLOO_SOCKET_IFNAME": "ib0,eth0"}, (LO, ETH, IB), None).address == "192.0.2.1"


def test_versions_that_differ_name_the_fewer_nodes() -> None:
    other = replace(node(2), versions={**VERSIONS, "torch": "2.8.0", "python": "3.12.1"})
    found = version_findings([node(0), node(1), other])
    assert [(one.severity, one.nodes) for one in found] == [("error", (2,)), ("info", (2,))]
    assert "2.8.0 on node 2; 2.9.0 on nodes 0-1" in found[0].message
    assert version_findings([node(0), node(1)]) == []


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({"torch": "2.9.1"}, "warning"),
        ({"torch": "2.9.0+cpu"}, "warning"),
        ({"torch": "2.10.0"}, "error"),
        ({"hip": None}, "error"),
        ({"hip": "7.1.0"}, "warning"),
        ({"python": "3.11.9"}, "warning"),
        ({"rocdoctor": "0.2.0"}, "error"),
    ],
)
def test_how_much_a_version_matters(changes: dict[str, str | None], severity: str) -> None:
    found = version_findings([node(0), replace(node(1), versions={**VERSIONS, **changes})])
    assert [one.severity for one in found] == [severity]


def test_a_variable_of_a_library_that_is_not_tried_is_a_warning() -> None:
    facts = node(0, NCCL_SOCKET_IFNAME="ib0", TP_SOCKET_IFNAME="ib0")
    assert [one.severity for one in local_findings(facts, "gloo")] == ["warning", "warning"]
    assert [one.severity for one in local_findings(facts, "nccl")] == ["error", "warning"]


def test_settings_that_differ() -> None:
    found = variable_findings([node(0, NCCL_IB_DISABLE="1", NCCL_SOCKET_IFNAME="a"), node(1, NCCL_SOCKET_IFNAME="b")])
    assert [one.message for one in found] == [
        "NCCL_IB_DISABLE differs among the nodes: 1 on node 0; not set on node 1."
    ]


def test_clocks_count_only_beyond_what_the_way_makes_unsure() -> None:
    assert clock_findings({1: (0.4, 0.001), 2: (-3.0, 2.5)}) == []
    found = clock_findings({1: (-4.0, 0.001), 2: (400.0, 0.1)})
    assert [(one.severity, one.nodes) for one in found] == [("info", (1,)), ("warning", (2,))]
    assert "4.0 s behind" in found[0].message


def test_a_target_that_nobody_reaches_and_one_that_some_reach() -> None:
    way = ProbedLink(0, 1, "198.51.100.2", connect_ms=0.2)
    failed = ProbedLink(1, 0, "198.51.100.1", "no answer")
    found = reach_findings([way, failed, ProbedLink(2, 0, "198.51.100.1", "no answer")])
    assert [(one.nodes, one.severity) for one in found] == [((0,), "error")]
    assert "Nodes 1-2 cannot connect to node 0 at 198.51.100.1" in found[0].message
    some = reach_findings([failed, ProbedLink(2, 0, "198.51.100.1", connect_ms=1.0)])
    assert "other nodes reach it" in some[0].remedy


GOOD = Stream(400_000_000, 0.4, False)


def way(**changes: object) -> ProbedLink:
    """A sound way between nodes 0 and 1."""
    sound = ProbedLink(0, 1, "198.51.100.2", "", 0.2, 9000, 9000, 9000, GOOD, GOOD)
    return replace(sound, **changes)  # type: ignore[arg-type]


def test_large_frames_that_vanish() -> None:
    many = {0: node(0), 1: node(1)}
    stalled = Stream(0, 0.0, True)
    assert frame_findings([way()], many) == []
    found = frame_findings([way(frame_out=1500, frame_back=1500, out=stalled, back=stalled)], many)
    assert [(one.probe, one.severity, one.nodes) for one in found] == [("mtu", "error", (0, 1))]
    assert "Frames of 9000 bytes" in found[0].message
    assert found[0].command == "sudo ip link set dev eth0 mtu 1500"
    assert [one.severity for one in frame_findings([way(frame_back=1500)], many)] == ["warning"]
    assert [one.severity for one in frame_findings([way(frame_out=1500, told=True)], many)] == ["info"]


def test_a_stream_that_stalls_without_a_known_reason() -> None:
    found = frame_findings(
        [way(frame_out=None, frame_back=None, back=Stream(2896, 0.1, True))], {0: node(0), 1: node(1)}
    )
    assert [(one.probe, one.nodes) for one in found] == [("stream", (1, 0))]
    assert "2896 bytes" in found[0].message


def test_slow_means_a_tenth_of_what_the_interface_says() -> None:
    many = {0: node(0), 1: node(1)}
    slow = Stream(2_500_000, 0.4, False)  # 50 Mbit/s
    assert speed_findings([way()], many) == []
    found = speed_findings([way(out=slow, back=slow)], many)
    assert [(one.severity, one.nodes) for one in found] == [("warning", (0, 1))]
    assert "50 Mbit/s (6.2 MB/s)" in found[0].message
    unknown = {0: replace(node(0), interfaces=(LO, replace(ETH, speed_mbit_s=None))), 1: node(1)}
    assert speed_findings([way(out=Stream(6_000_000, 0.4, False))], unknown) == []  # 120 Mbit/s, nothing to measure by


@pytest.mark.parametrize(
    ("driver", "speed"), [("veth", None), ("netkit", None), ("tun", None), ("mlx5_core", 10000), ("", 10000)]
)
def test_the_speed_of_an_interface_without_a_wire_is_not_known(
    monkeypatch: pytest.MonkeyPatch, driver: str, speed: int | None
) -> None:
    stats = SimpleNamespace(flags="up,running", isup=True, mtu=1500, speed=10000)
    monkeypatch.setattr(psutil, "net_if_stats", lambda: {"eth0": stats})
    monkeypatch.setattr(psutil, "net_if_addrs", dict)
    monkeypatch.setattr(interfaces, "_driver", lambda name: driver)
    assert [(one.name, one.speed_mbit_s) for one in interfaces.interfaces()] == [("eth0", speed)]


def test_an_interface_that_is_not_there_has_no_driver() -> None:
    assert interfaces._driver("nosuch0") == interfaces._driver("\0") == interfaces._driver("ü" * 40) == ""


def test_a_stream_between_busy_machines_tells_nothing_of_the_way_unless_it_is_far_too_slow() -> None:
    many = {0: node(0), 1: node(1)}
    slow = Stream(25_000_000, 0.4, False)  # 500 of 10,000 Mbit/s, where a tenth is enough
    assert [one.severity for one in speed_findings([way(out=slow)], many)] == ["warning"]
    assert [one.severity for one in speed_findings([way(out=replace(slow, busy=0.4))], many)] == ["warning"]
    found = speed_findings([way(out=replace(slow, busy=0.6), back=replace(slow, busy=0.7))], many)
    assert [(one.severity, one.nodes, one.cause) for one in found] == [("info", (0, 1), "")]
    assert "500 Mbit/s came" in found[0].message and "60%" in found[0].message


def test_a_way_that_is_slow_is_not_excused_by_busy_machines_in_the_other_direction() -> None:
    """Both directions stand in one finding, the graver one."""
    many = {0: node(0), 1: node(1)}
    slow = Stream(25_000_000, 0.4, False)
    found = speed_findings([way(out=replace(slow, busy=0.9), back=slow)], many)
    assert [(one.severity, one.nodes) for one in found] == [("warning", (1, 0))]


PLACE = NodePlace(1, 2, "198.51.100.1", 29500)


@pytest.mark.parametrize(
    ("problem", "place", "addresses", "own", "words"),
    [
        ("refused", PLACE, ("198.51.100.1",), False, "nothing listens on port 29500"),
        ("refused", replace(PLACE, host="127.0.0.1"), ("127.0.0.1",), True, "an address of node 1 itself"),
        (
            "refused",
            replace(PLACE, host="n0"),
            ("127.0.1.1",),
            True,
            "the name n0 resolves to 127.0.1.1, its own loopback",
        ),
        ("silent", PLACE, ("198.51.100.1",), False, "not rocdoctor"),
        ("network is unreachable", PLACE, ("198.51.100.1",), False, "no route to 198.51.100.1"),
        ("no route to host", PLACE, ("198.51.100.1",), False, "Nothing on the network answers"),
        ("no answer", replace(PLACE, host="n0"), ("198.51.100.1",), False, "no answer from n0 (198.51.100.1)"),
    ],
)
def test_why_node_0_is_not_reached(
    problem: str, place: NodePlace, addresses: tuple[str, ...], own: bool, words: str
) -> None:
    assert words in explain(place, problem, addresses, own).message


def test_numbers_of_nodes() -> None:
    assert numbers([3]) == "node 3"
    assert numbers([2, 0, 1, 5, 7, 8]) == "nodes 0-2, 5, 7-8"


def test_facts_survive_the_way() -> None:
    facts = replace(node(1, NCCL_DEBUG="INFO"), here="0123456789abcdef", data_address=None, data_port=None)
    assert facts_from_json(json.loads(json.dumps(facts.to_json())), 1, "10.0.0.2") == facts
    probed = replace(facts, data_address="10.0.0.2", data_port=4000, token="0123456789abcdef01234567")
    assert facts_from_json(json.loads(json.dumps(probed.to_json())), 1, "10.0.0.2") == probed


@pytest.mark.parametrize(
    "told",
    [
        {"data_address": "203.0.113.9"},
        {"data_address": "node0.example.org"},
        {"data_address": "224.0.0.1"},
        {"data_address": "0.0.0.0"},
        {"data_address": "::"},
        {"data_address": ["10.0.0.2"]},
        {"data_port": 0},
        {"data_port": 65536},
        {"data_port": True},
        {"data_port": "4000"},
        {"data_port": 4000.0},
        {"token": "short"},
        {"token": "0123456789ABCDEF01234567"},
        {"token": 5},
    ],
)
def test_nobody_is_sent_elsewhere_by_the_word_of_a_node(told: dict[str, object]) -> None:
    sound: dict[str, object] = {
        "data_address": "10.0.0.2",
        "data_port": 4000,
        "token": "0123456789abcdef01234567",
        "interfaces": [{"name": "eth1", "up": True, "running": True, "addresses": ["10.7.0.2"]}],
    }
    assert facts_from_json(sound, 1, "10.0.0.2").answers_at(False)
    assert facts_from_json({**sound, "data_address": "10.7.0.2"}, 1, "10.0.0.2").answers_at(False)
    found = facts_from_json({**sound, **told}, 1, "10.0.0.2")
    assert not found.answers_at(True) and (found.data_address, found.data_port, found.token) == (None, None, "")


def test_loopback_is_probed_only_where_all_nodes_are_one_machine() -> None:
    told = {
        "data_address": "127.0.0.1",
        "data_port": 4000,
        "token": "0123456789abcdef01234567",
        "interfaces": [{"name": "lo", "addresses": ["127.0.0.1"]}],
    }
    found = facts_from_json(told, 1, "10.0.0.2")
    assert found.answers_at(True) and not found.answers_at(False)


def test_a_name_that_no_interface_has_is_dropped() -> None:
    names = ["eth0", "eth0; touch PWNED", "$(id)", "a" * 16, "", "br-1.5:0@x", "eth0\n"]
    told = [{"name": name, "addresses": ["10.0.0.2", "nonsense", 5]} for name in names]
    found = from_json([*told, {"name": "ib0", "addresses": 5}, {"name": 5}, 5])
    assert [one.name for one in found] == ["eth0", "br-1.5:0@x", "ib0"]
    assert [one.addresses for one in found] == [("10.0.0.2",), ("10.0.0.2",), ()]


def test_values_of_variables_are_masked_and_still_compared() -> None:
    def shown(key: str, **variables: str) -> dict[str, str]:
        facts = NodeFacts(1, {}, (), None, None, variables)
        return disclosed(facts, key).variables

    token = "hf_" + "Ab3xYz9Qw2" * 3 + "Pq7r"
    one = shown("k", NCCL_DBG_TOK=token, NCCL_IB_HCA="mlx5_0:1", NCCL_TOPO_FILE="/home/dora_k/topo.xml")
    assert token not in str(one) and "dora_k" not in str(one)
    assert one["NCCL_IB_HCA"] == "mlx5_0:1"
    assert one == shown("k", NCCL_DBG_TOK=token, NCCL_IB_HCA="mlx5_0:1", NCCL_TOPO_FILE="/home/dora_k/topo.xml")
    other = shown("k", NCCL_DBG_TOK=token + "x", NCCL_IB_HCA="mlx5_0:1", NCCL_TOPO_FILE="/home/dora_m/topo.xml")
    assert {name for name in one if one[name] != other[name]} == {"NCCL_DBG_TOK", "NCCL_TOPO_FILE"}
    # without the run's key nobody can try values out
    assert shown("other", NCCL_DBG_TOK=token) != shown("k", NCCL_DBG_TOK=token)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "addresses", "mtu", "a"]), inner)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(list(node().to_json())), _JSON))
def test_whatever_another_node_says_is_read(told: dict[str, object]) -> None:
    found = facts_from_json(told, 1, "10.0.0.2")
    local_findings(found, "gloo")
    local_findings(found, "nccl")
    version_findings([node(0), found])
    variable_findings([node(0), found])


def test_the_same_on_several_nodes_is_told_once() -> None:
    many = [one for number in (0, 1, 2) for one in local_findings(node(number, GLOO_SOCKET_IFNAME="ib0"), "gloo")]
    other = clock_findings({11: (400.0, 0.0)})
    found = merged([*many, *other])
    assert [one.nodes for one in found] == [(0, 1, 2), (11,)]
    assert found[0].message.startswith("GLOO_SOCKET_IFNAME is ib0, but each of nodes 0-2 has no such interface")
    assert found[0].remedy.startswith("On each of nodes 0-2 name")
    assert found[1] == other[0]


def test_reports_tell_private_addresses_alone() -> None:
    from rocdoctor.report.smoke.nodes_document import discreet

    assert discreet({"a": ["at 10.0.0.1 and 8.8.8.8:29500", 3, None]}) == {
        "a": ["at 10.0.0.1 and (public address):29500", 3, None]
    }
    assert discreet("2a00:1450::1 fd00::1 12:34:56 torch 2.13.0") == "(public address) fd00::1 12:34:56 torch 2.13.0"
    masker = Masker()
    masker.learn(user="dora_k", home="/home/dora_k")
    words = "NCCL_X is /home/dora_k/x hf_" + "Ab3xYz9Qw2" * 3 + "Pq7r at 10.0.0.1"
    assert (found := discreet([words], (), masker)) and "10.0.0.1" in found[0]
    assert "dora_k" not in found[0] and "Ab3xYz9Qw2" not in found[0]
    assert discreet("The name gpu01.example.org does", ["gpu01.example.org"]) == "The name (host name) does"
