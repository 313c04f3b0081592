"""How the nodes find each other: node 0 listens on the rendezvous port, the others connect to it and say who they are.

It is the port that torchrun uses afterwards, so that what was reached here will be reached there.
"""

from __future__ import annotations

import errno
import select
import socket
import time
from collections.abc import Callable
from typing import Any

from rocdoctor import __version__
from rocdoctor.shell_command import shell
from rocdoctor.smoke.nodes.facts import NodeFacts, facts_from_json, resolve, within
from rocdoctor.smoke.nodes.findings import NodeFinding, numbers
from rocdoctor.smoke.nodes.interfaces import bindable, is_loopback
from rocdoctor.smoke.nodes.links import words_of
from rocdoctor.smoke.nodes.place import Place
from rocdoctor.smoke.nodes.wire import Wire

_CAUSE = "rendezvous-name-resolution"
_HELLO_S = 5.0
_TRY_S = 4.0  # the kernel looks for a neighbour for 3 s and then says that there is none
_TOLD_S = 2.0  # nodes that are started at the same time find each other sooner
_UNREACHABLE_S = 6.0  # two tries
Say = Callable[[str], None]


class MeetingError(Exception):
    """The nodes did not find each other."""

    def __init__(self, *findings: NodeFinding) -> None:
        super().__init__(findings[0].message if findings else "")
        self.findings = findings


def host(place: Place, limit_s: float, say: Say) -> tuple[dict[int, Wire], dict[int, NodeFacts]]:
    """Wait on node 0 until all other nodes are there.

    Raises:
        MeetingError: the port cannot be had, a node does not come or does not fit.
    """
    listener = _listen(place)
    wires: dict[int, Wire] = {}
    facts: dict[int, NodeFacts] = {}
    fresh: list[Wire] = []
    began = time.monotonic()
    deadline, hint = began + limit_s, began + _TOLD_S
    try:
        while len(wires) < place.nodes - 1:
            now = time.monotonic()
            if now >= deadline:
                raise MeetingError(_missing(place, wires, limit_s))
            if now >= hint:
                hint = now + 10.0
                say(_waiting(place, wires, deadline - now))
            waited: list[socket.socket | Wire] = [listener, *fresh]
            ready = select.select(waited, [], [], min(0.5, deadline - now))[0]
            if listener in ready:
                fresh.append(Wire(listener.accept()[0]))
            for wire in list(fresh):
                for word in wire.take():
                    if wire in fresh and "hello" in word:
                        fresh.remove(wire)
                        _welcome(place, wire, word, wires, facts)
                if wire in fresh and (wire.closed or time.monotonic() - wire.heard > _HELLO_S):
                    fresh.remove(wire)
                    wire.close()
    except BaseException:
        for wire in wires.values():
            wire.say(end=1, code=1, words="node 0 gave up: not all nodes came")
            wire.close()
        raise
    finally:
        listener.close()
        for wire in fresh:
            wire.close()
    return wires, facts


def _listen(place: Place) -> socket.socket:
    found = within(_TRY_S, lambda: resolve(place.host))
    own = [address for address in found or () if bindable(address)]
    if found and not own:
        named = place.host if place.host == found[0] else f"{place.host} ({found[0]})"
        words = f"This is node 0, but {named} is not an address of this node, so nobody will find it there."
        fix = "Give an address of node 0 in --rdzv on all nodes, and --node-rank 0 on that node alone."
        raise MeetingError(NodeFinding("rendezvous", "error", _CAUSE, (0,), words, fix, "ip -brief address"))
    if not found:
        raise MeetingError(_unresolved(place))
    family = socket.AF_INET6 if ":" in (own or ["0"])[0] else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("", place.port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            words = f"Port {place.port} of node 0 is taken by another program, perhaps a job that was left behind."
        else:
            words = f"Port {place.port} of node 0 cannot be opened: {words_of(error)}."
        fix = "End that program, or give another port in --rdzv on all nodes."
        command = shell("sudo ss -ltnp sport = :{port}", port=place.port)
        raise MeetingError(NodeFinding("port", "error", _CAUSE, (0,), words, fix, command)) from None
    return listener


def _welcome(
    place: Place, wire: Wire, word: dict[str, Any], wires: dict[int, Wire], facts: dict[int, NodeFacts]
) -> None:
    node = word.get("node")
    problem = ""
    if word.get("version") != __version__:
        problem = f"it runs rocdoctor {str(word.get('version'))[:40]}, node 0 runs {__version__}"
    elif word.get("key") != place.key:
        return wire.close()  # of another job: it will look elsewhere or give up
    elif word.get("nodes") != place.nodes:
        problem = f"it was told --nnodes {str(word.get('nodes'))[:10]}, node 0 was told {place.nodes}"
    elif not isinstance(node, int) or not 1 <= node < place.nodes:
        problem = f"it says that it is node {str(node)[:10]} of {place.nodes}"
    elif node in wires:
        problem = f"it says that it is node {node}, and so does {wires[node].peer_address()}"
    if problem:
        words = f"The command at {wire.peer_address()} does not fit: {problem}."
        finding = NodeFinding(
            "rendezvous",
            "error",
            _CAUSE,
            (0,),
            words,
            "Give the same command on every node, each with its own --node-rank.",
        )
        wire.say(end=1, code=1, words=words)
        wire.close()
        raise MeetingError(finding)
    assert isinstance(node, int)
    wires[node] = wire
    told = word.get("facts")
    facts[node] = facts_from_json(told if isinstance(told, dict) else {}, node)
    wire.say(welcome=1)
    wire.beat()  # it may be long until the last one comes
    return None


def _waiting(place: Place, wires: dict[int, Wire], rest_s: float) -> str:
    missing = [node for node in range(1, place.nodes) if node not in wires]
    return f"node 0 listens on {place.endpoint} and waits for {numbers(missing)}, {rest_s:.0f} s more"


def _missing(place: Place, wires: dict[int, Wire], limit_s: float) -> NodeFinding:
    missing = tuple(node for node in range(1, place.nodes) if node not in wires)
    who = numbers(missing)
    words = f"{who[0].upper()}{who[1:]} did not come to {place.endpoint} within {limit_s:g} s."
    advice = (
        "Read what rocdoctor says there: it names the reason (another port, no route, a firewall, a name that resolves "
        "to another address). If it does not run there, start the same command with that --node-rank."
    )
    return NodeFinding("rendezvous", "error", _CAUSE, missing, words, advice)


def _unresolved(place: Place) -> NodeFinding:
    words = f"The name {place.host} does not resolve on node {place.node}."
    advice = "Give an IP address of node 0 in --rdzv, or make the name known on every node (DNS or /etc/hosts)."
    return NodeFinding(
        "name-resolution", "error", _CAUSE, (place.node,), words, advice, shell("getent hosts {host}", host=place.host)
    )


def join(place: Place, mine: NodeFacts, limit_s: float, say: Say) -> Wire:
    """Connect to node 0 and say who this is; what stands in the way is said as soon as it is known.

    Raises:
        MeetingError: node 0 cannot be found or does not want us.
    """
    addresses = within(_TRY_S, lambda: resolve(place.host))
    if not addresses:
        raise MeetingError(_unresolved(place))
    began = time.monotonic()
    told, kind, since = "", "", began
    while True:
        wire, problem = _try(place, mine, addresses)
        now = time.monotonic()
        if wire is not None:
            wire.beat()
            return wire
        if problem != kind:
            kind, since = problem, now
        finding = explain(place, problem, addresses, bindable(addresses[0]))
        limit = limit_s if problem in ("refused", "silent") else min(limit_s, _UNREACHABLE_S)
        if now - began >= limit:
            raise MeetingError(finding)
        if finding.message != told and now - min(since, began) >= _TOLD_S:
            told = finding.message
            say(f"{finding.message} {finding.remedy} Trying for {limit - (now - began):.0f} s more.")
        time.sleep(0.3)


def _try(place: Place, mine: NodeFacts, addresses: tuple[str, ...]) -> tuple[Wire | None, str]:
    problem = "no answer"
    for address in addresses[:4]:
        try:
            wire = Wire(socket.create_connection((address, place.port), _TRY_S))
        except OSError as error:
            refused = error.errno == errno.ECONNREFUSED
            problem = "refused" if refused else words_of(error)
            continue
        wire.say(hello=1, version=__version__, node=place.node, nodes=place.nodes, key=place.key, facts=mine.to_json())
        word = wire.wait(_HELLO_S, "welcome", "end")
        if word and "welcome" in word:
            return wire, ""
        wire.close()
        if word:
            fix = "Give the same command on every node, each with its own --node-rank."
            raise MeetingError(
                NodeFinding("rendezvous", "error", _CAUSE, (place.node,), str(word.get("words"))[:300], fix)
            )
        problem = "silent"
    return None, problem


def explain(place: Place, problem: str, addresses: tuple[str, ...], own: bool = False) -> NodeFinding:
    """Why node 0 is not reached, from the kind of failure. ``own``: the address is one of this node."""
    address, node = addresses[0], place.node
    named = f"{place.host} ({address})" if place.host != address else address
    command = shell("ip route get {address:address}", address=address)
    if own and problem == "refused" and place.host == address:
        words = f"{address} is an address of node {node} itself, and nothing listens on port {place.port} there."
        fix = "Give an address of node 0 in --rdzv that the other nodes reach. On one machine, start node 0 too."
        return NodeFinding("port", "error", _CAUSE, (node,), words, fix, "ip -brief address   # on node 0")
    if is_loopback(address) and place.host != address:
        words = f"On node {node} the name {place.host} resolves to {address}, its own loopback, and not to node 0."
        fix = f"Give an IP address of node 0 in --rdzv, or remove that line from /etc/hosts of node {node}."
        return NodeFinding(
            "name-resolution", "error", _CAUSE, (node,), words, fix, shell("getent hosts {host}", host=place.host)
        )
    if problem == "refused":
        words = f"Node {node} reaches {named}, but nothing listens on port {place.port} there."
        fix = (
            "Either rocdoctor does not run on node 0 yet, or --rdzv names another port or address there: compare the "
            "two commands."
        )
        return NodeFinding(
            "port",
            "error",
            _CAUSE,
            (node,),
            words,
            fix,
            shell("ss -ltn sport = :{port}   # on node 0", port=place.port),
        )
    if problem == "silent":
        words = f"Something answers at {named} port {place.port}, but it is not rocdoctor of this run."
        fix = "Give another port in --rdzv on all nodes: a training job or another run uses this one."
        return NodeFinding(
            "port",
            "error",
            _CAUSE,
            (0,),
            words,
            fix,
            shell("sudo ss -tlnp sport = :{port}   # on node 0", port=place.port),
        )
    if "unreachable" in problem and "network" in problem:
        words = f"Node {node} has no route to {named}."
        return NodeFinding(
            "reach", "error", _CAUSE, (node,), words, "Give an address of node 0 in a network that both have.", command
        )
    if "no route" in problem or "unreachable" in problem:
        words = f"Nothing on the network answers for {named} (node {node} finds no such host)."
        fix = "Check that this is an address of node 0, that node 0 is up, and that both are in the same network."
        return NodeFinding("reach", "error", _CAUSE, (node,), words, fix, command)
    words = f"Node {node} gets no answer from {named} port {place.port} ({problem})."
    fix = (
        f"A firewall drops it, or this is no address of node 0: let TCP port {place.port}, and between the nodes "
        "all ports above 1024, through on node 0."
    )
    return NodeFinding("reach", "error", _CAUSE, (node,), words, fix, command)
