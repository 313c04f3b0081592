"""Meeting, probes and the wire between two ends on this machine's loopback."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rocdoctor.train.smoke.nodes import busy_ends, path_probes, rendezvous
from rocdoctor.train.smoke.nodes.handshake import SessionKeys
from rocdoctor.train.smoke.nodes.node_facts import NodeFacts
from rocdoctor.train.smoke.nodes.node_place import NodePlace
from rocdoctor.train.smoke.nodes.signed_lines import Wire
from tests.train.smoke.nodes.network import KEY

TOKEN = "0123456789abcdef01234567"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def facts(node: int) -> NodeFacts:
    return NodeFacts(node, {"torch": "2.9.0"}, (), None, None, {})


def at(port: int, nodes: int = 2) -> NodePlace:
    """Node 0's place on loopback."""
    return NodePlace(0, nodes, "127.0.0.1", port, key=KEY)


def pair() -> tuple[Wire, Wire]:
    one, other = socket.socketpair()
    return Wire(one, SessionKeys(b"up", b"down")), Wire(other, SessionKeys(b"down", b"up"))


def quiet(_: str) -> None:
    """Nobody listens."""


def test_lines_that_come_together_are_all_read() -> None:
    one, other = pair()
    one.say(welcome=1)
    one.say(do="time")
    one.say(do="stop")
    assert other.wait(2.0, "welcome") == {"welcome": 1}
    assert other.take() == [{"do": "time"}, {"do": "stop"}]
    one.close()
    other.take()
    assert other.closed and other.lost


def test_silence_ends() -> None:
    wire, other = pair()
    other.say(beat=1)
    began = time.monotonic()
    assert wire.wait(0.1, "y") is None
    assert time.monotonic() - began < 5 and not wire.closed
    wire.close()
    other.close()


def test_a_way_on_loopback_is_measured_in_both_directions() -> None:
    responder = path_probes.Responder("127.0.0.1", TOKEN)
    try:
        found = path_probes.measure(0, 1, "127.0.0.1", responder.port, TOKEN, 9000)
        assert found.error == ""
        assert (found.frame_out, found.frame_back) == (9000, 9000)
        for stream in (found.out, found.back):
            assert stream is not None and not stream.stalled and stream.mbit_s
        assert path_probes.connect(0, 1, "127.0.0.1", responder.port, "another token").error
    finally:
        responder.close()
    assert path_probes.connect(0, 1, "127.0.0.1", responder.port, TOKEN).error == "connection refused"


def test_how_busy_both_ends_are_is_told_of_both_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_probes, "ShareWaited", lambda: SimpleNamespace(share=lambda: 0.5))
    responder = path_probes.Responder("127.0.0.1", TOKEN)
    try:
        found = path_probes.measure(0, 1, "127.0.0.1", responder.port, TOKEN, None)
    finally:
        responder.close()
    assert [one and one.busy for one in (found.out, found.back)] == [0.75, 0.75]


@pytest.mark.parametrize("junk", [None, True, -0.1, 1.5, float("nan"), "0.5", [], 10**400])
def test_a_share_that_is_none_excuses_nothing(junk: object) -> None:
    assert path_probes.stream_of(5, 1.0, False, junk) == path_probes.Stream(5, 1.0, False)
    assert path_probes.stream_of(5, 1.0, False, 0.5) == path_probes.Stream(5, 1.0, False, 0.5)


@pytest.mark.parametrize(("waited_s", "share"), [(0.0, 0.0), (3.0, 0.75), (9.0, 1.0), (-1.0, 0.0)])
def test_the_share_is_that_of_the_time_since_the_beginning(
    monkeypatch: pytest.MonkeyPatch, waited_s: float, share: float
) -> None:
    at = {"now": 100.0, "waited": 5.0}
    monkeypatch.setattr(busy_ends, "time", SimpleNamespace(monotonic=lambda: at["now"]))
    monkeypatch.setattr(busy_ends, "_waited_s", lambda: at["waited"])
    busy = busy_ends.ShareWaited()
    at.update(now=104.0, waited=5.0 + waited_s)
    assert busy.share() == share


def test_a_stream_that_ends_early_counts_as_stalled() -> None:
    one, other = socket.socketpair()
    other.sendall(b"x" * 100)
    other.close()
    assert path_probes.receive(one).stalled
    one.close()


def met(place: NodePlace, *others: NodePlace) -> tuple[list[str], list[str]]:
    """Findings at node 0 and at the others after they tried to meet; "met" where all was well."""
    first: list[str] = []
    rest: list[str] = []

    def lead() -> None:
        try:
            wires, _ = rendezvous.host(place, 3.0, quiet)
            first.append("met")
            for wire in wires.values():
                wire.close()
        except rendezvous.MeetingError as problem:
            first.extend(one.message for one in problem.findings)

    def follow(one: NodePlace) -> None:
        try:
            rendezvous.join(one, facts(one.node), 2.0, quiet).close()
            rest.append("met")
        except rendezvous.MeetingError as problem:
            rest.extend(one.message for one in problem.findings)

    threads = [threading.Thread(target=lead), *(threading.Thread(target=follow, args=(one,)) for one in others)]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    for thread in threads:
        thread.join(30)
    return first, rest


def test_two_nodes_meet() -> None:
    place = at(free_port())
    assert met(place, replace(place, node=1)) == (["met"], ["met"])


@pytest.mark.parametrize(
    ("other", "words"),
    [((1, 3), "told --nnodes 3"), ((2, 2), "says that it is node 2 of 2")],
)
def test_a_command_that_does_not_fit_is_told_on_both_sides(other: tuple[int, int], words: str) -> None:
    place = at(free_port())
    first, rest = met(place, replace(place, node=other[0], nodes=other[1]))
    assert words in first[0] and words in rest[0]


def test_two_nodes_of_the_same_number() -> None:
    place = at(free_port(), 3)
    first, rest = met(place, replace(place, node=1), replace(place, node=1))
    assert "says that it is node 1, and so does" in first[0]
    assert "met" in rest


def test_a_node_that_does_not_come_is_named() -> None:
    with pytest.raises(rendezvous.MeetingError) as caught:
        rendezvous.host(at(free_port(), 3), 0.2, quiet)
    assert "Nodes 1-2 did not reach" in str(caught.value)


def test_a_port_that_is_taken() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen(1)
        with pytest.raises(rendezvous.MeetingError) as caught:
            rendezvous.host(at(other.getsockname()[1]), 0.2, quiet)
    assert "taken by another program" in str(caught.value)


def test_an_address_that_node_0_does_not_have() -> None:
    with pytest.raises(rendezvous.MeetingError) as caught:
        rendezvous.host(replace(at(free_port()), host="198.51.100.77"), 0.2, quiet)
    assert "198.51.100.77 is not an address of this node" in str(caught.value)


def test_nothing_listens_and_it_is_said_before_the_end() -> None:
    said: list[str] = []
    place = replace(at(free_port()), node=1)
    with pytest.raises(rendezvous.MeetingError) as caught:
        rendezvous.join(place, facts(1), 2.6, said.append)
    assert "nothing listens on port" in str(caught.value)
    assert len(said) == 1 and "nothing listens" in said[0]


def test_a_stranger_on_the_port_is_no_node_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendezvous, "_HELLO_S", 0.2)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen(8)
        with pytest.raises(rendezvous.MeetingError) as caught:
            rendezvous.join(replace(at(other.getsockname()[1]), node=1), facts(1), 0.3, quiet)
    assert "it is not rocdoctor of this run with this key" in str(caught.value)
