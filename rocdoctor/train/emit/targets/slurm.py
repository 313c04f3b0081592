"""A batch file for Slurm: one task a node, which starts the ranks of the node by torchrun.

Options as in the manual pages of sbatch and srun (Slurm 22.05 and later).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rocdoctor.train.emit.files import File, comment, plain
from rocdoctor.train.emit.launch import torchrun
from rocdoctor.train.emit.launcher import LOCAL, array, open_ports, own_port
from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.targets.env import export, lines
from rocdoctor.train.emit.targets.torchrun import FRAMEWORKS, head, refuses
from rocdoctor.train.recommend.environment import by_node, without_visibility
from rocdoctor.train.recommend.plan import Plan

__all__ = ["FRAMEWORKS", "files", "refuses"]

# torchrun gives its ranks 30 s between SIGTERM and SIGKILL (torch 2.13, distributed/elastic/multiprocessing/api.py).
_WARNING_S = 60


def files(plan: Plan, order: Order) -> Sequence[File]:
    """One file for sbatch."""
    return (File("train.sbatch", "\n".join(_file(plan, order)) + "\n"),)


def _file(plan: Plan, order: Order) -> Iterator[str]:
    several = plan.fleet.nodes > 1
    yield "#!/usr/bin/env bash"
    yield from _directives(plan, order)
    yield "#"
    yield from head(plan, order)
    yield "set -euo pipefail"
    yield ""
    yield from lines(without_visibility(tuple(plan.environment)), export)
    if without_visibility(tuple(plan.environment)) != tuple(plan.environment):
        yield "# which GPUs a job sees is Slurm's choice, so no variable selects them here"
    told = by_node(plan)
    if told:
        yield "# left to you, because it may differ from node to node:"
        for sentence in told:
            yield from comment(sentence)
    yield ""
    if several:
        yield "# the ranks meet on the first node of the job; the port differs from job to job"
        yield 'hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST")'
        yield "first=${hosts%%$'\\n'*}"
        yield "port=$((20000 + SLURM_JOB_ID % 10000))"
        yield ""
    else:
        yield from own_port("SLURM_JOB_ID")
    yield from open_ports()
    meeting = "$first:$port" if several else LOCAL
    job = "$SLURM_JOB_ID" if several else None
    yield from array("command", torchrun(plan, order, "$SLURM_NNODES", None, meeting, job))
    yield ""
    yield from _step(plan, order)


def _directives(plan: Plan, order: Order) -> Iterator[str]:
    """The options of sbatch; comments may stand between them."""
    fleet = plan.fleet
    yield f"#SBATCH --job-name={_name(order.job)}"
    if order.partition is not None:
        yield f"#SBATCH --partition={_name(order.partition)}"
    yield f"#SBATCH --nodes={fleet.nodes}"
    yield "# one task per node: torchrun starts the ranks of a node"
    yield "#SBATCH --ntasks-per-node=1"
    if fleet.vendor != "cpu":
        yield f"#SBATCH --gres=gpu:{fleet.per_node}"
    yield "# whole nodes, with all CPUs: ranks of others would share links and memory; 0 means all memory of a node"
    yield "#SBATCH --exclusive"
    yield "#SBATCH --mem=0"
    yield "#SBATCH --output=%x-%j.out"
    if order.time is not None:
        yield f"#SBATCH --time={_name(order.time)}"
        yield f"# {_WARNING_S} s before the end torchrun is told to end, and gives each rank 30 s to save what it has"
        yield f"#SBATCH --signal=TERM@{_WARNING_S}"
    else:
        yield "# no time limit is requested, so that of the partition applies"
    yield "# a requeued job would start from the beginning; use --requeue if the program resumes from a checkpoint"
    yield "#SBATCH --no-requeue"


def _step(plan: Plan, order: Order) -> Iterator[str]:
    if order.image is not None:
        yield from comment(f"for the image {order.image}: add --container-image to srun if the cluster has Pyxis")
    yield "# without --cpus-per-task a task is tied to one CPU; a node whose torchrun fails ends the others"
    step = 'srun --kill-on-bad-exit=1 --cpus-per-task="$SLURM_CPUS_ON_NODE"'
    if plan.fleet.nodes == 1:
        yield f'{step} "${{command[@]}}"'
        return
    yield "# only its own task knows the number of a node: torchrun reads it from PET_NODE_RANK"
    yield "# shellcheck disable=SC2016"
    yield f"""{step} bash -c 'PET_NODE_RANK=$SLURM_NODEID exec "$@"' node "${{command[@]}}\""""


def _name(text: str) -> str:
    """A value of an option: what follows a blank in such a line would be an option of its own."""
    return re.sub(r"[^A-Za-z0-9_.:,+-]", "-", plain(text)) or "train"
