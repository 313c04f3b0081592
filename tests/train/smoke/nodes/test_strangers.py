"""Whoever does not know the run's secret gets no answer, ends nothing and is believed nothing, on either side."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from rocdoctor import __version__
from rocdoctor.train.smoke.nodes import handshake, member, path_probes, rendezvous
from rocdoctor.train.smoke.nodes.handshake import Claim, SessionKeys, StrangerError
from rocdoctor.train.smoke.nodes.new_connection import Guest, introduce
from rocdoctor.train.smoke.nodes.node_facts import NodeFacts
from rocdoctor.train.smoke.nodes.node_place import NodePlace
from rocdoctor.train.smoke.nodes.polling import most_strangers
from rocdoctor.train.smoke.nodes.signed_lines import Wire
from tests.waiting import until

KEY = "the-key-of-this-test-alone"
TOKEN = "0123456789abcdef01234567"


def facts(node: int) -> NodeFacts:
    return NodeFacts(node, {"torch": "2.9.0"}, (), None, None, {})


def quiet(_: str) -> None:
    """Nobody listens."""


class Meeting:
    """Node 0 that waits, in a thread."""

    def __init__(self, nodes: int = 2, limit_s: float = 30.0, host: str = "127.0.0.1") -> None:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = int(one.getsockname()[1])
        self.place = NodePlace(0, nodes, host, port, key=KEY)
        self.facts: dict[int, NodeFacts] = {}
        self.problem = ""
        self._limit_s = limit_s
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.stranger().close()  # it listens

    def _run(self) -> None:
        try:
            wires, self.facts = rendezvous.host(self.place, self._limit_s, quiet)
            for wire in wires.values():
                wire.close()
        except rendezvous.MeetingError as problem:
            self.problem = str(problem)
        except BaseException as problem:
            self.problem = f"broke: {problem!r}"

    def stranger(self) -> socket.socket:
        """A connection to it."""
        deadline = time.monotonic() + 20
        while True:
            try:
                return socket.create_connection((self.place.host, self.place.port), 20)
            except ConnectionRefusedError:
                assert time.monotonic() < deadline
                time.sleep(0.01)

    def ends_well(self) -> None:
        """The true node comes after all that, and is let in."""
        rendezvous.join(replace(self.place, node=1), facts(1), 20, quiet).close()
        self._thread.join(30)
        assert (self.problem, set(self.facts)) == ("", {1})


def answer(connection: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(4096):
            found += data
    return found


FIRST = handshake.Caller("another-key-than-the-right-one", Claim(1, 2, "127.0.0.1 5", "127.0.0.1 6")).first()


@pytest.mark.parametrize(
    "said",
    [
        b'{"hello": 1, "version": "x"}\n',
        b'{"hello": 1, "version": "x", "key": "", "nodes": 3, "node": 1}\n',
        json.dumps({"hello": 1, "nodes": 2, "node": 1, "facts": {"interfaces": [{"addresses": 5}]}}).encode() + b"\n",
        b"[" * 5000 + b"\n",
        b"9" * 1_000_000 + b"\n",
        b'{"a": NaN}\n\xff\xfe\x00\n',
        b"GET / HTTP/1.1\r\n\r\n",
        b"\n\n\n",
        FIRST,
        FIRST.replace(b" 1 2 ", b" 9999 9999 "),
        FIRST[:-40] + b"\n",
        b"x" * 100_000,
    ],
    ids=["version", "nodes", "addresses", "nested", "digits", "NaN", "http", "empty", "key", "claim", "cut", "long"],
)
def test_a_stranger_is_closed_without_a_word_and_ends_nothing(said: bytes) -> None:
    meeting = Meeting()
    with meeting.stranger() as connection:
        with contextlib.suppress(OSError):
            connection.sendall(said)
        assert answer(connection) == b""
    meeting.ends_well()


def test_the_first_line_of_somebody_else_does_not_open_the_door_again() -> None:
    meeting = Meeting()
    with meeting.stranger() as connection:
        claim = Claim(1, 2, *(handshake.end(*one()) for one in (connection.getsockname, connection.getpeername)))
        first = handshake.Caller(KEY, claim).first()
        connection.sendall(first)
        seen = connection.recv(400)
        assert handshake.Caller(KEY, claim).first() != first and len(seen) > 64
        connection.sendall(b"0" * 64 + b"\n")
        assert answer(connection) == b""
    with meeting.stranger() as connection:  # who heard the first line can only make node 0 prove itself
        connection.sendall(first)
        again = connection.recv(400)
        assert again != seen
        connection.sendall(seen)
        assert answer(connection) == b""
    meeting.ends_well()


def test_a_thousand_slow_strangers_do_not_keep_the_others_out(monkeypatch: pytest.MonkeyPatch) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        pytest.skip("needs 4,096 file descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    try:
        with contextlib.ExitStack() as stack:
            # numbers of descriptors above 1,023, which select cannot take
            for _ in range(1020):
                stack.enter_context(socket.socket())
            meeting = Meeting()
            many = [stack.enter_context(meeting.stranger()) for _ in range(300)]
            for one in many:
                with contextlib.suppress(OSError):
                    one.sendall(b"r")
            meeting.ends_well()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_who_is_slow_is_dropped_at_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendezvous, "_HELLO_S", 0.3)
    meeting = Meeting()
    with meeting.stranger() as connection:

        def drip() -> None:
            with contextlib.suppress(OSError):
                for _ in range(300):
                    connection.sendall(b"r")
                    time.sleep(0.05)

        threading.Thread(target=drip, daemon=True).start()
        assert answer(connection) == b""  # although it says something all the time
    meeting.ends_well()


def test_node_0_listens_on_the_named_address_alone() -> None:
    meeting = Meeting(host="127.0.0.5")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", meeting.place.port), 5)
    meeting.ends_well()


def test_another_key_is_told_to_the_users_of_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendezvous, "_TOLD_S", 0.0)
    meeting = Meeting(limit_s=3.0)
    other = replace(meeting.place, node=1, key="another-key-of-another-run")
    with pytest.raises(rendezvous.MeetingError, match="not rocdoctor of this run with this key"):
        rendezvous.join(other, facts(1), 0.5, quiet)
    meeting._thread.join(30)
    assert "Somebody without the key of this run connected from 127.0.0.1" in meeting.problem


@contextlib.contextmanager
def false_node_0(says: Callable[[socket.socket], None]) -> Iterator[int]:
    """Somebody who listens in node 0's place; gives the port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        says(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)


def test_a_false_node_0_is_not_followed_and_learns_nothing() -> None:
    heard: list[bytes] = []

    def says(connection: socket.socket) -> None:
        heard.append(connection.recv(4096))
        connection.sendall(b'{"welcome": 1}\n{"do": "start"}\n' + b"a" * 32 + b" " + b"b" * 64 + b"\n")
        heard.append(answer(connection))

    mine = replace(facts(1), variables={"NCCL_TEST": "secret-value"})
    with false_node_0(says) as port, pytest.raises(rendezvous.MeetingError, match="not rocdoctor of this run"):
        rendezvous.join(NodePlace(1, 2, "127.0.0.1", port, key=KEY), mine, 0.3, quiet)
    said = b"".join(heard)
    assert KEY.encode() not in said and b"secret" not in said and b"hello" not in said and b"torch" not in said
    assert all(len(one) < handshake.MAX_LINE for one in heard)


def connected() -> tuple[socket.socket, Guest]:
    """Two ends of a connection, the second of which is asked for its proof."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = socket.create_connection(listener.getsockname())
        other, sender = listener.accept()
    return one, Guest(other, str(sender[0]), KEY)


def proved(one: socket.socket, guest: Guest) -> Wire:
    """What the connecting side has afterwards."""
    found: list[Wire] = []
    thread = threading.Thread(target=lambda: found.append(introduce(one, KEY, 3, 4, 10.0)))
    thread.start()
    deadline = time.monotonic() + 20
    while guest.wire is None and time.monotonic() < deadline:
        guest.hello()
    thread.join(20)
    return found[0]


def test_both_ends_have_the_same_keys_crosswise() -> None:
    one, guest = connected()
    wire = proved(one, guest)
    assert guest.wire is not None and guest.claim is not None
    assert (guest.claim.node, guest.claim.nodes, (guest.claim.client, guest.claim.server)) == (3, 4, guest.ends)
    wire.say(hello=1)
    assert guest.wire.wait(5, "hello") == {"hello": 1}
    guest.wire.say(welcome=1)
    assert wire.wait(5, "welcome") == {"welcome": 1}
    wire.close()
    guest.close()


def test_a_claim_of_another_connection_is_told_to_the_user() -> None:
    meeting = Meeting()
    with meeting.stranger() as connection:
        caller = handshake.Caller(KEY, Claim(1, 2, "10.0.0.9 5", "10.0.0.8 6"))
        connection.sendall(caller.first())
        last, session = caller.second(connection.recv(400).rstrip(b"\n"))
        connection.sendall(last)
        wire = Wire(connection, session)
        wire.say(hello=1, version=__version__, facts={})
        told = wire.wait(10, "end")
        assert told is not None and "something on the way changes addresses" in told["words"]
    meeting._thread.join(30)
    assert "from 10.0.0.9 port 5 to 10.0.0.8 port 6" in meeting.problem


@pytest.mark.parametrize("part", range(5))
def test_no_code_serves_elsewhere(part: int) -> None:
    """Another key, another direction, another claim or another number: each makes another code."""
    claim = Claim(1, 2, "10.0.0.1 5", "10.0.0.2 6")
    caller, listener = handshake.Caller(KEY, claim), handshake.Listener(KEY)
    first = caller.first().rstrip(b"\n")
    if part == 0:
        with pytest.raises(StrangerError):
            handshake.Listener(KEY + "x").take(first)
    elif part == 1:  # what it said itself, thrown back
        with pytest.raises(StrangerError):
            caller.second(first[-97:])
    elif part == 2:
        with pytest.raises(StrangerError):
            handshake.Listener(KEY).take(first.replace(b" 1 2 ", b" 2 2 "))
    elif part == 3:
        with pytest.raises(StrangerError):
            handshake.Caller(KEY, claim).second(listener.take(first).rstrip(b"\n"))
    else:
        answered = listener.take(first).rstrip(b"\n")
        with pytest.raises(StrangerError):
            listener.take(answered[-64:])  # the listener's own code in the place of the caller's
        assert listener.session is None and listener.claim is None


def test_an_empty_key_opens_nothing() -> None:
    for make in (lambda: handshake.Listener(""), lambda: handshake.Caller("", Claim(1, 2, "a 1", "b 2"))):
        with pytest.raises(ValueError, match="needs a secret"):
            make()


def ends() -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return socket.create_connection(listener.getsockname()), listener.accept()[0]


class Way:
    """A connection with somebody on the way who keeps, changes and repeats lines."""

    def __init__(self) -> None:
        self.near, here = ends()
        self.there, far = ends()
        self.one = Wire(here, SessionKeys(b"up", b"down"))
        self.other = Wire(far, SessionKeys(b"down", b"up"))

    def line(self, **fields: Any) -> bytes:
        """A line that the first end says, as it passes by."""
        self.one.say(**fields)
        found = b""
        while not found.endswith(b"\n"):
            found += self.near.recv(65536)
        return found


@pytest.mark.parametrize(
    "change",
    [
        lambda a, b: a + a + b,  # repeated
        lambda a, b: b + a,  # in another order
        lambda a, b: b,  # one kept back
        lambda a, b: a + b.replace(b"stop", b"mode"),
        lambda a, b: a + b'{"do": "stop"}\n',
        lambda a, b: a + b"0" * 32 + b' {"do": "stop"}\n',
        lambda a, b: a + b"\n",
        lambda a, b: a + b"\xff" * 40 + b"\n",
    ],
)
def test_nobody_on_the_way_adds_changes_or_repeats_a_line(change: Callable[[bytes, bytes], bytes]) -> None:
    way = Way()
    way.there.sendall(change(way.line(do="time"), way.line(do="stop")))
    found, deadline = [], time.monotonic() + 20
    while not way.other.closed and time.monotonic() < deadline:
        found += way.other.take()
    assert way.other.closed and way.other.lost
    assert found in ([], [{"do": "time"}])


def test_a_line_does_not_serve_in_the_other_direction() -> None:
    way = Way()
    way.near.sendall(way.line(do="stop"))
    assert way.one.wait(20, "do") is None and way.one.closed


@pytest.mark.parametrize("said", ['{"a": %s}' % ("9" * 1_000_000), "[" * 100_000, "[1]", "nonsense", "\\ud800"])
def test_a_line_that_is_no_object_is_passed_over(said: str) -> None:
    way = Way()
    session = SessionKeys(b"up", b"down")
    from rocdoctor.train.smoke.nodes.signed_lines import _code

    text = said.encode()
    way.one = Wire(way.one._socket, session)
    threading.Thread(target=lambda: way.there.sendall(_code(b"up", 0, text) + b" " + text + b"\n"), daemon=True).start()
    following = _code(b"up", 1, b'{"x": 2}') + b' {"x": 2}\n'
    deadline = time.monotonic() + 20
    while way.other._received < 1 and time.monotonic() < deadline:
        assert way.other.take() == []
    way.there.sendall(following)
    assert way.other.wait(10, "x") == {"x": 2}


@pytest.mark.parametrize(
    "said",
    [
        b"[]\n",
        b"5\n",
        b"null\n",
        b'"x"\n',
        b"[" * 900 + b"\n",
        b'{"token": 5, "do": "give"}\n',
        b'{"token": {"a": 1}, "do": "give"}\n',
        b"\xff\xfe\n",
        b'{"token": "\\ud800", "do": "give"}\n',
        b"9" * 900 + b"\n",
        b'{"do": "give"}\n',
        b"x" * 5000,
    ],
)
def test_the_responder_says_nothing_to_strangers(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    broke: list[object] = []
    monkeypatch.setattr(threading, "excepthook", broke.append)
    responder = path_probes.Responder("127.0.0.1", TOKEN)
    try:
        with socket.create_connection(("127.0.0.1", responder.port), 10) as connection:
            connection.sendall(said)
            assert answer(connection) == b""
        assert path_probes.connect(0, 1, "127.0.0.1", responder.port, TOKEN).error == ""
    finally:
        responder.close()
    assert broke == []


def test_the_responder_keeps_few_strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_probes, "CONNECT_S", 20.0)
    responder = path_probes.Responder("127.0.0.1", TOKEN)
    before = threading.active_count()
    try:
        with contextlib.ExitStack() as stack:
            for _ in range(200):
                stack.enter_context(socket.create_connection(("127.0.0.1", responder.port), 20))
            assert until(lambda: threading.active_count() <= before + most_strangers() + 1)
            assert path_probes.connect(0, 1, "127.0.0.1", responder.port, TOKEN).error == ""
    finally:
        responder.close()


def test_where_few_files_may_be_open_strangers_take_a_quarter_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """They took all of them, and node 0 broke where it opened its next file."""
    found = []
    for soft in (60, 1024, resource.RLIM_INFINITY, 3):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        found.append(most_strangers())
    assert found == [15, 64, 64, 4]


@pytest.mark.parametrize(
    "told",
    [
        b'{"ok": 1}\nstop\n{"bytes": 1e999, "seconds": 1, "stalled": false}\n',
        b'{"ok": 1}\nstop\n[1]\n',
        b'{"ok": 1}\nstop\n{"bytes": 5}\n',
        b'{"ok": 1}\nstop\n{"bytes": 5, "seconds": NaN, "stalled": false}\n',
        b'{"ok": 1}\nstop\n' + b"9" * 990 + b"\n",
    ],
)
def test_a_false_responder_is_not_believed(told: bytes) -> None:
    def says(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(told)

    with false_node_0(says) as port:
        found = path_probes.measure(0, 1, "127.0.0.1", port, TOKEN, None)
    assert found.out is None


class Obeyed:
    """A node's ranks that note what they are told."""

    def __init__(self) -> None:
        self.did: list[object] = []

    def handles(self) -> list[int]:
        return []

    def events(self) -> list[dict[str, Any]]:
        return []

    def start(self, *how: object) -> None:
        self.did.append(how)

    def order(self, mode: str) -> None:
        self.did.append(mode)

    def look(self, silent: list[int]) -> dict[str, Any]:
        self.did.append(silent)
        return {}

    def stop(self) -> None:
        self.did.append("stop")


START: dict[str, Any] = {"do": "start", "per_node": 2, "backend": "gloo", "device": "cpu", "timeout_s": 15.0}
TARGET: dict[str, Any] = {"node": 0, "address": "192.0.2.1", "port": 9, "token": TOKEN, "frame": None}


@pytest.mark.parametrize(
    "order",
    [
        {"do": "format"},
        {"do": 5},
        {"do": ["stop"]},
        {**START, "per_node": 0},
        {**START, "per_node": 10**9},
        {**START, "per_node": "2"},
        {**START, "per_node": True},
        {**START, "backend": "gloo,tcp://x"},
        {**START, "backend": ["gloo"]},
        {**START, "device": "cpu; id"},
        {**START, "timeout_s": float("nan")},
        {**START, "timeout_s": float("inf")},
        {**START, "timeout_s": "1"},
        {"do": "start"},
        {"do": "mode"},
        {"do": "mode", "mode": "../../evil"},
        {"do": "mode", "mode": "elastic"},
        {"do": "mode", "mode": ["ddp"]},
        {"do": "look"},
        {"do": "look", "silent": ["0"]},
        {"do": "look", "silent": 5},
        {"do": "probe"},
        {"do": "probe", "targets": [5]},
        {"do": "probe", "targets": {"a": 1}},
        {"do": "probe", "targets": [{**TARGET, "address": "node1"}]},
        {"do": "probe", "targets": [{**TARGET, "address": "239.1.1.1"}]},
        {"do": "probe", "targets": [{**TARGET, "port": 0}]},
        {"do": "probe", "targets": [{**TARGET, "port": 70000}]},
        {"do": "probe", "targets": [{**TARGET, "token": "x"}]},
        {"do": "probe", "targets": [{**TARGET, "frame": 10**9}]},
        {"do": "probe", "targets": [{**TARGET, "node": "0"}]},
    ],
)
def test_a_node_follows_no_senseless_order(order: dict[str, Any]) -> None:
    way = Way()
    there: Any = Obeyed()
    way.there.sendall(way.line(**order))
    code, _, lost = member.serve(way.other, there, 1, "python", {})
    assert code == 1 and there.did == []
    assert lost is not None and "makes no sense" in lost.message


def test_a_node_follows_those_that_make_sense() -> None:
    way = Way()
    there: Any = Obeyed()
    for order in (START, {"do": "mode", "mode": "ddp"}, {"do": "look", "silent": [1]}, {"do": "stop"}, {"end": 1}):
        way.there.sendall(way.line(**order))
    assert member.serve(way.other, there, 1, "python", {})[2] is None
    assert there.did == [(2, "gloo", "cpu", 15.0, None), "ddp", [1], "stop"]
