"""What is concluded of nodes, as values: reasons, verdicts of nodes, findings about the fleet, and the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rocdoctor.fleet.classes import ORDER, NodeClass

Proposal = Literal["none", "test", "drain"]
"""drain: let jobs end and start none. test: take it aside for a longer test, as `apply --suspects` does."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that speaks against a node; ``seen`` of ``looks`` records showed it, ``ready``: that is enough to act.

    ``cause`` is an id of causes.yaml, or "" where the check alone says what it is; ``gpu`` an index, None for the node.
    """

    node_class: NodeClass
    check: str
    cause: str
    gpu: int | None
    message: str
    seen: int = 1
    looks: int = 1
    ready: bool = False


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """A node with its gravest class first among its reasons; ``record_at``: when its last good record was taken."""

    node: str
    kind: str
    reasons: tuple[Reason, ...]
    record_at: int | None

    @property
    def first(self) -> Reason:
        """The reason to name: the gravest that is enough to act, or else the gravest."""
        return next((one for one in self.reasons if one.ready), self.reasons[0])

    @property
    def node_class(self) -> NodeClass:
        """The gravest class."""
        return self.reasons[0].node_class if self.reasons else "well"

    @property
    def proposal(self) -> Proposal:
        """What to do with it."""
        ready = [one.node_class for one in self.reasons if one.ready]
        if any(one in ("certain", "likely") for one in ready):
            return "drain"
        return "test" if ready else "none"


@dataclass(frozen=True, slots=True)
class FleetFinding:
    """What many nodes have at once: news of the fleet, and evidence against none of them."""

    kind: Literal["common", "rollout", "silent", "unknown"]
    what: str
    nodes: int
    among: int
    group: str
    message: str


@dataclass(frozen=True, slots=True)
class FleetVerdict:
    """One round: ``told`` of ``total`` nodes brought a record that counts; ``look_again``: whose figures to repeat.

    ``heard``: when the records that count were taken, ``boots`` in which boot; ``unsettled``: which checks were
    once enough to act and are not known to be well since; ``kinds``: the kind of every node that was ever heard.
    """

    at: int
    total: int
    told: int
    nodes: tuple[NodeVerdict, ...]
    findings: tuple[FleetFinding, ...]
    look_again: tuple[str, ...] = ()
    heard: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    boots: Mapping[str, str] = field(default_factory=dict)
    unsettled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of_class(self, name: NodeClass) -> tuple[NodeVerdict, ...]:
        """The nodes of one class."""
        return tuple(one for one in self.nodes if one.node_class == name)


def gravity(one: Reason) -> tuple[int, bool, str, int]:
    """The order of reasons: by class, what is enough to act first."""
    return (ORDER.index(one.node_class), not one.ready, one.check, -1 if one.gpu is None else one.gpu)
