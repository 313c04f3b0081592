"""The verdict for Prometheus, as a file of node_exporter's textfile collector.

The form: https://prometheus.io/docs/instrumenting/exposition_formats (read 2026-11-24): HELP and TYPE once for each
metric, ``\\\\``, ``"`` and line ends of label values escaped, a line end at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocdoctor.fleet.verdicts import FleetVerdict
from rocdoctor.report.fleet.fleet_json import report


def metrics(found: FleetVerdict) -> str:
    """The whole file. A node that is well has no line of its own, so that sound nodes cost nothing."""
    return "".join(f"{line}\n" for line in _lines(found))


def _lines(found: FleetVerdict) -> Iterator[str]:
    yield from _head("rocdoctor_fleet_nodes", "Nodes by class.")
    for name, count in report(found)["counts"].items():
        yield f"rocdoctor_fleet_nodes{_labels(('class', name))} {count}"
    yield from _head("rocdoctor_fleet_round_timestamp_seconds", "When the last round was judged.")
    yield f"rocdoctor_fleet_round_timestamp_seconds {found.at}"
    yield from _head("rocdoctor_fleet_findings", "Findings about the fleet, by kind.")
    for kind in ("common", "rollout", "silent", "unknown"):
        count = sum(one.kind == kind for one in found.findings)
        yield f"rocdoctor_fleet_findings{_labels(('kind', kind))} {count}"
    yield from _head("rocdoctor_node_verdict", "1 for each node of which there is anything to say.")
    for one in found.nodes:
        first = one.first
        labels = _labels(
            ("node", one.node),
            ("class", one.node_class),
            ("proposal", one.proposal),
            ("check", first.check),
            ("cause", first.cause),
        )
        yield f"rocdoctor_node_verdict{labels} 1"


def _head(name: str, told: str) -> tuple[str, str]:
    return f"# HELP {name} {told}", f"# TYPE {name} gauge"


def _labels(*pairs: tuple[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
