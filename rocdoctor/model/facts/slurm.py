"""Nodes of a cluster, as Slurm's controller sees them."""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.model.evidence import Source


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """Nodes in one state (``names`` in Slurm's short form, "gpu[03-04]").

    ``states`` in lower case; ``silent``: slurmd there does not answer. ``reason`` as it was set, maybe cut short.
    """

    names: str
    states: tuple[str, ...]
    silent: bool
    reason: str | None
    set_by: str | None
    gres: str | None
    source: Source
