"""Parses Slurm's topology.conf and what ``scontrol show topology`` prints: which nodes hang on which leaf switch.

Forms: topology.conf(5) of Slurm 22.05 (one switch a line, names without regard to case, ``#`` begins a comment), and
SchedMD/slurm src/api/topo_info.c (``SwitchName=s3 Level=1 LinkSpeed=1 Nodes=... Switches=...``, where a switch above
others names all nodes below it too); both read 2026-11-28.
"""

from __future__ import annotations

_MOST_LINES, _MOST_LINE = 20_000, 40_000


def parse_leaf_switches(text: str) -> dict[str, str]:
    """By the name of each leaf switch the list of its nodes as Slurm writes it (``gpu[01-16]``), in order."""
    found: dict[str, str] = {}
    for line in text.split("\n", _MOST_LINES)[:_MOST_LINES]:
        words = (word.partition("=") for word in line[:_MOST_LINE].partition("#")[0].split())
        fields = {name.lower(): value for name, _, value in words if value}
        if "switchname" in fields and "nodes" in fields and "switches" not in fields:
            found.setdefault(fields["switchname"][:200], fields["nodes"])
    return found
