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
    """``booted``: of what ``ask_boot`` printed, when nodes booted, given what was heard of them."""

    name: EngineName
    ask: tuple[str, ...]
    nodes_of: Callable[[str], list[EngineNode]]
    ask_boot: Callable[[tuple[str, ...]], list[str]]
    booted: Callable[[str, FleetVerdict], dict[str, int]]
    commands: Callable[[EngineCall], Iterator[list[str]]]
    settings: tuple[str, ...]


SLURM = FleetEngine(
    "slurm",
    slurm.ASK_NODES,
    slurm.nodes_of,
    slurm.ask_boot,
    lambda text, found: slurm.boots_of(text),
    slurm.commands,
    ("SLURM_CONF",),
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
FLUX = FleetEngine("flux", flux.ASK_NODES, flux.nodes_of, flux.ask_boot, flux.booted, flux.commands, ())
ENGINES: dict[EngineName, FleetEngine] = {one.name: one for one in (SLURM, KUBERNETES, FLUX)}
