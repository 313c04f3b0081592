"""The torchrun command as a bash script, with the environment of the plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocdoctor.train.emit.files import File, comment
from rocdoctor.train.emit.launch import demands, left_open, torchrun
from rocdoctor.train.emit.launcher import LOCAL, PORT, array, model_words, open_ports, own_port
from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.targets.env import export, lines
from rocdoctor.train.recommend.environment import by_node
from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.plan import Plan

FRAMEWORKS: tuple[Framework, ...] = ("fsdp2", "ddp", "deepspeed", "fsdp1", "megatron")


def refuses(work: Work) -> str | None:
    """A launcher starts any program, so none is refused; what the program must do is written into the file."""
    del work
    return None


def files(plan: Plan, order: Order) -> Sequence[File]:
    """One script; the same for all nodes."""
    return (File("train.sh", "\n".join(_script(plan, order)) + "\n", executable=True),)


def head(plan: Plan, order: Order) -> Iterator[str]:
    """What the file is for, and what the program must do, as comments."""
    yield from comment(f"written by rocdoctor: {model_words(plan)} on {plan.fleet.name}")
    for one in left_open(plan, order):
        yield from comment(one)
    told = demands(plan, order)
    if told:
        yield "# The memory of this plan was estimated for a training program that does this:"
        for one in told:
            yield from comment(f"- {one}")


def _script(plan: Plan, order: Order) -> Iterator[str]:
    yield "#!/usr/bin/env bash"
    yield from head(plan, order)
    several = plan.fleet.nodes > 1
    if several:
        yield "#"
        where = f"Start it on each of the {plan.fleet.nodes} nodes. "
        yield from comment(
            where + "NODE_RANK is the node's number (0, 1, ...), MASTER_ADDR the name or address of node 0."
        )
    yield "set -euo pipefail"
    yield ""
    if several:
        yield ': "${MASTER_ADDR:?set it to the name or address of node 0, the same on all nodes}"'
        yield ': "${NODE_RANK:?set it to the number of this node, 0 on the node that MASTER_ADDR names}"'
        yield ""
    yield from lines(plan.environment, export)
    told = by_node(plan)
    if told:
        yield "# left to you, because it may differ from node to node:"
        for sentence in told:
            yield from comment(sentence)
    yield ""
    rank, meeting = ("$NODE_RANK", f"$MASTER_ADDR:{PORT}") if several else (None, LOCAL)
    yield from () if several else own_port("$$")
    yield from open_ports()
    yield from array("command", torchrun(plan, order, str(plan.fleet.nodes), rank, meeting))
    yield 'exec "${command[@]}"'
