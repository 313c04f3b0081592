"""Ranks called different collectives, or one collective with different sizes or types.

Why
  Each collective must be called by all ranks of its group in the same order, with the same sizes and types. If one
  rank takes a different branch (a condition on the rank, an uneven last batch, an unused layer), all ranks wait forever
  or get wrong numbers. This is a fault of the program: no cable and no driver can cause it.

Fix
  Go to the line of the program that the finding names and make all ranks take the same path. TORCH_DISTRIBUTED_DEBUG=
  DETAIL checks each call and names the first one that differs.

References
  https://docs.pytorch.org/docs/stable/distributed.html#debugging-torch-distributed-applications
  torch/distributed/flight_recorder/components/types.py, 2.13 (what must match)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocdoctor.insight.jobs.flight_recorder import by_rank, names, ring, stalls, unlikes
from rocdoctor.insight.jobs.job_log import WHOLE_JOB, lines
from rocdoctor.judging.check import (
    Evidence,
    Finding,
    Fix,
    NotApplicable,
    Outcome,
    Selected,
    Subjects,
    check,
    error,
    quote,
)
from rocdoctor.model.facts import JobRun, Machine
from rocdoctor.model.facts.run import WatchdogTimeout
from rocdoctor.model.subject import Subject

_WORDS = {"operation": "operations", "sizes": "sizes", "types": "data types"}
_FOLLOWS = ("network-interface-wrong", "iommu-acs-p2p", "rendezvous-name-resolution")


def _with_calls(machine: Machine) -> Subjects[JobRun]:
    run = machine.run
    if run.records or run.mismatches or run.timeouts or run.received_sizes:
        return [Selected(Subject("job"), run)]
    return NotApplicable("no collective of several ranks in this evidence")


@check(_with_calls, cause="not-environment")
def collective_mismatch(machine: Machine, run: JobRun) -> Outcome:
    for one in unlikes(run.records):
        of = f" of the group {one.group_desc or one.group}"
        said = "; ".join(f"{names(ranks)}: {value}" for value, ranks in _grouped(one.values)[:4])
        frames = [f"rank {rank} at {one.frames[rank]}" for rank in sorted(one.frames)[:3]]
        records = by_rank(run.records)
        return _finding(
            f"Collective number {one.sequence}{of} is not the same call on all ranks: {_WORDS[one.what]} differ "
            f"({said}).",
            [
                quote(run.dump, f"rank {rank}: {one.values[rank]}", records[rank].line)
                for rank in sorted(one.values)[:4]
            ],
            f" ({'; '.join(frames)})" if frames else "",
        )
    if circle := ring(found := stalls(run.records)):
        waits = "; ".join(f"{names(one.waiting)} in {one.name}" for one in found if one.missing)
        return _finding(
            f"{names(circle).capitalize()} wait for each other in different groups ({waits[:400]}): they call the "
            "collectives of these groups in a different order.",
            [quote(run.dump, f"rank {rank} waits", by_rank(run.records)[rank].line) for rank in circle[:4]],
            "",
        )
    for pair in run.mismatches:
        number = f" number {pair.sequence}" if pair.sequence is not None else ""
        for what, (a, b) in (("operations", pair.operations), ("shapes", pair.shapes), ("data types", pair.dtypes)):
            if a and b and a != b:
                return _finding(
                    f"Rank {pair.ranks[0]} and rank {pair.ranks[1]} ran different collectives{number}: {what} differ "
                    f"({a} and {b}).",
                    lines(run, [one.line for one in run.mismatches]),
                    "",
                )
        return _finding(
            f"Rank {pair.ranks[0]} and rank {pair.ranks[1]} ran different collectives{number}.",
            lines(run, [pair.line]),
            "",
        )
    for line, got, wanted in run.received_sizes:
        return _finding(
            f"A rank received {got} bytes where its own call expected {wanted}: ranks call one collective with tensors "
            "of different sizes or types.",
            lines(run, [line]),
            "",
        )
    return _in_timeouts(run)


def _in_timeouts(run: JobRun) -> Outcome:
    """Watchdogs of several ranks that gave up unlike calls under one number."""
    by: dict[tuple[str | None, int], dict[int, WatchdogTimeout]] = {}
    for one in run.timeouts:
        # Only the group of all ranks: in others ranks and names recur (each tensor-parallel group has a rank 0).
        if one.rank is not None and one.group in WHOLE_JOB:
            by.setdefault((one.group, one.sequence), {}).setdefault(one.rank, one)
    for (_, number), of in by.items():
        operations = {rank: one.operation for rank, one in of.items()}
        sizes = {rank: str(one.numel_in) for rank, one in of.items() if one.numel_in is not None}
        for what, values in (("operations", operations), ("element counts", sizes)):
            if len(set(values.values())) < 2 or (what != "operations" and "ALLREDUCE" not in operations.values()):
                continue
            said = "; ".join(f"{names(ranks)}: {value}" for value, ranks in _grouped(values)[:4])
            return _finding(
                f"Collective number {number} is not the same call on all ranks that timed out: {what} differ ({said}).",
                lines(run, [one.line for one in of.values()]),
                "",
            )
    return None


def _grouped(values: Mapping[int, str]) -> list[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for rank, value in sorted(values.items()):
        found.setdefault(value, []).append(rank)
    return sorted(found.items(), key=lambda one: len(one[1]))


def _finding(text: str, evidence: Sequence[Evidence], where: str) -> Finding:
    return error(
        text,
        evidence=evidence,
        fix=Fix(
            f"Make all ranks call the same collectives in the same order{where}; the next run with "
            "TORCH_DISTRIBUTED_DEBUG=DETAIL names the first call that differs",
            command="export TORCH_DISTRIBUTED_DEBUG=DETAIL",
            safety="safe",
        ),
        confidence="likely",
        explains=_FOLLOWS,
    )
