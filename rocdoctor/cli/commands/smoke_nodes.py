"""``rocdoctor smoke --nnodes``: the same command on every node, or one ``srun`` for all."""

from __future__ import annotations

import os
import re
import shlex
import sys
from argparse import ArgumentParser
from dataclasses import dataclass, replace
from typing import Any, Literal

from rocdoctor.cli.arguments import Named, seconds
from rocdoctor.host import output
from rocdoctor.host.live.interpreter import interpreter_of_root, keep_trusted_environment
from rocdoctor.host.masking.own_names import own_masker
from rocdoctor.parsers.own.smoke_results import to_json
from rocdoctor.service.errors import UsageError
from rocdoctor.service.options import EvidenceOptions
from rocdoctor.service.session import Progress, print_json, rendered
from rocdoctor.train.smoke.nodes.leader import NodeOutcome, Wish
from rocdoctor.train.smoke.nodes.node_place import NodePlace, PlaceError, place
from rocdoctor.train.smoke.nodes.run import smoke_over_nodes
from rocdoctor.train.smoke.nodes.secret import VARIABLE, SecretError, given, make
from rocdoctor.train.smoke.run.rank_sets import MAX_WORLD
from rocdoctor.train.smoke.worker.mode import Mode

_WAIT_S, _WAIT_SLURM_S = 60.0, 20.0  # people start the nodes one after another, Slurm all at once

Backend = Literal["auto", "nccl", "gloo"]
Device = Literal["auto", "cpu"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions(EvidenceOptions):
    """What the ranks of every node are told (``deadline`` of one mode in seconds), and how nodes meet.

    ``rdzv`` is HOST:PORT, ``wait`` the seconds until all nodes have to be there.
    """

    modes: tuple[str, ...] = ()
    backend: Backend = "auto"
    device: Device = "auto"
    deadline: float | None = None
    node_rank: int | None = None
    rdzv: str | None = None
    key: str | None = None
    key_file: str | None = None
    nproc_per_node: int | None = None
    wait: float | None = None


def node_arguments(parser: ArgumentParser) -> None:
    """How nodes meet."""
    add = parser.add_argument_group("over several nodes: the same command on each of them, or one srun").add_argument
    add("--nnodes", metavar="N|auto", help="number of nodes; auto: as Slurm says")
    add("--node-rank", type=int, metavar="R", help="this node's number, 0 to N-1 (within srun: its own)")
    add("--rdzv", metavar="HOST:PORT", help="address of node 0 and a free port there (automatic within srun)")
    add("--key", metavar="KEY", help="key that node 0 printed (ROCDOCTOR_SMOKE_KEY hides it from other users)")
    add("--key-file", type=Named, metavar="FILE", help="file of mode 0600 with the key (not needed within srun)")
    add("--nproc-per-node", type=int, metavar="P", help="ranks per node (one per GPU; 1 without GPUs)")
    add("--wait", type=seconds, metavar="S", help="how long to wait for the other nodes (60 s, within srun 20 s)")


def run(nnodes: str, options: NodeOptions, modes: tuple[Mode, ...]) -> int:
    """Meet the other nodes, probe, run; node 0 prints the report, the others one line."""
    if options.format not in ("text", "json", "markdown"):
        raise UsageError(f"--nnodes prints text, json or markdown, not {options.format}")
    if not sys.platform.startswith("linux"):
        raise UsageError("smoke tests run on Linux only")
    if options.nproc_per_node is not None and not 1 <= options.nproc_per_node <= MAX_WORLD:
        raise UsageError(f"--nproc-per-node takes 1 to {MAX_WORLD} ranks, not {options.nproc_per_node}")
    try:
        here = place(nnodes, options.node_rank, options.rdzv, os.environ)
    except PlaceError as problem:
        raise UsageError(str(problem)) from None
    if here.local:
        _say(f"task {here.local} of node {here.node} has nothing to do: torchrun starts the ranks of a node")
        return 0
    interpreter, why = interpreter_of_root(options.python, options.trust_interpreter)
    if interpreter is None:
        raise UsageError(f"{why}; name the one that has torch with --python")
    if not options.trust_interpreter:
        keep_trusted_environment()
    wait_s = options.wait or (_WAIT_SLURM_S if here.slurm else _WAIT_S)
    here = _with_key(options, here)
    modes, notes = _without_objects(modes, bool(options.modes))
    wish = Wish(modes, options.backend, options.device, options.nproc_per_node, wait_s, options.deadline, notes)
    progress = Progress(options.quiet or here.node > 0)
    done = 0

    def told(what: str, mode: str, rank: int, state: str) -> None:
        nonlocal done
        done += what == "done"
        if what == "mode":
            progress.say(f"{mode} on {here.nodes} nodes ({done} of {len(modes)} done)")

    outcome = smoke_over_nodes(here, wish, interpreter, _say, told)
    progress.done()
    _print(options, outcome, here)
    return outcome.code


def _with_key(options: NodeOptions, here: NodePlace) -> NodePlace:
    """The place with its secret: given, made here and shown to the user of node 0, or left to a file of the step."""
    try:
        key = given(options.key, options.key_file, os.environ)
    except SecretError as problem:
        raise UsageError(str(problem)) from None
    if key or here.run:
        return replace(here, key=key)
    if here.node:
        raise UsageError(
            f"the key of this run is missing: node 0 prints it at its start; give it in {VARIABLE}, --key-file or --key"
        )
    key = make()
    if here.nodes > 1:
        last = f"1 to {here.nodes - 1}" if here.nodes > 2 else "1"
        _say(f"start this on the other nodes, with --node-rank {last}:")
        output.notes(f"  {VARIABLE}={key} {_command(options, here)}\n")
        _say("whoever has this key controls the nodes of this run; it is valid for this run only")
    return replace(here, key=key)


def _command(options: NodeOptions, here: NodePlace) -> str:
    words = ["rocdoctor", "smoke", "--nnodes", str(here.nodes), "--node-rank", "1", "--rdzv", here.endpoint]
    for name, value in (("backend", options.backend), ("device", options.device), ("python", options.python)):
        words += [f"--{name}", value] if value not in (None, "auto") else []
    return shlex.join(words)


def _without_objects(modes: tuple[Mode, ...], named: bool) -> tuple[tuple[Mode, ...], tuple[str, ...]]:
    """The modes of a set without those that unpickle what other nodes send; a note names them."""
    out = [one.name for one in modes if one.objects and not named]
    if not out:
        return modes, ()
    note = (
        f"not run over nodes unless named: {', '.join(out)}; their ranks unpickle what others send, over connections "
        "that torch does not authenticate"
    )
    return tuple(one for one in modes if one.name not in out), (note,)


def _say(words: str) -> None:
    output.note(words)


def _print(options: NodeOptions, outcome: NodeOutcome, here: NodePlace) -> None:
    if here.node and not outcome.findings:  # node 0 has printed everything
        _say(f"node {here.node}: {outcome.words or 'all is well'} (the report is on node 0)")
        return
    from rocdoctor.report.smoke import nodes_document

    def shown(value: Any) -> Any:
        own_name = [] if re.fullmatch(r"[0-9.]+|[0-9A-Fa-f]*:[0-9A-Fa-f:]*", here.host) else [here.host]
        return value if options.include_identity else nodes_document.discreet(value, own_name, masker)

    masker = own_masker()
    runs = outcome.runs
    if options.format == "json":
        results = to_json(runs) if runs else {"schema": "rocdoctor.smoke/1", "modes": []}
        print_json(shown({**results, **nodes_document.as_json(outcome)}))
        return
    output.show(shown(rendered(options, nodes_document.document(outcome))))
