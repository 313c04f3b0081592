"""What the links between nodes show, as findings. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocdoctor.model.shell_command import shell
from rocdoctor.train.smoke.nodes.findings import NodeFinding, Severity, numbers
from rocdoctor.train.smoke.nodes.interfaces import NodeInterface, owner
from rocdoctor.train.smoke.nodes.node_facts import NodeFacts
from rocdoctor.train.smoke.nodes.path_probes import STALL_S, ProbedLink, Stream

_CAUSE = "network-interface-wrong"
# A stream of one connection is far below the speed of fast links, and a busy machine slows it down: only a tenth of
# what the interface says, or of 10 Gbit/s, is called slow; where the speed is unknown, below Fast Ethernet.
_GRADIENT_BITS = 1e9 * 16
_SHARE, _ENOUGH_MBIT_S, _UNKNOWN_MBIT_S = 0.1, 10_000, 1_000


def reach_findings(links: Sequence[ProbedLink]) -> list[NodeFinding]:
    """Nodes that another node cannot connect to, on the address that the communication library would use."""
    found = []
    failed = [one for one in links if one.error]
    for target in sorted({one.b for one in failed}):
        mine = [one for one in failed if one.b == target]
        others = sum(1 for one in links if one.b == target)
        who = numbers([one.a for one in mine])
        words = (
            f"{who[0].upper()}{who[1:]} cannot connect to node {target} at {mine[0].address} ({mine[0].error}), the "
            "address that its ranks would use."
        )
        if len(mine) == others:
            advice = (
                f"Look on node {target} whether a firewall drops connections to ports other than the rendezvous port, "
                "and whether this is the interface of the job's network."
            )
        else:
            advice = f"Look at the routes and firewalls between {who} and node {target}; other nodes reach it."
        found.append(NodeFinding("reach", "error", _CAUSE, (target,), words, advice, "sudo nft list ruleset; ip route"))
    return found


def frame_findings(links: Sequence[ProbedLink], nodes: Mapping[int, NodeFacts]) -> list[NodeFinding]:
    """Streams that stall, because large frames are lost or for another reason."""
    found = []
    for one in links:
        if one.error or not one.frame_bytes:
            continue
        for stream, largest, giver, taker in (
            (one.out, one.frame_out, one.a, one.b),
            (one.back, one.frame_back, one.b, one.a),
        ):
            stalled = stream is not None and stream.stalled
            lost = largest is not None and largest < one.frame_bytes
            if lost:
                found.append(_black_hole(one, int(largest or 0), giver, taker, nodes, stalled))
            elif stalled and stream is not None:
                words = (
                    f"Node {giver} reaches node {taker} at {one.address}, but of a long message only "
                    f"{stream.received_bytes} bytes came and then nothing for {STALL_S:g} s."
                )
                found.append(
                    NodeFinding(
                        "stream",
                        "error",
                        _CAUSE,
                        (giver, taker),
                        words,
                        "Look for losses on the way: error counters of interfaces and switches, the MTU of each hop.",
                        "ip -s link; ping -M do -s 1472 ADDRESS",
                    )
                )
    return _once(found)


def _black_hole(
    one: ProbedLink, largest: int, giver: int, taker: int, nodes: Mapping[int, NodeFacts], stalled: bool
) -> NodeFinding:
    ends = ", ".join(
        f"{face.name} of node {node} has MTU {face.mtu}"
        for node in sorted((giver, taker))
        if (face := face_of(nodes.get(node)))
    )
    name = next((face.name for node in (giver, taker) if (face := face_of(nodes.get(node)))), "IFACE")
    words = f"Frames of {one.frame_bytes} bytes do not get from node {giver} to node {taker}"
    words += f"{'' if one.told else ' and nobody says so'}; up to {largest} bytes pass."
    if stalled:
        words += " Large messages hang, small ones work"
    else:
        words += " A short stream got through all the same"
    words += f" ({ends})." if ends else "."
    advice = (
        f"Set the MTU of both interfaces to what passes ({largest}), or let every switch and tunnel between them pass "
        f"{one.frame_bytes} bytes."
    )
    command = shell("sudo ip link set dev {iface:interface} mtu {size}", iface=name, size=largest)
    severity: Severity = "error" if stalled else ("info" if one.told else "warning")
    return NodeFinding("mtu", severity, _CAUSE, (giver, taker), words, advice, command)


def speed_findings(links: Sequence[ProbedLink], nodes: Mapping[int, NodeFacts]) -> list[NodeFinding]:
    """Streams that are far slower than the interfaces say."""
    found = []
    for one in links:
        ends = [face for node in (one.a, one.b) if (face := face_of(nodes.get(node)))]
        told = [face.speed_mbit_s for face in ends if face.speed_mbit_s]
        named = min(told) if len(told) == len(ends) and told else None
        least = _SHARE * min(named or _UNKNOWN_MBIT_S, _ENOUGH_MBIT_S)
        for stream, giver, taker in ((one.out, one.a, one.b), (one.back, one.b, one.a)):
            rate = _rate(stream)
            if rate is None or stream is None or rate >= least:
                continue
            if stream.busy and rate >= least * (1.0 - stream.busy):
                found.append(_busy(rate, stream.busy, giver, taker))
            else:
                than = f"; the slower interface says {named} Mbit/s" if named else ""
                words = (
                    f"The way from node {giver} to node {taker} carries {rate:.0f} Mbit/s ({rate / 8:.1f} MB/s){than}. "
                    f"The gradients of 1e9 parameters in bf16 would take {_GRADIENT_BITS / rate / 1e6:.0f} s per step."
                )
                advice = (
                    "Check whether this is the fast network (name it in NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME), at "
                    "which speed the link runs, and whether traffic is shaped."
                )
                command = "ip route get ADDRESS; ethtool IFACE; tc qdisc show"
                found.append(NodeFinding("speed", "warning", _CAUSE, (giver, taker), words, advice, command))
    return _once(sorted(found, key=lambda one: one.severity == "info"))  # what one direction tells, the other may not


def _busy(rate: float, busy: float, giver: int, taker: int) -> NodeFinding:
    """Slow, and so it would be on a fast way: nothing is known of this one."""
    words = (
        f"How fast the way from node {giver} to node {taker} is cannot be told: {rate:.0f} Mbit/s came, but the "
        f"programs at both ends waited {busy:.0%} of the time for a processor."
    )
    advice = "Run it again when the processors of both nodes have less to do."
    return NodeFinding("speed", "info", "", (giver, taker), words, advice, "uptime; top -b -n 1 | head -15")


def _rate(stream: Stream | None) -> float | None:
    return stream.mbit_s if stream is not None and not stream.stalled else None


def face_of(one: NodeFacts | None) -> NodeInterface | None:
    """The interface that a node's ranks would use."""
    if one is None or one.data_address is None:
        return None
    return one.interface(owner(one.interfaces, one.data_address))


def _once(found: list[NodeFinding]) -> list[NodeFinding]:
    """Of findings of both directions between two nodes the first, which then stands for both."""
    kept: dict[tuple[str, frozenset[int]], NodeFinding] = {}
    for one in found:
        kept.setdefault((one.probe, frozenset(one.nodes)), one)
    return list(kept.values())
