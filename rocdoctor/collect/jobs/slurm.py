"""What Slurm says of its nodes, where the evidence holds it; a live machine is not asked, its cluster is not here."""

from __future__ import annotations

from rocdoctor.collect.recorded_outputs import outputs
from rocdoctor.host.base import Host
from rocdoctor.model.facts import SlurmNode
from rocdoctor.parsers.listings.slurm_nodes import parse_slurm_nodes


def collect_slurm_nodes(host: Host) -> tuple[SlurmNode, ...]:
    """Every node that is listed; the fuller entry of scontrol first, then what sinfo adds."""
    found: dict[str, SlurmNode] = {}
    for program in ("scontrol", "sinfo"):
        for _, answer in outputs(host, program):
            for one in parse_slurm_nodes(answer.text):
                held = found.get(one.names)
                if held is None or (held.reason is None and one.reason is not None) or not held.states:
                    states = one.states or (held.states if held else ())
                    gres = one.gres or (held.gres if held else None)
                    silent = one.silent or bool(held and held.silent)
                    found[one.names] = SlurmNode(
                        one.names, states, silent, one.reason, one.set_by, gres, answer.source(one.line)
                    )
    return tuple(found.values())
