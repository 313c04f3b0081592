"""What NCCL holds for the groups of ranks that talk: buffers beside torch's allocator, kept from first use to the end.

A connection of two ranks has a receiving buffer for each of three protocols (512 KiB, 4.7 MiB and 4 MiB, in pages of
2 MiB together 10 MiB) and a page for sending, on every channel (``DEFAULT_*BUFFSIZE`` of src/init.cc, ``p2pRecvSetup``
of src/transport/p2p.cc). A ring has one connection a channel, a tree of more than two ranks two; all-to-all and
pipeline have one with each peer. Channels: twice 12 over NVLink, and then 32 to each peer; 16 and 2 where a group spans
nodes; 2 over PCIe (``ncclTopoPostset`` of src/graph/connect.cc, ``ncclTopoGetNchannels`` and
``ncclTopoComputeP2pChannels`` of src/graph/paths.cc). All NVIDIA/nccl 5067397c2, read 2026-11-29.

What was measured: all-to-all of 8 H100 took 3.3 GB (NVIDIA/nccl issue 1685; 2.6 GiB are counted), a group of two A100
0.54 GB and one of three or four 0.69 GB without pages of 2 MiB (issue 964; ring and tree are 0.43 and 0.65 GiB), and
all groups of Megatron-LM on 8 H100 with tp, pp and dp of 2 took 7 GB, 9.5 GB with experts (verl-project/verl pull
request 6408). Buffers of switches that sum (NVLS, from Hopper on) are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.model.layout import Parallel
from rocdoctor.train.recommend.model.spec import Work

_CONNECTION = 12 * 2.0**20
_RINGS, _PEER = {"node": 24, "nodes": 16, "pcie": 2}, {"node": 32, "nodes": 2, "pcie": 2}


@dataclass(frozen=True, slots=True)
class _Group:
    """A communicator: its ranks, the distance of two neighbours in rank order, and what runs in it.

    ``peers``: ranks that one sends to and receives from directly.
    """

    ranks: int
    stride: int
    ring: bool = False
    tree: bool = False
    peers: int = 0


def _pipeline(plan: Parallel, world: int) -> _Group:
    return _Group(plan.pp, world // plan.pp, peers=min(2, plan.pp - 1))


def _context(plan: Parallel) -> _Group:
    return _Group(plan.cp, plan.tp, peers=min(2, plan.cp - 1))


def _megatron(work: Work) -> Iterator[_Group]:
    """Groups that a step uses (core/parallel_state.py; whom norms are summed over: ``grad_stats_parallel_group`` of
    core/optimizer; whether the step was done: ``logical_and_across_model_parallel_group`` of training/training.py)."""
    plan, world = work.parallel, work.gpus
    yield _Group(world, 1, tree=True)
    yield _Group(plan.tp, 1, ring=plan.sequence, tree=True)
    yield _Group(plan.dp * plan.cp, plan.tp, ring=plan.zero > 0, tree=True)
    yield _Group(plan.tp * plan.pp, 1 if plan.pp == 1 else world // plan.pp, tree=True)
    if plan.zero:
        yield _Group(world, 1, tree=True)
    yield _pipeline(plan, world)
    yield _context(plan)
    if work.model.tied and plan.pp > 1:
        yield _Group(2, world // plan.pp, tree=True)
    if work.model.experts and plan.ep > 1:
        yield _Group(plan.ep, plan.cut, peers=plan.ep - 1)
        yield _Group(plan.ep * plan.cut, 1, ring=True)
        yield _Group(plan.expert_ranks(plan.dp * plan.cp), plan.ep * plan.cut, ring=True)


def _plain(work: Work) -> Iterator[_Group]:
    """Groups of torch's own parallelism and of DeepSpeed: one for states and the loss, one for each dimension more."""
    plan, world = work.parallel, work.gpus
    shard = plan.shard if plan.zero else 1
    single = plan.tp * plan.pp * plan.cp == 1 and shard in (1, plan.dp)
    yield _Group(world, 1, ring=single, tree=True)
    if not single:
        yield _Group(shard, plan.tp, ring=True)
        yield _Group(plan.dp * plan.cp // max(1, shard), plan.tp * shard, ring=True)
        yield _Group(plan.tp, 1, ring=True, tree=not plan.sequence)
        yield _pipeline(plan, world)
        yield _context(plan)
    if work.model.experts and plan.ep > 1:
        yield _Group(plan.ep, plan.tp, peers=plan.ep - 1)


def _bytes(group: _Group, work: Work) -> float:
    if group.ranks < 2:
        return 0.0
    gpu = work.gpu
    joined = gpu.domain if gpu.fabric == "nvlink" else gpu.node_gpus
    kind = "nodes" if group.ranks * group.stride > joined else "node" if gpu.fabric == "nvlink" else "pcie"
    neighbours = (1 if group.ring else 0) + ((1 if group.ranks == 2 else 2) if group.tree else 0)
    return _CONNECTION * (_RINGS[kind] * neighbours + _PEER[kind] * group.peers)


def collective_bytes(work: Work, first: float) -> float:
    """Bytes of all communicators of one rank.

    ``first``: what is taken where the library's source was not read (RCCL), and the least otherwise.
    """
    if work.gpus == 1:
        return 0.0
    if work.gpu.generation.startswith(("cdna", "gcn", "rdna")):
        return first * GIB
    groups = _megatron(work) if work.framework == "megatron" else _plain(work)
    return max(first * GIB, sum(_bytes(one, work) for one in groups))
