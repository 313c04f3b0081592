"""Bytes that leave a rank, from the transfers it takes part in.

A ring over n ranks moves (n-1)/n of the payload of an all-gather or a reduce-scatter out of each rank and twice that
for an all-reduce; an all-to-all keeps its own part; of a broadcast every rank but the last passes the payload on, which
is (n-1)/n of it for the mean rank; a send leaves whole. Algorithms that combine in switches (NVLink SHARP) or double
on trees move other bytes, at most about as many.
"""

from __future__ import annotations

from rocdoctor.train.recommend.memory.tensors import holders, layers_held
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.speed.transfers import Group, Kind, transfers


def ring(count: int) -> float:
    """Share of the data that one rank sends in an all-gather or reduce-scatter over ``count`` ranks."""
    return (count - 1) / count if count > 1 else 0.0


def share(kind: Kind, ranks: int) -> float:
    """Bytes that leave one rank over the payload."""
    if ranks < 2:
        return 0.0
    return {"all_reduce": 2 * ring(ranks), "send": 1.0}.get(kind, ring(ranks))


def sent(work: Work, rank: int = 0) -> dict[Group, float]:
    """Bytes a step that leave a rank of pipeline place ``rank``, by group; groups without any are left out."""
    found: dict[Group, float] = {}
    for one in transfers(work, rank):
        found[one.group] = found.get(one.group, 0.0) + share(one.kind, one.ranks) * one.total
    return found


def busiest(work: Work) -> dict[Group, float]:
    """The most that any rank of the pipeline sends in each group.

    The first and the last rank differ from those between by embedding and head, and those by their layers.
    """
    ranks = set(holders(work))
    middle = ranks - {holders(work)[0], holders(work)[-1], 0, work.parallel.pp - 1}
    if middle:
        fullest = max(middle, key=lambda rank: sum(count for _, count in layers_held(work, rank)))
        ranks = ranks - middle | {fullest}
    found: dict[Group, float] = {}
    for rank in ranks:
        for group, count in sent(work, rank).items():
            found[group] = max(found.get(group, 0.0), count)
    return found
