"""Pairs over true connections on this machine: what they measure, what is not believed, what is not obeyed."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from rocdoctor.train.smoke.nodes import pair_run, path_probes, rendezvous
from rocdoctor.train.smoke.nodes.handshake import SessionKeys
from rocdoctor.train.smoke.nodes.node_facts import NodeFacts
from rocdoctor.train.smoke.nodes.node_place import NodePlace
from rocdoctor.train.smoke.nodes.pair_probes import from_word, rate_of
from rocdoctor.train.smoke.nodes.pair_results import PairResult
from rocdoctor.train.smoke.nodes.pair_run import PairLead, PairOutcome, serve_pairs
from rocdoctor.train.smoke.nodes.path_probes import Responder, Stream, ask
from rocdoctor.train.smoke.nodes.signed_lines import Wire

TOKEN = "0123456789abcdef01234567"
TARGET = {"node": 0, "address": "127.0.0.1", "port": 9, "token": TOKEN}


def wires() -> tuple[Wire, Wire]:
    """Both ends of a connection between nodes that know each other."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        one = socket.create_connection(listener.getsockname())
        other, _ = listener.accept()
    return Wire(one, SessionKeys(b"a", b"b")), Wire(other, SessionKeys(b"b", b"a"))


def facts(node: int, responder: Responder) -> NodeFacts:
    return NodeFacts(
        node, {}, (), None, None, {}, "same", data_address="127.0.0.1", data_port=responder.port, token=TOKEN
    )


class Listed:
    """A plan that stands."""

    def __init__(self, *rounds: list[tuple[int, int]]) -> None:
        self.rounds = list(rounds)

    def next(self, results: Sequence[PairResult], gone: Any = ()) -> list[tuple[int, int]]:
        return self.rounds.pop(0) if self.rounds else []


@contextlib.contextmanager
def leading(nodes: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[PairLead, dict[int, Wire], list[Responder]]]:
    """Node 0, and the far ends of its connections."""
    monkeypatch.setattr(path_probes, "STREAM_S", 0.02)
    with contextlib.ExitStack() as stack:
        near: dict[int, Wire] = {}
        far: dict[int, Wire] = {}
        responders = [Responder("127.0.0.1", TOKEN) for _ in range(nodes)]
        for one in responders:
            stack.callback(one.close)
        for node in range(1, nodes):
            near[node], far[node] = wires()
            for wire in (near[node], far[node]):
                stack.callback(wire.close)
        told = {node: facts(node, responders[node]) for node in range(nodes)}
        yield PairLead(NodePlace(0, nodes, "127.0.0.1", 1), 15.0, near, told, responders[0]), far, responders


def test_pairs_measure_and_both_ends_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with leading(3, monkeypatch) as (lead, far, responders):
        ended: list[PairOutcome] = []
        for node, wire in far.items():
            target = lambda node=node, wire=wire: ended.append(serve_pairs(wire, node, responders[node]))  # noqa: E731
            threading.Thread(target=target, daemon=True).start()
        found = lead.run(lambda nodes: Listed([(1, 2)], [(0, 1)], [(2, 0)]))
    assert [(one.ends, one.round, one.state) for one in found.results] == [
        ((1, 2), 0, "measured"),
        ((0, 1), 1, "measured"),
        ((2, 0), 2, "measured"),
    ]
    for one in found.results:
        assert one.rate is not None
        assert one.rate > 1.0
        assert sorted(one.rtt_us) == [64, 65536]
        assert one.rtt_us[64] > 0
    assert found.gone == {}


def test_who_says_nothing_costs_its_round_and_is_not_believed_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_run, "_REPORT_S", 0.2)
    with leading(3, monkeypatch) as (lead, far, _):
        lead.limit_s = 0.1
        far[2].beat()
        # Node 1 answers for a round that is not this one; node 2 is there and says nothing.
        far[1].say(paired={"state": "measured", "back_mbit_s": 9e4, "rtt_us": {}}, round=5)
        found = lead.run(lambda nodes: Listed([(1, 2)]))
    assert [one.state for one in found.results] == ["silent"]


def test_who_is_gone_is_named_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with leading(2, monkeypatch) as (lead, far, _):
        far[1].close()
        found = lead.run(lambda nodes: Listed([(1, 0)]))
    assert [(one.state, one.why) for one in found.results] == [("silent", "closed its connection")]
    assert found.gone == {1: "closed its connection"}


@pytest.mark.parametrize(
    "order",
    [
        {"do": "start", "round": 0, "per_node": 1, "backend": "gloo", "device": "cpu", "timeout_s": 1.0},
        {"do": "probe", "round": 0, "targets": [], "measure": True},
        {"do": "pair", "round": 64, "targets": [], "limit_s": 1.0},
        {"do": "pair", "round": 0, "targets": [], "limit_s": 1.0},
        {"do": "pair", "round": 0, "limit_s": 61.0, "targets": [TARGET]},
        {"do": "pair", "round": 0, "limit_s": 1.0, "targets": [TARGET, TARGET]},
        {"do": "pair", "round": 0, "limit_s": 1.0, "targets": [{**TARGET, "token": "x"}]},
        {"do": "pair", "round": 0, "limit_s": 1.0, "targets": [{"node": 0, "address": "224.0.0.1", "port": 9}]},
        {"do": "pair", "round": True, "targets": [], "limit_s": 1.0},
        {"do": "came"},
    ],
)
def test_a_node_measures_and_does_nothing_else(order: dict[str, Any]) -> None:
    near, far = wires()
    near.say(**order)
    found = serve_pairs(far, 1, None)
    assert (found.code, [one.probe for one in found.findings]) == (1, ["lost"])
    assert "an order that makes no sense" in found.findings[0].message
    near.close()
    far.close()


def test_a_message_of_another_size_is_not_sent_back() -> None:
    responder = Responder("127.0.0.1", TOKEN)
    try:
        for size in (1, 7, 1 << 40, -1):
            with ask("127.0.0.1", responder.port, TOKEN, "back", bytes=size) as connection:
                connection.settimeout(20)
                came = b""
                with contextlib.suppress(ConnectionError):  # it closes what it has not read
                    connection.sendall(b"x" * 7)
                    came = connection.recv(1)
                assert came == b""
        with pytest.raises(OSError, match="something else answers"), ask("127.0.0.1", responder.port, "x" * 24, "back"):
            pass
    finally:
        responder.close()


def test_a_node_that_does_not_fit_is_left_out() -> None:
    said: list[str] = []
    place = NodePlace(0, 3, "127.0.0.1", _free_port(), key="a-key-of-these-tests-alone")
    found: list[set[int]] = []

    def host() -> None:
        wires, _ = rendezvous.host(place, 2.0, said.append, without_some=True)
        found.append(set(wires))
        for wire in wires.values():
            wire.close()

    thread = threading.Thread(target=host, daemon=True)
    thread.start()
    mine = NodeFacts(1, {}, (), None, None, {})
    with pytest.raises(rendezvous.MeetingError, match="told --nnodes 4"):
        rendezvous.join(replace(place, node=1, nodes=4), mine, 20, said.append)
    rendezvous.join(replace(place, node=2), replace(mine, node=2), 20, said.append).close()
    thread.join(30)
    assert found == [{2}]
    assert any("told --nnodes 4" in one for one in said)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


GOOD = {"state": "measured", "back_mbit_s": 800.0, "rtt_us": {"64": 20.0, "65536": 90.0}}
CAME = [Stream(1_000_000, 0.02, False)] * 2


def test_what_went_out_is_what_came_there() -> None:
    found = from_word(GOOD | {"out_mbit_s": 1e7}, (1, 2), 3, CAME, 1000)
    assert (found.out_mbit_s, found.back_mbit_s, found.rate) == (800.0, 800.0, 800.0)
    assert from_word(GOOD | {"back_mbit_s": 1e7}, (1, 2), 3, CAME, None).rate == 800.0
    assert from_word(GOOD, (1, 2), 3, None, None).state == "failed"
    assert from_word(GOOD | {"back_mbit_s": 1e-320}, (1, 2), 3, CAME, None).rate == 0.0, "its shares are no numbers"
    endless = [Stream(1 << 40, 1e-300, False)] * 64
    assert from_word(GOOD, (1, 2), 3, endless, None).rate == 0.0, "more than any network carries, and no JSON number"


@pytest.mark.parametrize(
    "odd",
    [
        {"back_mbit_s": -1.0},
        {"back_mbit_s": float("nan")},
        {"back_mbit_s": float("inf")},
        {"back_mbit_s": 1e12},
        {"back_mbit_s": True},
        {"back_mbit_s": "800"},
        {"back_mbit_s": 10**39},
        {"rtt_us": [1]},
        {"state": "silent"},
        {"state": ["measured"]},
    ],
)
def test_a_report_that_is_none_tells_nothing(odd: dict[str, Any]) -> None:
    assert from_word(GOOD | odd, (1, 2), 0, CAME, None).state == "silent"


def test_a_reason_is_one_clean_line() -> None:
    found = from_word({"state": "failed", "why": "no\n\x1b[31mroute" + "x" * 500}, (1, 2), 0, None, None)
    assert "\n" not in found.why
    assert "\x1b" not in found.why
    assert len(found.why) < 200
    assert from_word({"state": "failed", "why": [["no"]]}, (1, 2), 0, None, None).why == ""


def test_node_0_is_measured_where_most_reach_it() -> None:
    """Where the first to come is the only one on another network, none of the others reached node 0."""

    class _At:
        def __init__(self, address: str) -> None:
            self.local_address = lambda: address

    wires: Any = [_At("192.0.2.1"), _At("198.51.100.1"), _At("198.51.100.1")]
    assert pair_run.reached_at(wires) == "198.51.100.1"
    assert pair_run.reached_at(wires[:2]) == "192.0.2.1"


def test_a_stream_that_stops_on_the_way_is_not_fast() -> None:
    whole, broken = Stream(1_000_000, 0.01, False), Stream(1_000_000, 0.01, True)
    assert rate_of([whole] * 4) == pytest.approx(3200.0)
    for streams in ([broken] * 4, [*[whole] * 3, broken]):
        assert 0.0 < rate_of(streams) < 15.0, "nothing came for 2.5 seconds"
    assert rate_of([Stream(0, 0.0, True)] * 4) == rate_of([]) == 0.0


@pytest.mark.parametrize(
    "value", [None, {}, [1], [[1, 2]], [[-1, 1.0, False]], [[1, 1.0, False]] * 65, [["a", 1.0, 0]]]
)
def test_streams_that_are_none(value: Any) -> None:
    assert pair_run._streams(value) is None
    assert pair_run._streams([[5, 1.0, False]]) == [Stream(5, 1.0, False)]
