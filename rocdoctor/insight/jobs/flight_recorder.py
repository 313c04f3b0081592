"""Joining the flight recorder dumps of several ranks: which collective is stuck, who is not in it, who differs.

Each process group counts its collectives; the same number on all its ranks must be the same call. Of a rank without a
dump nothing is known. gloo's recorder never says that an operation is done, so with gloo only what cannot be done
without all ranks is judged (all-reduce, barrier ...), and only by how far each rank came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rocdoctor.model.facts import FlightOp, FlightRecord
from rocdoctor.model.shell_command import ShellCommand, shell

# Collectives that end on no rank before every rank takes part.
_NEED_ALL = (
    "all_reduce",
    "allreduce",
    "barrier",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "alltoall",
    "allgather",
)
# Collectives whose sizes are the same on all ranks; others differ by design (scatter, gather, all-to-all).
_SAME_SIZES = (
    "all_reduce",
    "allreduce",
    "reduce",
    "broadcast",
    "_all_gather_base",
    "_reduce_scatter_base",
    "all_gather_single",
    "reduce_scatter_single",
)


@dataclass(frozen=True, slots=True)
class Stall:
    """A collective that did not end. ``missing`` ranks have a dump and did not come to it, ``unknown`` have none.

    ``waiting`` ranks are in it, ``done`` ranks have finished it; ``last`` is how far each missing rank came.
    """

    group: str
    group_desc: str | None
    sequence: int
    operation: str
    backend: str
    waiting: tuple[int, ...]
    missing: tuple[int, ...]
    done: tuple[int, ...]
    unknown: tuple[int, ...]
    last: Mapping[int, int]
    not_begun: tuple[int, ...] = ()  # their GPU has not come to it, while that of others has
    frames: Mapping[int, str] | None = None
    p2p: bool = False

    @property
    def name(self) -> str:
        """The collective for a sentence: "all_reduce number 41 of the group default_pg"."""
        of = self.group_desc or self.group
        return f"{self.operation} number {self.sequence}" + (f" of the group {of}" if of else "")


@dataclass(frozen=True, slots=True)
class Unlike:
    """One number of a group that is not the same call on all ranks; ``values`` says what each rank ran."""

    group: str
    group_desc: str | None
    sequence: int
    what: str  # operation, sizes, types
    values: Mapping[int, str]
    frames: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class _Group:
    name: str
    desc: str | None
    members: tuple[int, ...]  # () where the dumps do not tell
    ops: Mapping[int, Mapping[int, tuple[FlightOp, ...]]]  # rank -> sequence -> its operations


def by_rank(records: Iterable[FlightRecord]) -> dict[int, FlightRecord]:
    """The dumps of known ranks; of several of one rank the one with the most operations."""
    found: dict[int, FlightRecord] = {}
    for one in records:
        if one.rank is not None and (one.rank not in found or len(one.ops) > len(found[one.rank].ops)):
            found[one.rank] = one
    return found


def stalls(records: Iterable[FlightRecord]) -> tuple[Stall, ...]:
    """Every collective that did not end, one for each group, those with missing ranks first."""
    ranks = by_rank(records)
    found = [stall for group in _groups(ranks) if (stall := _stall(group, ranks)) is not None]
    found += _receives(ranks)
    return tuple(sorted(found, key=lambda one: (not one.missing, one.p2p, not one.unknown)))


def roots(found: Sequence[Stall]) -> tuple[int, ...]:
    """The missing ranks that wait in no other collective themselves; () where all of them do."""
    waiting = {rank for one in found for rank in one.waiting if one.missing or one.unknown}
    return tuple(sorted({rank for one in found for rank in one.missing} - waiting))


def ring(found: Sequence[Stall]) -> tuple[int, ...]:
    """Ranks that wait for each other in different groups, each for the next; () where there is no such ring."""
    waits: dict[int, set[int]] = {}
    for one in found:
        for rank in one.waiting:
            waits.setdefault(rank, set()).update(one.missing)
    alive = {rank for rank in waits if waits[rank]}
    for _ in range(len(alive) + 1):  # whoever waits for nobody in the ring is not in it
        kept = {rank for rank in alive if waits[rank] & alive}
        if kept == alive:
            break
        alive = kept
    reached = {target for rank in alive for target in waits[rank]}
    return tuple(sorted(alive & reached))


def unlikes(records: Iterable[FlightRecord]) -> tuple[Unlike, ...]:
    """The first number of each group at which ranks ran unlike calls that did not end on all of them."""
    found = (_unlike(group) for group in _groups(by_rank(records)))
    return tuple(one for one in found if one is not None)


def without_dump(records: Iterable[FlightRecord]) -> tuple[int, ...]:
    """Ranks that the dumps name as members of groups and that left no dump."""
    ranks = by_rank(records)
    named = {member for one in ranks.values() for members in one.groups.values() for member in members}
    return tuple(sorted(named - set(ranks)))


def _members(record: FlightRecord, name: str, desc: str | None) -> tuple[int, ...]:
    members = record.groups.get(name, ())
    if not members and desc == "default_pg" and {op.group for op in record.ops} <= {name}:
        members = record.groups.get("", ())  # gloo names its only group ""
    return members if record.rank in members else ()


def _groups(ranks: Mapping[int, FlightRecord]) -> list[_Group]:
    """The groups that have a name. Groups of one name and different members (split_group) are different ones."""
    found: dict[tuple[str, tuple[int, ...]], dict[int, dict[int, list[FlightOp]]]] = {}
    descs: dict[tuple[str, tuple[int, ...]], str | None] = {}
    members_of: dict[str, set[tuple[int, ...]]] = {}
    for record in ranks.values():
        for name, members in record.groups.items():
            if record.rank in members:
                members_of.setdefault(name, set()).add(members)
    for rank, record in ranks.items():
        for op in record.ops:
            if not op.group or op.p2p or op.sequence is None:
                continue
            members = _members(record, op.group, op.group_desc)
            if not members and len(known := members_of.get(op.group, set())) == 1:
                members = next(iter(known))
            key = (op.group, members)
            descs.setdefault(key, op.group_desc)
            found.setdefault(key, {}).setdefault(rank, {}).setdefault(op.sequence, []).append(op)
    return [
        _Group(
            name,
            descs[name, members],
            members,
            {rank: {number: tuple(ops) for number, ops in of.items()} for rank, of in by.items()},
        )
        for (name, members), by in found.items()
    ]


def _is_done(ops: Sequence[FlightOp]) -> bool:
    return all(op.state == "completed" for op in ops)


def _stall(group: _Group, ranks: Mapping[int, FlightRecord]) -> Stall | None:
    there = {rank for rank, record in ranks.items() if record.ops and _belongs(rank, record, group)}
    # A dump of active operations alone does not show how far an idle rank came.
    there -= {rank for rank in there if rank not in group.ops and not _shows_past(ranks[rank])}
    unknown = tuple(sorted(set(group.members) - there))
    if len(there) + len(unknown) < 2 or not there:
        return None
    last = {rank: max(group.ops.get(rank, {0: ()})) for rank in there}
    tells = any(op.state in ("started", "completed") for of in group.ops.values() for ops in of.values() for op in ops)
    if tells:
        heads = {
            rank: min((n for n, ops in group.ops.get(rank, {}).items() if not _is_done(ops)), default=None)
            for rank in there
        }
        open_ones = [head for head in heads.values() if head is not None]
        if not open_ones:
            return None
        at = min(open_ones)
    else:
        newest = max(last.values())
        at = min(min(last.values()) + 1, newest)
        if min(last.values()) == newest and (
            not unknown or all(op.retired for of in group.ops.values() for op in of.get(newest, ()))
        ):
            return None  # all are as far, and whether they are done gloo does not say
    inside = {rank: ops for rank in there if (ops := group.ops.get(rank, {}).get(at))}
    waiting = tuple(sorted(rank for rank, ops in inside.items() if not _is_done(ops)))
    if not waiting:
        return None
    main = inside[waiting[0]][-1]
    missing = tuple(sorted(rank for rank in there if last[rank] < at))
    if not tells and not (main.operation.startswith(_NEED_ALL) or any(not op.retired for op in inside[waiting[0]])):
        return None
    begun = {rank for rank in waiting if any(op.state == "started" for op in inside[rank])}
    frames = {rank: ops[-1].frame or "" for rank, ops in inside.items() if ops[-1].frame}
    return Stall(
        group.name,
        group.desc,
        at,
        main.operation,
        main.backend,
        waiting,
        missing,
        tuple(sorted(rank for rank in inside if rank not in waiting)),
        unknown,
        {rank: last[rank] for rank in missing},
        tuple(rank for rank in waiting if rank not in begun) if begun else (),
        frames,
    )


def _belongs(rank: int, record: FlightRecord, group: _Group) -> bool:
    if rank in group.ops:
        return True
    if group.members:
        return rank in group.members and _members(record, group.name, group.desc) in ((), group.members)
    return group.desc == "default_pg"


def _shows_past(record: FlightRecord) -> bool:
    return any(op.state == "completed" or op.retired for op in record.ops)


def _receives(ranks: Mapping[int, FlightRecord]) -> list[Stall]:
    """Sends and receives that are open while the other side, whose dump is there, has none open for them."""
    opened: list[tuple[int, int, FlightOp]] = []  # (rank, its peer, operation)
    for rank, record in ranks.items():
        for op in record.ops:
            if not op.p2p or op.source_rank is None or op.target_rank is None or op.state != "started":
                continue
            members = _members(record, op.group, op.group_desc)
            ends = (op.source_rank, op.target_rank)
            if members and max(ends) < len(members):
                ends = (members[ends[0]], members[ends[1]])
            elif op.group_desc != "default_pg":
                continue
            peer = ends[0] if op.operation == "recv" else ends[1]
            if rank in ends and peer != rank:
                opened.append((rank, peer, op))
    pairs = {(rank, peer) for rank, peer, _ in opened}
    return [
        Stall(
            op.group,
            op.group_desc,
            op.sequence or 0,
            op.operation,
            op.backend,
            (rank,),
            (peer,),
            (),
            (),
            {},
            frames={rank: op.frame} if op.frame else {},
            p2p=True,
        )
        for rank, peer, op in opened
        if peer in ranks and (peer, rank) not in pairs
    ]


def _unlike(group: _Group) -> Unlike | None:
    if len(group.ops) < 2:
        return None
    counts: dict[int, int] = {}
    for of in group.ops.values():
        for number in of:
            counts[number] = counts.get(number, 0) + 1
    for number in sorted(number for number, count in counts.items() if count > 1):
        same = {rank: of[number] for rank, of in group.ops.items() if number in of}
        # Several operations under one number are a coalesced call, whose parts may differ by design.
        if any(len(ops) != 1 for ops in same.values()) or all(_is_done(ops) for ops in same.values()):
            continue
        calls = {rank: ops[0] for rank, ops in same.items()}
        what, values = _difference(calls)
        if what:
            frames = {rank: op.frame for rank, op in calls.items() if op.frame}
            return Unlike(group.name, group.desc, number, what, values, frames)
    return None


def _difference(calls: Mapping[int, FlightOp]) -> tuple[str, dict[int, str]]:
    operations = {rank: op.operation for rank, op in calls.items()}
    if len(set(operations.values())) > 1:
        return "operation", operations
    operation = next(iter(operations.values()))
    if not operation.startswith(_SAME_SIZES) or "coalesced" in operation or operation.startswith("reduce_scatter_v"):
        return "", {}
    sizes = {rank: _shape(op.input_sizes) for rank, op in calls.items()}
    if len(set(sizes.values())) > 1:
        return "sizes", sizes
    types = {rank: ", ".join(op.dtypes) for rank, op in calls.items()}
    if all(types.values()) and len(set(types.values())) > 1:
        return "types", types
    return "", {}


def _shape(sizes: Sequence[Sequence[int]]) -> str:
    return " ".join("[" + ", ".join(str(n) for n in one) + "]" for one in sizes[:8])


def names(ranks: Iterable[int]) -> str:
    """Ranks for a sentence: "rank 3", "ranks 0-2 and 5"."""
    ordered = sorted(set(ranks))
    spans: list[list[int]] = []
    for rank in ordered:
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    words = [str(a) if a == b else f"{a} and {b}" if b == a + 1 and len(spans) == 1 else f"{a}-{b}" for a, b in spans]
    if len(words) > 12:
        words = [*words[:12], f"{len(words) - 12} more spans"]
    text = " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
    return f"rank {text}" if len(ordered) == 1 else f"ranks {text}"


def look_at(ranks: Sequence[int]) -> ShellCommand:
    """The command that finds the process of a rank on its machine and looks at it."""
    rank = ranks[0] if ranks else 0
    return shell(
        "for p in $(grep -lsz '^RANK={rank:number}$' /proc/[0-9]*/environ | cut -d/ -f3); "
        "do rocdoctor check --pid $p; py-spy dump --pid $p; done",
        rank=rank,
    )
