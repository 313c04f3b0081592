"""The JSON contract ``rocdoctor.fleet/1``: public, only added to."""

from __future__ import annotations

from typing import Any

from rocdoctor import __version__
from rocdoctor.fleet.classes import ORDER
from rocdoctor.fleet.verdicts import FleetVerdict, NodeVerdict
from rocdoctor.model.printable import clean

SCHEMA = "rocdoctor.fleet/1"


def report(found: FleetVerdict) -> dict[str, Any]:
    """The verdict as plain data: ``nodes`` are those with anything to say, the gravest first."""
    counts: dict[str, int] = {name: len(found.of_class(name)) for name in ORDER if name != "well"}
    counts["well"] = found.total - sum(counts.values())
    return {
        "schema": SCHEMA,
        "tool": {"version": __version__},
        "at": found.at,
        "total": found.total,
        "told": found.told,
        "counts": counts,
        "findings": [
            {
                "kind": one.kind,
                "what": clean(one.what),
                "group": clean(one.group),
                "nodes": one.nodes,
                "among": one.among,
                "message": clean(one.message),
            }
            for one in found.findings
        ],
        "nodes": [node_report(one) for one in found.nodes],
        "look_again": list(found.look_again),
    }


def node_report(one: NodeVerdict) -> dict[str, Any]:
    """One node with all that speaks against it."""
    return {
        "node": one.node,
        "class": one.node_class,
        "proposal": one.proposal,
        "kind": clean(one.kind),
        "record_at": one.record_at,
        "reasons": [
            {
                "class": reason.node_class,
                "check": reason.check,
                "cause": reason.cause,
                "gpu": reason.gpu,
                "message": clean(reason.message),
                "seen": reason.seen,
                "looks": reason.looks,
                "ready": reason.ready,
            }
            for reason in one.reasons
        ],
    }
