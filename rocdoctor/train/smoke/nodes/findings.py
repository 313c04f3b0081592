"""What the probes found, as findings: which node, which address, what to do first. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rocdoctor.insight.links.socket_interfaces import chosen, wanted
from rocdoctor.model.shell_command import CommandText, shell
from rocdoctor.train.smoke.nodes.interfaces import (
    GLOO,
    NCCL,
    BoundInterface,
    gloo_choice,
    is_loopback,
    nccl_choice,
    owner,
)
from rocdoctor.train.smoke.nodes.node_facts import NodeFacts, is_local_only

Severity = Literal["error", "warning", "info"]
_INTERFACE, _MEETING, _PACKAGES = "network-interface-wrong", "rendezvous-name-resolution", "python-package-mismatch"
# Skews that matter: lines of logs are out of order from seconds on; MUNGE and Kerberos refuse after 300 s (munge(1)).
_SKEW_S, _REFUSED_S = 1.0, 300.0
_VARIABLES = (GLOO, NCCL, "TP_SOCKET_IFNAME")
# Names of interfaces and adapters differ between nodes that are well.
_MAY_DIFFER = (
    "SOCKET_IFNAME",
    "_HCA",
    "_FILE",
    "_DIR",
    "GRAPH",
    "_DEBUG",
    "NET_DEVICES",
    "CPU_AFFINITY",
    "UNIQUE_ID",
    "COMM_ID",
    "HOSTID",
)


@dataclass(frozen=True, slots=True)
class NodeFinding:
    """One fault between or on nodes.

    ``nodes``: where; ``command``: to be typed there. ``cause`` as in causes.yaml, or empty.
    """

    probe: str
    severity: Severity
    cause: str
    nodes: tuple[int, ...]
    message: str
    remedy: str
    command: CommandText = ""


def choice_of(one: NodeFacts, backend: str) -> BoundInterface:
    """Where the library of a back end binds to on a node."""
    if backend == "nccl":
        return nccl_choice(one.variables, one.interfaces)
    return gloo_choice(one.variables, one.interfaces, one.host_address)


def local_findings(one: NodeFacts, backend: str, reached: str | None = None, alone: bool = False) -> list[NodeFinding]:
    """What a node's own facts tell. ``reached``: its address towards node 0; ``alone``: all nodes are this machine."""
    found: list[NodeFinding] = []
    usual = owner(one.interfaces, reached) if reached and not is_loopback(reached) else None
    better = usual or next(
        (item.name for item in one.interfaces if item.running and item.addresses and not item.loopback), None
    )
    for name in _VARIABLES:
        value = one.variables.get(name, "").strip()
        if value:
            # gloo is formed beside nccl too; RPC (TP) is not part of these tests.
            matters = name == GLOO or (name == NCCL and backend == "nccl")
            found += _variable(one, name, value, better, alone, "error" if matters else "warning")
    choice = choice_of(one, backend)
    if backend == "gloo" and not alone and choice.by != GLOO and is_loopback(choice.address or ""):
        found.append(_host_name(one, choice, better))
    if not one.versions.get("torch"):
        words = f"On node {one.node} torch cannot be used: {one.problem or 'the interpreter has no torch'}."
        advice = "Name the interpreter that has torch with --python; it must exist on every node."
        found.append(NodeFinding("versions", "error", _PACKAGES, (one.node,), words, advice))
    return found


def _variable(
    one: NodeFacts, name: str, value: str, better: str | None, alone: bool, severity: Severity
) -> list[NodeFinding]:
    want = wanted(name, value)
    names = chosen(want, [item.name for item in one.interfaces])
    fix = shell("export {name:name}={interface:interface}", name=name, interface=better) if better else ""
    advice = f"On node {one.node} name the interface of the job's network" + (f", {better}" if better else "")
    where = f"node {one.node}"

    def finding(words: str) -> list[NodeFinding]:
        return [NodeFinding("interface", severity, _INTERFACE, (one.node,), words, advice + ".", fix)]

    present = ", ".join(item.name for item in one.interfaces if item.addresses)
    if not names:
        return finding(
            f"{name} is {value}, but {where} has no such interface (it has {present or 'none with an address'})."
        )
    first = one.interface(names[0])
    if first is None or any(
        (item := one.interface(other)) and item.running and item.addresses and not item.loopback for other in names
    ):
        return []
    if first.loopback:
        words = f"{name} is {value}: the loopback interface of {where}, which no other node can reach."
        return [] if alone else finding(words)
    if not first.up:
        return finding(f"{name} is {value}, and this interface of {where} is down.")
    if not first.running:
        return finding(f"{name} is {value}, and this interface of {where} has no link (no carrier).")
    return finding(f"{name} is {value}, and this interface of {where} has no IP address.")


def _host_name(one: NodeFacts, choice: BoundInterface, better: str | None) -> NodeFinding:
    if one.host_addresses is None:
        why = f"The host name of node {one.node} does not resolve there"
    elif is_local_only(one.host_addresses):
        why = f"The host name of node {one.node} resolves to {one.host_addresses[0]} there"
    else:
        told = one.host_addresses[0] if one.host_addresses else "nothing"
        why = f"The host name of node {one.node} resolves to {told}, which is not an address of that node"
    words = (
        f"{why}, and {GLOO} is not set: gloo gives {choice.address} to the other nodes, which reach themselves there."
    )
    advice = (
        f"Name the interface of the job's network on node {one.node}, or let /etc/hosts map its name to its address in "
        "that network."
    )
    command = shell("export {name:name}={interface:interface}", name=GLOO, interface=better) if better else ""
    return NodeFinding("name-resolution", "error", _MEETING, (one.node,), words, advice, command)


def version_findings(nodes: Sequence[NodeFacts]) -> list[NodeFinding]:
    """Versions that differ among nodes."""
    found = []
    for name in ("rocdoctor", "torch", "hip", "cuda", "python"):
        groups: dict[str, list[int]] = {}
        for one in nodes:
            groups.setdefault(one.versions.get(name) or "none", []).append(one.node)
        # A node without torch is told by itself.
        if name == "torch":
            groups.pop("none", None)
        if len(groups) < 2:
            continue
        usual = max(groups, key=lambda version: len(groups[version]))
        other = tuple(sorted(node for version, many in groups.items() if version != usual for node in many))
        severity = _severity_of_versions(name, list(groups))
        shown = "; ".join(f"{version} on {numbers(many)}" for version, many in sorted(groups.items()))
        advice = f"Install the same {name} on all nodes" + (
            " (or name the same environment with --python)." if name != "rocdoctor" else "."
        )
        found.append(
            NodeFinding(
                "versions", severity, _PACKAGES, other, f"The nodes have different versions of {name}: {shown}.", advice
            )
        )
    return found


def _severity_of_versions(name: str, versions: Sequence[str]) -> Severity:
    """Releases of torch that differ in their first two numbers do not talk; what differs behind them may well."""
    releases = {".".join(version.split("+")[0].split(".")[:2]) for version in versions}
    if (
        name == "rocdoctor"
        or (name == "torch" and len(releases) > 1)
        or (name in ("hip", "cuda") and "none" in versions)
    ):
        return "error"
    return "info" if name == "python" and len(releases) == 1 else "warning"


def variable_findings(nodes: Sequence[NodeFacts]) -> list[NodeFinding]:
    """Settings of the communication libraries that are set on some nodes only, or to other values."""
    found = []
    names = sorted({name for one in nodes for name in one.variables if not any(part in name for part in _MAY_DIFFER)})
    for name in names:
        groups: dict[str | None, list[int]] = {}
        for one in nodes:
            groups.setdefault(one.variables.get(name), []).append(one.node)
        if len(groups) > 1:
            shown = "; ".join(
                (f"not set on {numbers(many)}" if value is None else f"{value} on {numbers(many)}")
                for value, many in groups.items()
            )
            fewest = min(groups.values(), key=len)
            found.append(
                NodeFinding(
                    "variables",
                    "warning",
                    _INTERFACE,
                    tuple(fewest),
                    f"{name} differs among the nodes: {shown}.",
                    f"Set {name} to the same value on all nodes, or on none: nodes that choose different transports "
                    "wait for each other.",
                )
            )
    return found[:20]


def clock_findings(offsets: Mapping[int, tuple[float, float]]) -> list[NodeFinding]:
    """Clocks that differ from node 0's. ``offsets``: by node, seconds ahead of node 0, and plus or minus what."""
    found = []
    for node, (ahead, doubt) in sorted(offsets.items()):
        least = abs(ahead) - doubt
        if least > _SKEW_S:
            severity: Severity = "warning" if least > _REFUSED_S else "info"
            more = " Credentials of MUNGE and Kerberos are refused at such a difference." if least > _REFUSED_S else ""
            way = "ahead of" if ahead > 0 else "behind"
            words = f"The clock of node {node} is {abs(ahead):.1f} s {way} that of node 0.{more}"
            advice = "Let all nodes take their time from the same server (chrony or systemd-timesyncd)."
            found.append(NodeFinding("clock", severity, _MEETING, (node,), words, advice, "chronyc tracking"))
    return found


def merged(many: Sequence[NodeFinding]) -> list[NodeFinding]:
    """Findings that are the same but for the node become one that names all of them."""
    groups: dict[tuple[str, str, str], list[NodeFinding]] = {}
    for one in many:
        own = f"node {one.nodes[0]}" if len(one.nodes) == 1 else ""
        key = re.sub(rf"\b{own}\b", "node #", one.message) if own else one.message
        groups.setdefault((one.probe, key, one.command), []).append(one)
    found = []
    for alike in groups.values():
        first = alike[0]
        nodes = tuple(sorted({node for one in alike for node in one.nodes}))
        if len(alike) == 1 or len(first.nodes) != 1:
            found += alike
            continue
        own, all_of_them = rf"\bnode {first.nodes[0]}\b", f"each of {numbers(nodes)}"
        words, advice = (re.sub(own, all_of_them, text) for text in (first.message, first.remedy))
        found.append(replace(first, nodes=nodes, message=words, remedy=advice))
    return found


def numbers(nodes: Sequence[int]) -> str:
    """``node 1``, or ``nodes 0-2, 5``."""
    many = sorted(set(nodes))
    parts: list[list[int]] = []
    for one in many:
        if parts and one == parts[-1][-1] + 1:
            parts[-1].append(one)
        else:
            parts.append([one])
    words = ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
    return f"node {words}" if len(many) == 1 else f"nodes {words}"
