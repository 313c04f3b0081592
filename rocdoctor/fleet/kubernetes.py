"""Kubernetes: what it says of its nodes, and the taints that keep new pods off. Pure: texts in, argument lists out.

A node is taken out by a taint of ours alone, which says why; running pods stay, as with NoSchedule they do. A suspect
has a taint of another key, which pods that test it tolerate. It is not
cordoned: a node has one cordon, whoever made it, and taking ours back would take back somebody else's. Forms: the help
of kubectl 1.32 (get, taint), https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration (read
2026-11-24). A node has GPUs if a device plugin ever named some, also while none of them is sound.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocdoctor.fleet.acting import EngineCall, EngineNode, label_of, reason_in
from rocdoctor.fleet.boot import boot_name
from rocdoctor.fleet.verdicts import FleetVerdict
from rocdoctor.model.lazy_re import regex

TAINT, SUSPECT = "rocdoctor/drain", "rocdoctor/suspect"
_EFFECT = "NoSchedule"
_LIMIT = "--request-timeout=50s"
_READY = '{{range .status.conditions}}{{if eq .type "Ready"}}{{.status}}{{end}}{{end}}'
_TAINTS = "{{range .spec.taints}}{{.key}}={{.value}}:{{.effect}},{{end}}"
_CELLS = f"{{{{.metadata.name}}}}|{{{{.spec.unschedulable}}}}|{_READY}|{_TAINTS}"
_RESOURCES = "{{range $name, $ := .status.capacity}}{{$name}},{{end}}"
ASK_NODES = (
    *("kubectl", "get", "nodes", _LIMIT),
    f'--output=go-template={{{{range .items}}}}{_CELLS}|{_RESOURCES}{{{{"\\n"}}}}{{{{end}}}}',
)
_BOOTS = '{{range .items}}{{.metadata.name}}|{{.status.nodeInfo.bootID}}{{"\\n"}}{{end}}'
_MOST_IN_CALL = 1000
_NODE = regex(r"[a-z0-9][a-z0-9.-]{0,252}")
_VENDORS = ("amd.com/", "nvidia.com/")


def nodes_of(text: str) -> list[EngineNode]:
    """The nodes of ``ASK_NODES``, each once; what is no line of it is passed over."""
    found: dict[str, EngineNode] = {}
    for line in text.split("\n"):
        cells = line.split("|")
        if len(cells) != 5 or not _NODE.fullmatch(cells[0]):
            continue
        name, cordoned, ready, taints, resources = cells
        ours = [one for one in taints.split(",") if one.startswith(f"{TAINT}=")]
        reason = _reason_of(ours) if ours else "cordoned" if cordoned == "true" else ""
        out = bool(ours) or cordoned == "true" or ready != "True"
        gpus = any(one.startswith(_VENDORS) for one in resources.split(","))
        apart = tuple(_reason_of([one], SUSPECT) for one in taints.split(",") if one.startswith(f"{SUSPECT}="))
        found.setdefault(name, EngineNode(name, out, reason, gpus, apart))
    return list(found.values())


def _reason_of(taints: list[str], key: str = TAINT) -> str:
    """The reason that our taint stands for; what we would not have written comes as it is."""
    value, _, effect = taints[0].removeprefix(f"{key}=").partition(":")
    ours = reason_in(value) if len(taints) == 1 and effect == _EFFECT else ""
    return ours or ", ".join(taints)


def ask_boot(nodes: tuple[str, ...]) -> list[str]:
    """How to ask in which boot nodes are: of all, since a single one comes in another form than several."""
    del nodes
    return ["kubectl", "get", "nodes", _LIMIT, f"--output=go-template={_BOOTS}"]


def booted(text: str, found: FleetVerdict) -> dict[str, int]:
    """Nodes whose record is of the boot that Kubernetes knows, as booted before any record; of others nothing is known.

    Kubernetes says which boot it is and not when it was.
    """
    known: dict[str, int] = {}
    for line in text.split("\n"):
        name, _, boot = line.partition("|")
        if name in found.boots and boot and boot_name(boot.strip().encode()) == found.boots[name]:
            known[name] = 0
    return known


def commands(call: EngineCall) -> Iterator[list[str]]:
    """The calls of kubectl, many nodes to a call."""
    key = TAINT if call.action in ("drain", "resume") else SUSPECT
    taint = f"{key}:{_EFFECT}-"
    if call.action in ("drain", "aside"):
        value = label_of(call.reason)
        if not value:
            raise ValueError(f"not a reason of ours: {call.reason!r}")
        taint = f"{key}={value}:{_EFFECT}"
    for first in range(0, len(call.nodes), _MOST_IN_CALL):
        yield ["kubectl", "taint", "nodes", *call.nodes[first : first + _MOST_IN_CALL], taint, _LIMIT]
