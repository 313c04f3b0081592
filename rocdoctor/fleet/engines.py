"""The schedulers that can be acted on: how each is asked and told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from rocdoctor.fleet import flux, kubernetes, slurm
from rocdoctor.fleet.acting import EngineCall, EngineNode
from rocdoctor.fleet.verdicts import FleetVerdict

EngineName = Literal["slurm", "k8s", "flux"]


@dataclass(frozen=True, slots=True)
class FleetEngine:
    """``booted``: of what ``ask_boot`` printed, when nodes booted, given what was heard of them.

    ``asides``: of what ``ask_aside`` printed, for which reasons of ours nodes stand aside; where nothing is to be
    asked, ``nodes_of`` tells. ``suspects``: whether it can set nodes aside at all.
    """

    name: EngineName
    ask: tuple[str, ...]
    nodes_of: Callable[[str], list[EngineNode]]
    ask_boot: Callable[[tuple[str, ...]], list[str]]
    booted: Callable[[str, FleetVerdict], dict[str, int]]
    commands: Callable[[EngineCall], Iterator[list[str]]]
    settings: tuple[str, ...]
    suspects: bool = True
    ask_aside: tuple[str, ...] = ()
    asides: Callable[[str], dict[str, tuple[str, ...]]] = lambda _: {}


SLURM = FleetEngine(
    "slurm",
    slurm.ASK_NODES,
    slurm.nodes_of,
    slurm.ask_boot,
    lambda text, found: slurm.boots_of(text),
    slurm.commands,
    ("SLURM_CONF",),
    ask_aside=slurm.ASK_ASIDE,
    asides=slurm.asides,
)
KUBERNETES = FleetEngine(
    "k8s",
    kubernetes.ASK_NODES,
    kubernetes.nodes_of,
    kubernetes.ask_boot,
    kubernetes.booted,
    kubernetes.commands,
    ("KUBECONFIG",),
)
FLUX = FleetEngine("flux", flux.ASK_NODES, flux.nodes_of, flux.ask_boot, flux.booted, flux.commands, (), False)
ENGINES: dict[EngineName, FleetEngine] = {one.name: one for one in (SLURM, KUBERNETES, FLUX)}
