"""Which of many machines are of one kind: what is usual for one kind of node says nothing of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rocdoctor.compare.snapshot import Snapshot

_FEWEST = 3  # of fewer machines more than half is no majority


def kinds(machines: Sequence[Snapshot]) -> tuple[tuple[int, ...], ...]:
    """The machines by the chips that they have, the largest kind first; one kind where no two have three machines.

    How many of a chip there are does not count, so a node that has lost a GPU stays among its equals. One without any
    GPU belongs to the kind whose processors it has, else to the largest; so does one of a kind of its own.
    """
    chips = [frozenset(gpu.chip for gpu in one.gpus if gpu.chip is not None) for one in machines]
    large = [key for key, count in Counter(key for key in chips if key).most_common() if count >= _FEWEST]
    if len(large) < 2:
        return (tuple(range(len(machines))),)
    processors = {one.traits.get("cpu"): key for one, key in zip(machines, chips, strict=True) if key in large}
    places = {key: number for number, key in enumerate(large)}
    members: list[list[int]] = [[] for _ in large]
    for number, (one, key) in enumerate(zip(machines, chips, strict=True)):
        cpu = one.traits.get("cpu")
        alike = processors.get(cpu, large[0]) if cpu is not None and not key else large[0]
        members[places.get(key, places[alike])].append(number)
    return tuple(tuple(one) for one in members)
