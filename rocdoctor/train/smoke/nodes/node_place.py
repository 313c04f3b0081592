"""Which node this is and where all meet: from options, or from the environment of a Slurm step. Pure.

Names of variables and the form of host lists: srun(1), sections OUTPUT ENVIRONMENT VARIABLES and NODELIST.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import whole_number

MAX_NODES = 1024
DEFAULT_PORT = 29500
# Ports for jobs of Slurm, which may share their first node: by job, so that two do not meet by accident.
_SLURM_PORTS = 500
_MOST_SIGNS, _MOST_RANGES, _MOST_DIGITS = 255, 8, 20
_TOKEN = regex(r"[^\[\],]+|\[[^\[\]]{0,4000}\]|,")


class PlaceError(Exception):
    """What was asked for is not enough, or contradicts the environment; the message says what to give."""


@dataclass(frozen=True, slots=True)
class NodePlace:
    """This node's number, how many there are, and node 0's address and port.

    ``run``: the Slurm step, "" outside; ``key``: the secret, "" where node 0 leaves it in a file of the step.
    """

    node: int
    nodes: int
    host: str
    port: int
    run: str = ""
    slurm: bool = False
    local: int = 0  # which of several tasks on this node this is
    key: str = field(default="", repr=False)

    @property
    def endpoint(self) -> str:
        """The address as it is written on the command line."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def place(nnodes: str, node_rank: int | None, rdzv: str | None, variables: Mapping[str, str]) -> NodePlace:
    """Where this node stands; what is not given comes from Slurm.

    Raises:
        PlaceError: something is missing or contradicts Slurm.
    """
    slurm = variables if variables.get("SLURM_JOB_ID") and variables.get("SLURM_NODEID") else {}
    step_nodes = _number(slurm.get("SLURM_STEP_NUM_NODES") or slurm.get("SLURM_NNODES"))
    if nnodes == "auto":
        if step_nodes is None:
            raise PlaceError("--nnodes auto works within srun only; give the number of nodes")
        nodes = step_nodes
    else:
        number = _number(nnodes)
        if number is None or not 1 <= number <= MAX_NODES:
            raise PlaceError(f"--nnodes takes 1 to {MAX_NODES} nodes, or auto within srun, not '{nnodes}'")
        nodes = number
        # An interactive shell inside an allocation has these variables too, but is one task on one node.
        if step_nodes is not None and step_nodes != nodes:
            raise PlaceError(
                f"this srun step has {step_nodes} nodes, not {nodes}: use --nnodes auto, or srun -N {nodes}"
            )
    node = node_rank if node_rank is not None else _number(slurm.get("SLURM_NODEID"))
    if node is None:
        raise PlaceError("--node-rank is missing: 0 on the first node, 1 on the next one, and so on")
    if not 0 <= node < nodes:
        raise PlaceError(f"--node-rank takes 0 to {nodes - 1} for {nodes} nodes, not {node}")
    job = slurm.get("SLURM_JOB_ID", "")
    if rdzv is not None:
        host, port = _endpoint(rdzv)
    elif slurm:
        names = hosts(slurm.get("SLURM_STEP_NODELIST") or slurm.get("SLURM_JOB_NODELIST") or "")
        if not names:
            raise PlaceError("Slurm does not give the list of nodes; name node 0 with --rdzv HOST:PORT")
        host, port = names[0], DEFAULT_PORT + (_number(job) or 0) % _SLURM_PORTS
    else:
        raise PlaceError(
            f"--rdzv HOST:PORT is missing: an address of node 0 and a free port, for example 10.0.0.1:{DEFAULT_PORT}"
        )
    run = f"{job}.{slurm.get('SLURM_STEP_ID', '')}" if slurm else ""
    return NodePlace(node, nodes, host, port, run, bool(slurm), _number(slurm.get("SLURM_LOCALID")) or 0)


def _endpoint(text: str) -> tuple[str, int]:
    host, colon, number = text.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")):  # an IPv6 address needs brackets before a port
        host, number = text, str(DEFAULT_PORT)
    port = _number(number)
    host = host.strip("[]")
    if not host or port is None or not 1 <= port <= 65535 or len(host) > 253 or re.search(r"[\s/@]", host):
        raise PlaceError(f"--rdzv takes HOST:PORT, for example 10.0.0.1:{DEFAULT_PORT}, not '{text}'")
    return host, port


def _number(text: str | None) -> int | None:
    return whole_number(text, 999_999_999)


def hosts(text: str, most: int = 65536) -> list[str]:
    """The names of a Slurm host list in its order: ``gpu[01-03,7],login1`` is gpu01 gpu02 gpu03 gpu7 login1.

    At most ``most`` of them.
    """
    found: list[str] = []
    name: list[str] = []
    for part in _TOKEN.findall(text[:100_000].replace(" ", "") + ","):
        if part != ",":
            name.append(part)
            continue
        found += _named(name, most - len(found))
        name = []
        if len(found) >= most:
            break
    return found


def _named(parts: Sequence[str], most: int) -> list[str]:
    """The names of one expression; of one with more ranges than Slurm takes none."""
    if sum(part.startswith("[") for part in parts) > _MOST_RANGES:
        return []
    begun = [""]
    for part in parts:
        ends = _numbers(part[1:-1], most) if part.startswith("[") else [part[:_MOST_SIGNS]]
        begun = list(islice((head + end for head in begun for end in ends), most))
    return [name for name in begun if name]


def _numbers(text: str, most: int) -> list[str]:
    found: list[str] = []
    for part in text.split(","):
        if len(found) >= most:
            break
        first, dash, last = part.partition("-")
        begin, end = _number(first), _number(last)
        if not dash or begin is None or end is None or len(first) > _MOST_DIGITS:
            found.append(part[:_MOST_SIGNS])
        else:
            found += [str(one).zfill(len(first)) for one in range(begin, min(end, begin + most) + 1)]
    return found[:most]
