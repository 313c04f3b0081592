"""What one node needs beside its GPUs to train with others: RDMA tools, a network that is up, the same software."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.gpus.presence import count_words
from rocdoctor.judging.check import cite, quote
from rocdoctor.knowledge import install
from rocdoctor.model.evidence import NOT_ASKED, Known, value_or
from rocdoctor.model.facts import Nic
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import at_least, evidence_of, sentence, with_fresh_lists

LAYER: Layer = "cluster"

_RDMA = ("infiniband", "roce", "omnipath")
_CHECKS = ("network-interface-missing", "infiniband-port-down", "network-link-flaps")
_TOOL = "ibv_devinfo"
# Names of interfaces that end on this machine: loopback, bridges and ends of containers and guests.
_LOCAL = ("docker", "veth", "br-", "virbr", "podman", "cni", "lxc", "tap", "tun")


def steps(situation: Situation) -> Sequence[Step]:
    """Only for this goal; locked memory and open files are limits, which have steps of their own."""
    if situation.goal != "cluster-node":
        return ()
    found = (_tools(situation), _network(situation), _same(situation))
    return tuple(step for step in found if step is not None)


def _tools(situation: Situation) -> Step | None:
    """The packages by which RDMA is used and looked at; only where an adapter for it is there."""
    adapters = [nic for nic in situation.machine.network if nic.kind in _RDMA]
    if not adapters:
        return None
    title, verify = "RDMA libraries and tools", Verify(command=_TOOL, shows=f"a port of {adapters[0].name}")
    here = situation.machine.programs.get(_TOOL, NOT_ASKED)
    # Nearly every server card for Ethernet can do RDMA (RoCE); few clusters use it.
    optional = all(nic.kind == "roce" for nic in adapters)
    if isinstance(here, Known) and here.value is not None:
        return Step("rdma-tools", title, "done", f"{_TOOL} is installed.", (cite(here),), verify=verify)
    if not isinstance(here, Known):
        why = f"This node has {_cards(adapters)}; whether the packages for RDMA are installed is not in this evidence."
        return Step("rdma-tools", title, "unknown", why, verify=verify, optional=optional)
    found = situation.distribution
    needs = install.node_needs(found) if found is not None else None
    why = f"This node has {_cards(adapters)}, and {_TOOL} is not installed."
    evidence = (cite(here, f"no {_TOOL}"),)
    if needs is None or not needs.packages or situation.caretaker:
        who = (
            f" It is the job of {situation.caretaker}."
            if situation.caretaker
            else (f" The tables have no package names for {situation.os_words}.")
        )
        return Step(
            "rdma-tools",
            title,
            "waiting" if situation.caretaker else "unknown",
            why + who,
            evidence,
            verify=verify,
            optional=optional,
        )
    return Step(
        "rdma-tools",
        f"Install {title}",
        "todo",
        why,
        evidence,
        with_fresh_lists([Action(words=(situation.manager, "install", *needs.packages), root=True)]),
        needs.packages,
        "safe",
        "now",
        verify,
        (Action(words=(situation.manager, "remove", *needs.packages), root=True),),
        sources=needs.sources,
        table="install_cluster",
        kind=install.weakest("install_cluster", needs.sources),
        optional=optional,
    )


def _cards(nics: Sequence[Nic]) -> str:
    """How many adapters of which kind: ``four InfiniBand adapters``."""
    words = {"infiniband": "InfiniBand", "roce": "RoCE", "omnipath": "Omni-Path"}
    kinds = dict.fromkeys(words[nic.kind] for nic in nics)
    return count_words(len(nics), f"{' and '.join(kinds)} adapter")


def _network(situation: Situation) -> Step:
    """The interfaces between the nodes: what the checks find, else what is there and what has to be equal."""
    machine = situation.machine
    title, verify = "Network between the nodes", Verify("network-interface-missing")
    found = at_least(situation.findings(_CHECKS), "warning")
    if found:
        notes = tuple(dict.fromkeys(sentence(one.fix.text) for _, one in found if one.fix is not None))
        messages = " ".join(dict.fromkeys(one.message for _, one in found))
        return Step(
            "cluster-network",
            title,
            "todo",
            messages,
            evidence_of([verdict for verdict, _ in found]),
            risk="manual",
            verify=Verify(found[0][0].check),
            notes=(*notes, *_notes(situation)),
        )
    up = [nic for nic in machine.network if value_or(nic.state, "").strip().lower() in ("up", "active", "linkup")]
    if not up and (there := _interfaces(situation)):
        why = f"Up: {', '.join(there)}; their speed and MTU are not in this evidence."
        shown = cite(machine.interfaces, ", ".join(f"{name} is up" for name in there))
        return Step("cluster-network", title, "done", why, (shown,), verify=verify, notes=_notes(situation))
    if not up:
        why = "The evidence shows no network card that is up, so it is not known which interface connects the nodes."
        return Step("cluster-network", title, "unknown", why, verify=Verify(command="ip -br link"))
    evidence = tuple(quote(_source(nic), f"{nic.name} is {value_or(nic.state, '')}") for nic in up[:8])
    alike: dict[str, list[str]] = {}
    for nic in up:
        alike.setdefault(_figures(nic), []).append(nic.name)
    why = f"Up: {'; '.join(f'{_few(names)} ({figures})' for figures, names in alike.items())}."
    down = [nic.name for nic in machine.network if nic not in up and isinstance(nic.state, Known)]
    notes = (*((f"Not up: {', '.join(down)}.",) if down else ()), *_notes(situation))
    return Step("cluster-network", title, "done", why, evidence, verify=verify, notes=notes)


def _source(nic: Nic) -> str:
    return nic.state.source.question if isinstance(nic.state, Known) else ""


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 2 else f"{names[0]} ... {names[-1]}"


def _figures(nic: Nic) -> str:
    speed, mtu = value_or(nic.speed_gbit_s, None), value_or(nic.mtu, None)
    words = [nic.kind, f"{speed:g} Gbit/s" if speed is not None else "", f"MTU {mtu}" if mtu is not None else ""]
    return ", ".join(word for word in words if word)


def _interfaces(situation: Situation) -> list[str]:
    """Interfaces that are up and could lead to another machine, where no card is known that they belong to."""
    known = value_or(situation.machine.interfaces, {})
    up = (name for name, state in known.items() if state == "up")
    return sorted(name for name in up if name != "lo" and not name.startswith(_LOCAL))[:8]


def _notes(situation: Situation) -> tuple[str, ...]:
    """What one node cannot show of itself."""
    found = [
        "All nodes and the switches between them need the same MTU. A smaller one anywhere on the way stalls only "
        "large "
        "messages.",
        "Firewalls between the nodes must allow the rendezvous port (torchrun: 29500 by default) and the ports that "
        "NCCL, RCCL and gloo choose for themselves. This usually means all traffic within the cluster's network.",
        "If a node has several interfaces, name the one that connects the nodes: NCCL_SOCKET_IFNAME and "
        "GLOO_SOCKET_IFNAME.",
    ]
    if situation.enclosed:
        found.append("A container needs --network=host to reach other machines in the same way as its host.")
    if any(nic.kind == "infiniband" for nic in situation.machine.network):
        found.append("InfiniBand ports become active only while a subnet manager runs in the fabric.")
    return tuple(found)


def _same(situation: Situation) -> Step:
    """The comparison with another node, which no node can make alone."""
    machine = situation.machine
    rocm = ", ".join(value_or(one.version, "?") for one in machine.rocm)
    driver = next((value for name in ("amdgpu", "nvidia") if (value := _driver(situation, name))), "")
    torch = value_or(machine.torch.version, None)
    have = [
        f"ROCm {rocm}" if rocm else "",
        driver,
        f"torch {torch}" if torch else "",
        f"kernel {situation.kernel}" if situation.kernel else "",
    ]
    same = "The same driver, torch and collective library on every node."
    if situation.distribution is not None and situation.gpus("amd"):
        same = install.node_needs(situation.distribution).same
    here = ", ".join(one for one in have if one)
    why = f"{same} This one has {here}." if here else same
    return Step(
        "same-software",
        "Compare this node with the others",
        "todo",
        why,
        actions=(Action(words=("rocdoctor", "bundle")),),
        risk="manual",
        verify=Verify(command="rocdoctor diff NODE-A.txt NODE-B.txt", shows="no difference that matters"),
        notes=(
            "rocdoctor bundle on each node writes one file; rocdoctor diff compares two or more of them.",
            "rocdoctor smoke --nnodes 2 --node-rank 0 --rdzv ADDRESS:29500 (and 1 on the other node) proves the "
            "network; within srun it needs only --nnodes auto.",
        ),
        optional=True,
    )


def _driver(situation: Situation, name: str) -> str:
    version = situation.machine.drivers.get(name, {}).get("version", NOT_ASKED)
    return f"{name} {version.value}" if isinstance(version, Known) else ""
