"""How the nodes find each other: node 0 listens on the rendezvous port, the others connect to it and say who they are.

It is the port that torchrun uses afterwards, so that what was reached here will be reached there. Whoever does not
know the run's secret gets no answer and is told nothing; whoever knows it and does not fit is told why.
"""

from __future__ import annotations

import errno
import re
import socket
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from rocdoctor import __version__
from rocdoctor.model.shell_command import shell
from rocdoctor.train.smoke.nodes.findings import NodeFinding, numbers
from rocdoctor.train.smoke.nodes.handshake import StrangerError
from rocdoctor.train.smoke.nodes.interfaces import bindable, is_loopback
from rocdoctor.train.smoke.nodes.new_connection import Guest, introduce
from rocdoctor.train.smoke.nodes.node_facts import NodeFacts, disclosed, facts_from_json, resolve, within
from rocdoctor.train.smoke.nodes.node_place import NodePlace
from rocdoctor.train.smoke.nodes.path_probes import words_of
from rocdoctor.train.smoke.nodes.polling import most_strangers, ready, to_drop
from rocdoctor.train.smoke.nodes.secret import BEFOREHAND, left
from rocdoctor.train.smoke.nodes.signed_lines import Wire

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


def host(
    place: NodePlace, limit_s: float, say: Say, *, without_some: bool = False
) -> tuple[dict[int, Wire], dict[int, NodeFacts]]:
    """Wait on node 0 until all other nodes are there; ``without_some``: go on with those that came and fit, if any did.

    Raises:
        MeetingError: the port cannot be had, a node does not come or does not fit.
    """
    listeners = _listen(place)
    wires: dict[int, Wire] = {}
    facts: dict[int, NodeFacts] = {}
    fresh: list[Guest] = []
    strangers: Counter[str] = Counter()
    began = time.monotonic()
    deadline, hint = began + limit_s, began + _TOLD_S
    try:
        while len(wires) < place.nodes - 1:
            now = time.monotonic()
            if now >= deadline and without_some and wires:
                break
            if now >= deadline:
                raise MeetingError(_missing(place, wires, limit_s, strangers))
            if now >= hint:
                hint = now + 10.0
                say(_waiting(place, wires, deadline - now))
            waited: list[socket.socket | Guest] = [*listeners, *fresh]
            came = ready(waited, min(0.5, deadline - now))
            for listener in listeners:
                if listener in came:
                    _accept(place, listener, fresh)
            for guest in list(fresh):
                word = guest.hello() if guest in came else None
                if word is not None and guest.wire is not None:
                    fresh.remove(guest)
                    try:
                        _welcome(place, guest, guest.wire, word, wires, facts)
                    except MeetingError as problem:
                        if not without_some:
                            raise
                        say(str(problem))
                elif guest.gone or time.monotonic() - guest.since > _HELLO_S:
                    fresh.remove(guest)
                    guest.close()
                    strangers[guest.address] += 1
    except BaseException:
        for wire in wires.values():
            wire.say(end=1, code=1, words="node 0 gave up: not all nodes came")
            wire.close()
        raise
    finally:
        for listener in listeners:
            listener.close()
        for guest in fresh:
            guest.close()
    return wires, facts


def _accept(place: NodePlace, listener: socket.socket, fresh: list[Guest]) -> None:
    try:
        connection, sender = listener.accept()
    except OSError:  # it has gone again, or all descriptors are taken
        if fresh:
            fresh.pop(to_drop(one.address for one in fresh)).close()
        else:
            time.sleep(0.05)
        return
    try:
        fresh.append(Guest(connection, str(sender[0]), place.key))
    except OSError:
        connection.close()
    if len(fresh) > most_strangers():
        fresh.pop(to_drop(one.address for one in fresh)).close()


def _listen(place: NodePlace) -> list[socket.socket]:
    found = within(_TRY_S, lambda: resolve(place.host))
    own = [address for address in found or () if bindable(address)]
    if found and not own:
        named = place.host if place.host == found[0] else f"{place.host} ({found[0]})"
        words = f"This is node 0, but {named} is not an address of this node, so nobody will find it there."
        fix = "Give an address of node 0 in --rdzv on all nodes, and --node-rank 0 on that node only."
        raise MeetingError(NodeFinding("rendezvous", "error", _CAUSE, (0,), words, fix, "ip -brief address"))
    if not found:
        raise MeetingError(_unresolved(place))
    if place.host != own[0] and all(map(is_loopback, own)):
        # /etc/hosts of node 0 gives its own name loopback (Debian does), which the others know better: on all addresses
        own = [""]
    listeners: list[socket.socket] = []
    try:
        for address in own[:4]:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            listener = socket.socket(family, socket.SOCK_STREAM)
            listeners.append(listener)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, place.port))
            listener.listen(128)
            listener.setblocking(False)
    except OSError as error:
        for listener in listeners:
            listener.close()
        if error.errno == errno.EADDRINUSE:
            words = f"Port {place.port} of node 0 is taken by another program, perhaps a job that was left behind."
        else:
            words = f"Port {place.port} of node 0 cannot be opened: {words_of(error)}."
        fix = "End that program, or give another port in --rdzv on all nodes."
        command = shell("sudo ss -ltnp sport = :{port}", port=place.port)
        raise MeetingError(NodeFinding("port", "error", _CAUSE, (0,), words, fix, command)) from None
    return listeners


def _welcome(
    place: NodePlace,
    guest: Guest,
    wire: Wire,
    word: dict[str, Any],
    wires: dict[int, Wire],
    facts: dict[int, NodeFacts],
) -> None:
    claim = guest.claim
    assert claim is not None
    node, problem = claim.node, ""
    fix = "Give the same command on every node, each with its own --node-rank."
    if word.get("version") != __version__:
        problem = f"it runs rocdoctor {str(word.get('version'))[:40]}, node 0 runs {__version__}"
    elif claim.nodes != place.nodes:
        problem = f"it was told --nnodes {claim.nodes}, node 0 was told {place.nodes}"
    elif not 1 <= node < place.nodes:
        problem = f"it says that it is node {node} of {place.nodes}"
    elif node in wires:
        problem = f"it says that it is node {node}, and so does {wires[node].peer_address()}"
    elif (claim.client, claim.server) != guest.ends:
        problem = f"it sees the connection from {_plain(claim.client)} to {_plain(claim.server)}, node 0 from "
        problem += f"{_plain(guest.ends[0])} to {_plain(guest.ends[1])}: something on the way changes addresses"
        fix = "Let the nodes reach each other without address translation (NAT) and without a proxy."
    if problem:
        words = f"The command at {wire.peer_address()} does not fit: {problem}."
        finding = NodeFinding("rendezvous", "error", _CAUSE, (0,), words, fix)
        wire.say(end=1, code=1, words=words)
        wire.close()
        raise MeetingError(finding)
    wires[node] = wire
    told = word.get("facts")
    facts[node] = facts_from_json(told if isinstance(told, dict) else {}, node, wire.peer_address())
    wire.say(welcome=1)
    wire.beat()  # it may be long until the last one comes


def _plain(end: str) -> str:
    """An address and port without what no address has."""
    return re.sub(r"[^0-9A-Fa-f.: ]", "?", end).replace(" ", " port ")


def _waiting(place: NodePlace, wires: dict[int, Wire], rest_s: float) -> str:
    missing = [node for node in range(1, place.nodes) if node not in wires]
    return f"node 0 listens on {place.endpoint} and waits for {numbers(missing)}, {rest_s:.0f} s more"


def _missing(place: NodePlace, wires: dict[int, Wire], limit_s: float, strangers: Counter[str]) -> NodeFinding:
    missing = tuple(node for node in range(1, place.nodes) if node not in wires)
    who = numbers(missing)
    words = f"{who[0].upper()}{who[1:]} did not reach {place.endpoint} within {limit_s:g} s."
    if strangers:
        some = ", ".join(address for address, _ in strangers.most_common(3))
        words += f" Somebody without the key of this run connected from {some}: compare the keys, or it is a stranger."
    advice = (
        "Read what rocdoctor says there: it names the reason (another port, no route, a firewall, a name that resolves "
        "to another address). If it does not run there, start the same command with that --node-rank."
    )
    return NodeFinding("rendezvous", "error", _CAUSE, missing, words, advice)


def _unresolved(place: NodePlace) -> NodeFinding:
    words = f"The name {place.host} does not resolve on node {place.node}."
    advice = "Give an IP address of node 0 in --rdzv, or make the name known on every node (DNS or /etc/hosts)."
    return NodeFinding(
        "name-resolution", "error", _CAUSE, (place.node,), words, advice, shell("getent hosts {host}", host=place.host)
    )


def join(place: NodePlace, mine: NodeFacts, limit_s: float, say: Say) -> Wire:
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
        limit = limit_s if problem in ("refused", "silent", "no key") else min(limit_s, _UNREACHABLE_S)
        if now - began >= limit:
            raise MeetingError(finding)
        if finding.message != told and now - min(since, began) >= _TOLD_S:
            told = finding.message
            say(f"{finding.message} {finding.remedy} Trying for {limit - (now - began):.0f} s more.")
        time.sleep(0.3)


def _try(place: NodePlace, mine: NodeFacts, addresses: tuple[str, ...]) -> tuple[Wire | None, str]:
    problem = "no answer"
    for address in addresses[:4]:
        try:
            connection = socket.create_connection((address, place.port), _TRY_S)
        except OSError as error:
            refused = error.errno == errno.ECONNREFUSED
            problem = "refused" if refused else words_of(error)
            continue
        # Looked up only when node 0 is there: a shared folder that was asked before may say "no" for half a minute.
        key = place.key or left(place.run)
        if not key:
            connection.close()
            problem = "no key"
            continue
        try:
            wire = introduce(connection, key, place.node, place.nodes, _HELLO_S)
        except (OSError, StrangerError):
            connection.close()
            problem = "silent"
            continue
        wire.say(hello=1, version=__version__, facts=disclosed(mine, key).to_json())
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


def explain(place: NodePlace, problem: str, addresses: tuple[str, ...], own: bool = False) -> NodeFinding:
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
        words = f"Something answers at {named} port {place.port}, but it is not rocdoctor of this run with this key."
        fix = (
            "Compare the key with the one that node 0 prints at its start, and the versions of rocdoctor. If they are "
            "equal, give another port in --rdzv on all nodes: a training job or another run uses this one."
        )
        return NodeFinding(
            "port",
            "error",
            _CAUSE,
            (0,),
            words,
            fix,
            shell("sudo ss -tlnp sport = :{port}   # on node 0", port=place.port),
        )
    if problem == "no key":
        words = f"Node {node} reaches {named}, but finds no key of this run in its working or home directory."
        fix = f"Neither of them is shared with node 0, or it runs as another user. {BEFOREHAND}"
        return NodeFinding("rendezvous", "error", _CAUSE, (node,), words, fix)
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
        f"A firewall drops it, or this is not an address of node 0: let TCP port {place.port}, and between the nodes "
        "all ports above 1024, through on node 0."
    )
    return NodeFinding("reach", "error", _CAUSE, (node,), words, fix, command)
