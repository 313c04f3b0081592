"""``rocdoctor fleet net``: the same command on every node, or one ``srun`` for all; node 0 prints the result."""

from __future__ import annotations

import os
import platform
import sys
import time
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING

from rocdoctor.cli.arguments import Named, seconds
from rocdoctor.cli.main import EXIT_FINDINGS
from rocdoctor.fleet.node_names import unfolded
from rocdoctor.host import output
from rocdoctor.host.live.regular_files import read_regular
from rocdoctor.parsers.listings.slurm_topology import parse_leaf_switches
from rocdoctor.service.errors import InputError, UsageError
from rocdoctor.service.options import EvidenceOptions, PrintOptions
from rocdoctor.service.session import print_json, rendered
from rocdoctor.train.smoke.nodes.node_place import DEFAULT_PORT, MAX_NODES, NodePlace, PlaceError, hosts, place

if TYPE_CHECKING:
    from rocdoctor.fleet.net.net_run import NetRun
    from rocdoctor.fleet.net.pair_rounds import PairRounds
    from rocdoctor.train.smoke.nodes.pair_run import PairOutcome

_KEY = "ROCDOCTOR_SMOKE_KEY"

_WAIT_S, _WAIT_SLURM_S, _PAIR_S = 60.0, 20.0, 15.0
_MOST_TOPOLOGY, _MOST_BELOW = 16 << 20, 200_000  # bytes; nodes below all its switches together


@dataclass(frozen=True, slots=True, kw_only=True)
class NetOptions(PrintOptions):
    """How nodes meet (``rdzv`` is HOST:PORT, ``wait`` seconds), and how they are measured (``limit`` s a pair)."""

    node_rank: int | None = None
    rdzv: str | None = None
    key_file: str | None = None
    wait: float | None = None
    topology: str | None = None
    seed: int | None = None
    no_color: bool = False


def net_arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    add = parser.add_argument_group("net: the same command on each node, or one srun").add_argument
    add("--node-rank", type=int, metavar="R", help="this node's number, from 0 (by its host name)")
    add("--rdzv", metavar="HOST:PORT", help="address of the first node and a free port there (its name)")
    add("--key-file", type=Named, metavar="FILE", help=f"file of mode 0600 with the key, or {_KEY} (not within srun)")
    add("--wait", type=seconds, metavar="S", help="how long to wait for the other nodes (60 s, within srun 20 s)")
    add("--topology", type=Named, metavar="FILE", help="Slurm's topology.conf, or the output of scontrol show topology")
    add("--seed", type=int, metavar="N", help="which nodes are paired; the same number gives the same pairs (random)")


def run(nodes: str | None, options: NetOptions) -> int:
    """Meet the others, measure; 1 where a node or a switch is named, or a node is silent."""
    if not sys.platform.startswith("linux"):
        raise UsageError("net runs on Linux only")
    from rocdoctor.fleet.net.net_run import tells
    from rocdoctor.fleet.net.pair_rounds import PairRounds
    from rocdoctor.train.smoke.nodes.pair_run import pairs_over_nodes

    names, here = where(nodes, options, os.environ)
    if here.local:
        output.note(f"task {here.local} on this node is not needed: start one task per node")
        return 0
    leaves = _leaves(options.topology, names) if not here.node else {}
    seed = SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    plans: list[PairRounds] = []

    def planner(there: Sequence[int]) -> PairRounds:
        plans.append(PairRounds(there, leaves, seed))
        return plans[0]

    began = int(time.time())
    wait_s = options.wait or (_WAIT_SLURM_S if here.slurm else _WAIT_S)
    outcome = pairs_over_nodes(here, wait_s, _PAIR_S, planner, output.note)
    for one in outcome.findings:
        output.note(f"{one.message} {one.remedy}" + (f" ({one.command})" if one.command else ""))
    if here.node or not plans:
        return outcome.code
    found = as_run(names, began, seed, leaves, outcome, plans[0].open_rounds)
    if options.format == "json":
        from rocdoctor.report.fleet.net_json import report

        print_json(report(found))
    else:
        from rocdoctor.report.fleet.net_document import document

        output.show(rendered(EvidenceOptions(format=options.format, no_color=options.no_color), document(found)))
    return EXIT_FINDINGS if tells(found) else 0


def as_run(
    names: Sequence[str],
    at: int,
    seed: int,
    leaves: Mapping[int, str],
    outcome: PairOutcome,
    open_rounds: int | None,
) -> NetRun:
    """The outcome with its verdict."""
    from rocdoctor.fleet.net.net_run import NetRun
    from rocdoctor.fleet.net.pair_judge import judge_pairs

    verdict = judge_pairs(range(len(names)), outcome.results, leaves, outcome.gone, open_rounds)
    rest = (outcome.results, outcome.gone, outcome.faces, outcome.rounds)
    return NetRun(tuple(names), at, seed, leaves, verdict, *rest)


def where(nodes: str | None, options: NetOptions, variables: Mapping[str, str]) -> tuple[list[str], NodePlace]:
    """The names of all nodes, and which of them this is. Raises UsageError."""
    from rocdoctor.train.smoke.nodes.secret import SecretError, given

    listed = nodes or variables.get("SLURM_STEP_NODELIST", "")
    try:
        names = unfolded(nodes) if nodes else hosts(listed)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not names:
        raise UsageError("net takes the nodes, on each of them: rocdoctor fleet net 'gpu[01-40]' (within srun: none)")
    if not 2 <= len(names) <= MAX_NODES:
        advice = "another node is needed to measure with" if len(names) < 2 else "test one part after the other"
        raise UsageError(f"net takes 2 to {MAX_NODES} nodes, not {len(names)}: {advice}")
    rank = options.node_rank
    within = bool(variables.get("SLURM_JOB_ID") and variables.get("SLURM_NODEID"))
    mine = variables.get("SLURMD_NODENAME") or platform.node().partition(".")[0]
    if rank is None and not (within and not nodes):
        places = [at for at, name in enumerate(names) if mine in (name, name.partition(".")[0])]
        if len(places) != 1:
            raise UsageError(f"this node is called {mine}, which is not one of them: give its place with --node-rank")
        rank = places[0]
    try:
        rdzv = options.rdzv or (None if within and not nodes else f"{names[0]}:{DEFAULT_PORT}")
        here = place(str(len(names)), rank, rdzv, variables)
        key = given(None, options.key_file, variables)
    except (PlaceError, SecretError) as problem:
        raise UsageError(str(problem)) from None
    told = variables.get("SLURMD_NODENAME")
    if told and not nodes and names[here.node] != told:  # or others would be accused for this one
        raise UsageError(f"Slurm calls this node {told}, and number {here.node} of its list is {names[here.node]}")
    if not key and not here.run:
        words = f"net takes a key that all nodes have: put $(openssl rand -hex 16) into {_KEY} or --key-file"
        raise UsageError(words)
    return names, replace(here, key=key)


def _leaves(file: str | None, names: Sequence[str]) -> dict[int, str]:
    """The leaf switch of each node that the file names."""
    if file is None:
        return {}
    try:
        text = read_regular(Path(file), _MOST_TOPOLOGY).decode("utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from None
    number = {name: at for at, name in enumerate(names)}
    known: dict[int, str] = {}
    left = _MOST_BELOW
    for leaf, listed in parse_leaf_switches(text).items():
        below = hosts(listed, left)
        known |= {number[node]: leaf for node in below if node in number}
        if (left := left - len(below)) <= 0:
            break
    if not known:
        raise InputError(f"{file} names no leaf switch of these nodes: it takes lines SwitchName=... Nodes=...")
    return known
