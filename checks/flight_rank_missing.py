"""Some ranks did not reach a collective in which others wait.

Why
  The flight recorder of each rank says which collectives it entered. If some ranks wait in one that another never
  entered, that rank is late: it ended, hangs in other code (data loading, a checkpoint, a lock), or took another
  branch. The dump does not say why, and the network is not to blame for a call that was never made.

Fix
  Look at the process of the missing rank on its own machine: its last log lines, its stack (py-spy dump), and
  rocdoctor check --pid. Ranks without a dump are not known: look for their log first.

References
  https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html
  torch/distributed/flight_recorder/components/builder.py, torch 2.13
"""

from __future__ import annotations

from rocdoctor.insight.jobs.flight_recorder import (
    Stall,
    by_rank,
    look_at,
    names,
    ring,
    roots,
    stalls,
    unlikes,
    without_dump,
)
from rocdoctor.insight.jobs.job_log import pid_of, with_records
from rocdoctor.judging.check import Evidence, Fix, Outcome, check, error, quote, unknown, warning
from rocdoctor.model.facts import JobRun, Machine


@check(with_records)
def flight_rank_missing(machine: Machine, run: JobRun) -> Outcome:
    ranks = by_rank(run.records)
    nameless = sum(one.rank is None for one in run.records)
    if not ranks and nameless:
        raise unknown(
            f"the ranks of {nameless} dumps are not known: give the files by name, one --add for each rank", "undecided"
        )
    found = stalls(run.records)
    late = [one for one in found if one.missing]
    left_none = without_dump(run.records)
    if late and not unlikes(run.records) and not ring(found):
        return _late(run, late, found, left_none)
    open_ones = [one for one in found if one.unknown and not one.missing]
    if open_ones:
        one = open_ones[0]
        return warning(
            f"{names(one.waiting).capitalize()} wait{'s' * (len(one.waiting) == 1)} in "
            f"{one.name}. There is no dump of {names(one.unknown)}: it is not known whether "
            f"{_they(one.unknown)} entered it.",
            evidence=_evidence(run, one),
            fix=Fix(
                f"Add the dump of {names(one.unknown)} (nccl_trace_rank_N of every machine); if there is none, the "
                "process ended or hangs outside torch: read its last log lines",
                command=look_at(one.unknown),
                safety="safe",
            ),
            confidence="likely",
        )
    if len(ranks) < 2:
        raise unknown("there is a dump of one rank only; the others' say which rank is late", "undecided")
    return None


def _late(run: JobRun, late: list[Stall], found: tuple[Stall, ...], left_none: tuple[int, ...]) -> Outcome:
    first = roots(found)
    one = next((each for each in late if set(each.missing) & set(first)), late[0])
    missing = tuple(rank for rank in one.missing if rank in first) or one.missing
    text = f"{names(missing).capitalize()} did not reach {one.name}"
    if one.p2p:
        verb = "sends" if one.operation == "recv" else "receives"
        text = f"{names(one.waiting).capitalize()} waits in a {one.operation}, but {names(missing)} {verb} nothing"
    else:
        last = ", ".join(f"{rank}: {one.last[rank]}" for rank in missing[:8] if rank in one.last)
        text += f", in which {names(one.waiting)} wait{'s' * (len(one.waiting) == 1)}"
        text += f" (last one that each entered: {last})" if last else ""
    text += "."
    victims = sorted({rank for each in late for rank in each.missing} - set(missing))
    if victims:
        text += f" {names(victims).capitalize()} wait{'s' * (len(victims) == 1)} elsewhere for the same reason."
    if one.unknown or left_none:
        text += f" There is no dump of {names(one.unknown or left_none)}, so their state is not known."
    place = pid_of(run, missing[0])
    where = f" (process {place[0]} on {place[1]})" if place and place[1] else ""
    return error(
        text,
        evidence=_evidence(run, one),
        fix=Fix(
            f"On the machine of {names(missing)}{where} see what it is doing instead: its last "
            "log lines, its stack, its "
            "state; if the job still ran when the dumps were made, make them again a minute later",
            command=look_at(missing),
            safety="safe",
        ),
        confidence="likely",
    )


def _they(ranks: tuple[int, ...]) -> str:
    return "it" if len(ranks) == 1 else "they"


def _evidence(run: JobRun, one: Stall) -> list[Evidence]:
    records = by_rank(run.records)
    shown = []
    for rank in [*one.missing[:2], *one.waiting[:3]]:
        record = records.get(rank)
        if record is None:
            continue
        what = f"rank {rank} in {one.operation} {one.sequence}"
        if rank in one.missing:
            what = f"rank {rank}: no {one.operation} {one.sequence}, last {one.last.get(rank, 'none')}"
        elif one.frames and rank in one.frames:
            what += f", called at {one.frames[rank]}"
        shown.append(quote(run.dump, what, record.line))
    return shown
