"""Flux: what it says of its nodes, and the calls that drain and undrain them. Pure: texts in, argument lists out.

Forms: flux-framework/flux-core doc/man1/flux-resource.rst and src/cmd/flux-resource.py (read 2026-11-28). No Flux was
there to try them on. Its format has no field that tells which nodes have GPUs: all count, and those of which no record
ever came are left alone anyway. Nor does it tell in which boot a node is, so that no record can bring one back.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocdoctor.fleet.acting import EngineCall, EngineNode
from rocdoctor.fleet.node_names import folded, unfolded
from rocdoctor.fleet.read_record import NODE
from rocdoctor.fleet.verdicts import FleetVerdict

# A line for each set of nodes that have the rest in common; the reason may hold any sign, so it stands last.
# The hosts in the order of ranks, and how many ranks there are (flux-broker-attributes(7), flux-getattr(1)).
ASK_HOSTS, ASK_SIZE = ("flux", "getattr", "hostlist"), ("flux", "getattr", "size")
ASK_NODES = ("flux", "resource", "status", "--no-header", "--format={statex}|{status}|{nodelist}|{reason}")
_STATES = frozenset(("avail", "exclude", "draining", "drained", "torpid", "housekeeping", "allocated"))
_IN_SERVICE = frozenset(("avail", "allocated", "housekeeping"))
_MOST_IN_CALL = 1000


def nodes_of(text: str) -> list[EngineNode]:
    """The nodes of ``ASK_NODES``, each once, as taken out where any line says so; what is no line is passed over."""
    found: dict[str, EngineNode] = {}
    for line in text.split("\n"):
        cells = line.split("|", 3)
        if len(cells) != 4 or cells[0] not in _STATES or cells[1] not in ("online", "offline"):
            continue
        out = cells[0] not in _IN_SERVICE or cells[1] == "offline"
        try:
            names = unfolded(cells[2])
        except ValueError:
            continue
        for name in names:
            if NODE.fullmatch(name) and not _is_rank(name) and (name not in found or not found[name].out):
                found[name] = EngineNode(name, out, cells[3].strip(), True)
    return list(found.values())


def ranks_of(hosts: str, size: str) -> dict[str, int]:
    """The rank of each host, of what ``ASK_HOSTS`` and ``ASK_SIZE`` printed; ValueError where that does not tell."""
    names = unfolded(hosts.strip())
    if str(len(names)) != size.strip():
        raise ValueError(f"Flux has {size.strip()[:20] or 'no'} brokers on {len(names)} hosts: a host runs several")
    return {name: rank for rank, name in enumerate(names)}


def _is_rank(name: str) -> bool:
    """Whether Flux would read it as ranks: targets are an idset or a list of hosts."""
    return name.replace("-", "").isdecimal()


def ask_boot(nodes: tuple[str, ...]) -> list[str]:
    """Flux has no answer to this; asked is what it says of the nodes."""
    del nodes
    return list(ASK_NODES)


def booted(text: str, found: FleetVerdict) -> dict[str, int]:
    """Of no node."""
    del text, found
    return {}


def commands(call: EngineCall) -> Iterator[list[str]]:
    """The calls of flux; --update leaves a reason that somebody gave meanwhile."""
    for first in range(0, len(call.nodes), _MOST_IN_CALL):
        names = folded(call.nodes[first : first + _MOST_IN_CALL])
        if call.action == "drain":
            yield ["flux", "resource", "drain", "--update", names, call.reason]
        else:
            yield ["flux", "resource", "undrain", names]
