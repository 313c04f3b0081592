"""How ranks are started: the words of a torchrun command, each with its reason, as a shell reads them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

from rocdoctor.train.emit.files import comment
from rocdoctor.train.recommend.plan import Plan

PORT = 29500  # torchrun's own choice for the port where nodes meet
LOCAL = "127.0.0.1:$port"  # for a script that has set it by ``own_port``
# Tried with torch 2.13 on 2026-11-28: --standalone keeps its state as a pickle in a store that listens on all
# interfaces and lets anybody list and write its keys, so who reaches the port runs code in torchrun.
_STATIC = "one node; not --standalone: anybody who reaches its port can replace its state with code"


def own_port(number: str) -> Iterator[str]:
    """The lines by which a bash script of one node chooses its port from a number of the run."""
    yield "# a port for this run only, since several may run on this node"
    yield f"port=${{MASTER_PORT:-$((20000 + {number} % 10000))}}"
    yield ""


def open_ports() -> Iterator[str]:
    """What cannot be closed, as a comment of the file that opens it."""
    yield from comment(
        "torch does not check who connects to its ports: use a network that only the users of this job can reach "
        "(torch's SECURITY.md)"
    )


@dataclass(frozen=True, slots=True)
class Argument:
    """Words of a command that belong together (``--nnodes``, ``4``), and why they are there.

    ``variables``: the words hold variables of the shell that runs them (``$SLURM_NNODES``) and no other sign of it.
    """

    words: tuple[str, ...]
    reason: str
    variables: bool = False


def own_options(words: tuple[str, ...]) -> list[Argument]:
    """What the user adds to the command of a program; none where that is nothing."""
    return [Argument(words, "your own options")] if words else []


def launcher(
    plan: Plan, nnodes: str, node_rank: str | None, rendezvous: str | None, run_id: str | None = None
) -> list[Argument]:
    """The torchrun command without the program.

    ``nnodes``, ``node_rank``, ``rendezvous`` (HOST:PORT) and ``run_id`` are words of the shell that runs it, so they
    may hold variables (``$SLURM_NNODES``); one node needs no rank and meets at ``LOCAL`` or a fixed port. Without
    ``node_rank`` torchrun reads it from PET_NODE_RANK.
    """
    words = [Argument(("torchrun",), "one process per GPU" if plan.fleet.vendor != "cpu" else "CPU processes")]
    if plan.fleet.nodes == 1:
        meeting = rendezvous or f"127.0.0.1:{PORT}"
        words.append(Argument(("--rdzv-backend", "static", "--rdzv-endpoint", meeting), _STATIC, "$" in meeting))
    else:
        words.append(Argument(("--nnodes", nnodes), f"{plan.fleet.nodes} nodes", "$" in nnodes))
        if rendezvous is not None:
            # The static kind needs no guess by name which node is the first, and numbers the nodes as the user does.
            words.append(
                Argument(
                    ("--rdzv-backend", "static", "--rdzv-endpoint", rendezvous),
                    "the first node, the rendezvous endpoint",
                    "$" in rendezvous,
                )
            )
        if node_rank is not None:
            words.append(Argument(("--node-rank", node_rank), "this node's number, from 0", "$" in node_rank))
        if run_id is not None:
            words.append(Argument(("--rdzv-id", run_id), "a name for this run only", "$" in run_id))
    ranks = f"{plan.fleet.per_node} ranks per node" if plan.fleet.per_node > 1 else "one rank per node"
    words.append(Argument(("--nproc-per-node", str(plan.fleet.per_node)), ranks))
    return words


def model_words(plan: Plan) -> str:
    """What the model is called in a comment; of a path only the last part, since files are passed on."""
    name = plan.workload.model_id
    if not name:
        return "a model with given sizes"
    return PurePath(name).name if name.startswith(("/", "~", ".")) else name


def word(text: str, variables: bool = False) -> str:
    """A word as a shell reads it back; with ``variables`` those in it are filled in."""
    if variables and "$" in text:
        return f'"{text}"'
    if re.search(r"[$`]", text):
        return '"' + re.sub(r'([\\$`"])', r"\\\1", text) + '"'  # single quotes look like a forgotten expansion
    return shlex.quote(text)


def array(name: str, arguments: Iterable[Argument]) -> Iterator[str]:
    """A bash array of the words, each group below its reason: comments cannot stand in a command over many lines."""
    yield f"{name}=("
    for one in arguments:
        yield from comment(one.reason, indent="  ")
        yield "  " + " ".join(word(part, one.variables) for part in one.words)
    yield ")"
