"""A plan that was tried, as a document and as JSON (``rocdoctor.trial/1``): measured beside estimated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rocdoctor.model.printable import one_line
from rocdoctor.report.document import GAP, Block, Fixed, Heading, Para, Table, Title
from rocdoctor.report.plan.recommend_document import FITS
from rocdoctor.train.recommend.explain.value_reasons import gib, room
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.gpu_memory import TRIED_CUT, TRIED_WHOLE
from rocdoctor.train.smoke.plan.compare import Compared, DepthRun, corrected
from rocdoctor.train.smoke.plan.outcome import Outcome

SCHEMA = "rocdoctor.trial/1"
_CPU_ALONE = (
    "On the CPU a process holds only live tensors, without a GPU's allocator, and its kernels keep different tensors. "
    "The trial shows that the plan runs and what its parts take, not what a GPU will need."
)


def size(value: float) -> str:
    """Bytes as GiB, small ones as MiB."""
    return gib(value) if value >= GIB else f"{value / 2**20:.1f} MiB"


def document(one: Outcome) -> list[Block]:
    """The whole answer."""
    blocks: list[Block] = [Title("rocdoctor smoke --plan"), Para(one_line(headline(one)), bold=True)]
    parts = [_measured(one.compared), _trust(one)] if one.compared is not None else [_lost(one)]
    for part in (*parts, _notes(one)):
        found = list(part)
        blocks += [GAP, *found] if found else []
    return blocks


def headline(one: Outcome) -> str:
    """One sentence: what the trial means for the plan."""
    if one.short is not None:
        where = f" in '{one.short.at}'" if one.short.at else ""
        layers = f"{one.short.layers} layer{'s' * (one.short.layers > 1)}"
        whole = "" if one.short.layers == one.work.model.layers else f" at {layers}"
        said = (
            f"Out of memory{whole}: rank {one.short.rank}{where}; the plan predicted at most "
            f"{size(one.short.told_bytes)} for {layers}. "
        )
        if one.short.busy:
            return said + "Something else already used memory on a GPU (see the notes): try again on idle GPUs first."
        return said + "Use a smaller micro-batch or more recompute, or see what else holds memory there."
    if one.lost is not None:
        if one.lost.state == "not-applicable":
            return f"This plan cannot be tried here: {one.lost.message}."
        return f"The plan did not run: {one.lost.message}"
    if one.compared is None:
        return "The plan ran, but its measurements cannot be read; please report it."
    return _verdict(one, one.compared)


def _verdict(one: Outcome, found: Compared) -> str:
    _, _, fits = corrected(found, one.day)
    if found.odd:
        rank, more = found.odd[0]
        return (
            f"Rank {rank} itself allocated {size(more)} more than the other ranks; other programs are not counted in "
            "it. Try again: if the same rank does so again, the plan divides unevenly or its memory is in fragments."
        )
    words = f"memory is {found.memory_ratio:.2f} times the estimate"
    if found.speed is not None:
        words += f", speed {found.speed:.2f} times"
    ran = "The plan ran whole" if found.whole else "The plan ran with fewer layers"
    if not found.on_its_own:
        return f"{ran}, on the CPU: {words}. This says nothing about the GPUs."
    verdict = f"it {FITS[fits]}"
    if found.disturbed:
        return (
            f"{ran}, and something else used GPU memory at the same time: {words}. By what its ranks allocated "
            f"{verdict}; try again on idle GPUs before you judge its speed."
        )
    if found.off:
        return f"{ran}, and the estimate was off in {' and '.join(found.off)}: {words}. By what was measured {verdict}."
    return f"{ran} as estimated: {words}; {verdict}."


def _measured(found: Compared) -> Iterator[Block]:
    unit = "process" if found.device == "cpu" else "GPU"
    header = ("layers", "measured", "estimated", "ratio", "step", "estimated")
    rows = [_row(found, one) for one in found.runs]
    yield Heading(f"Most memory of one {unit}, and seconds per step")
    if not found.whole:
        rows.append(_whole_row(found))
    yield Table(header, tuple(rows), lambda _: (Fixed(tuple(_laid(header, rows))),))


def _laid(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield "  " + "".join(f"{word:>12}" for word in header)
    for row in rows:
        yield "  " + "".join(f"{word:>12}" for word in row)


def _row(found: Compared, one: DepthRun) -> tuple[str, ...]:
    own, told = _sizes(found, one.most_live, one.most_reserved), _told(found, one)
    step = one.told.step_s
    return (
        str(one.work.model.layers),
        size(own),
        size(told),
        f"{own / told:.2f}",
        f"{one.step_s:.3g} s",
        f"{step:.3g} s" if step is not None else "-",
    )


def _whole_row(found: Compared) -> tuple[str, ...]:
    told, step = found.told, found.told.step_s
    estimated = told.memory.live_peak if found.device == "cpu" else told.memory.reserved
    return (
        f"all {found.work.model.layers}",
        size(_sizes(found, found.live, found.reserved)),
        size(estimated),
        f"{found.memory_ratio:.2f}",
        f"{found.step_s:.3g} s" if found.step_s is not None else "-",
        f"{step:.3g} s" if step is not None else "-",
    )


def _sizes(found: Compared, live: float, reserved: float) -> float:
    return live if found.device == "cpu" else reserved


def _told(found: Compared, one: DepthRun) -> float:
    return one.told.memory.live_peak if found.device == "cpu" else one.told.memory.reserved


def _trust(one: Outcome) -> Iterator[Block]:
    found = one.compared
    assert found is not None
    memory, told, fits = corrected(found, one.day)
    yield Heading("The whole plan, estimated from this trial")
    if not found.on_its_own:
        yield Para(_CPU_ALONE, "  ", "  ")
        return
    held = f"{size(memory.low)} to {size(memory.high)} of {size(room(one.work))} available to a plan"
    yield Para(f"{held}: it {FITS[fits]}", "  ", "    ", item=True)
    if told is not None and found.speed is not None:
        speed = f"about {told.tokens_per_s_per_gpu:.0f} tokens/s per GPU, MFU {told.mfu:.0%}"
        yield Para(speed, "  ", "    ", item=True)
    yield Para(trust(one), "  ", "    ", item=True)


def trust(one: Outcome) -> str:
    """How the correction was made, and how far it may be trusted."""
    found = one.compared
    assert found is not None
    if found.whole:
        words = f"all layers ran; {TRIED_WHOLE:.0%} allow for differences from run to run"
    else:
        layers = " and ".join(str(each.work.model.layers) for each in found.runs)
        words = (
            f"a straight line through {layers} layers, because all layers have the same shape; "
            f"{TRIED_CUT:.0%} allow for uneven growth, above all fragments"
        )
    if found.step_s is None:
        words += "; the deeper model took no longer, so the times say nothing"
    if found.vocabulary_cut:
        words += f"; with {found.runs[0].work.model.vocab} words only, because more did not fit"
    if found.disturbed:
        words += "; something else held memory on a GPU, so steps may have taken longer than necessary"
    if found.device == "cpu":
        words += "; a process on the CPU, whose kernels keep different tensors than a GPU's"
    return f"{words}. It does not cover data, checkpoints and evaluation"


def _lost(one: Outcome) -> Iterator[Block]:
    if one.lost is None:
        return
    yield Heading("What the ranks reported")
    for rank in one.lost.ranks[:16]:
        words = one_line(rank.message) or rank.state
        yield Para(f"rank {rank.rank}{f' (GPU {rank.gpu})' if rank.gpu else ''}: {words}", "  ", "    ", item=True)


def _notes(one: Outcome) -> Iterator[Block]:
    lines = list(one.run.notes)
    if one.kept:
        lines.append(f"recorded in {one.kept}: recommend and estimate use it for this GPU from now on")
    elif one.state == "ran":
        shared = one.compared is not None and one.compared.disturbed
        why = (
            "something else used GPU memory at the same time"
            if shared
            else "it shows nothing about the plan itself on this machine"
        )
        lines.append(f"not recorded: {why}")
    lines.append(
        f"{one.run.world} rank{'s' * (one.run.world > 1)}, backend {one.run.backend}, torch "
        f"{one.run.torch or 'unknown'}, {one.run.wall_s:.1f} s"
    )
    yield Heading("Notes")
    for line in lines:
        yield Para(one_line(line), "  - ", "    ", item=True)


def as_json(one: Outcome) -> dict[str, Any]:
    """The same for programs; bytes as GiB, null where not measured."""
    found = one.compared
    memory, speed, fits = corrected(found, one.day) if found is not None else (None, None, None)
    return {
        "schema": SCHEMA,
        "headline": headline(one),
        "state": one.state,
        "on": one.day,
        "spec": dict(one.spec),
        "world": one.run.world,
        "backend": one.run.backend,
        "device": one.run.device,
        "torch": one.run.torch,
        "wall_s": round(one.run.wall_s, 3),
        "ran": [_depth_json(each) for each in found.runs] if found is not None else [],
        "whole": {
            "fits": fits,
            "low_gib": _gib(memory.low),
            "high_gib": _gib(memory.high),
            "memory_ratio": round(found.memory_ratio, 4),
            "speed_ratio": None if found.speed is None else round(found.speed, 4),
            "tokens_per_s_per_gpu": round(speed.tokens_per_s_per_gpu, 1) if speed is not None else None,
            "trust": trust(one),
        }
        if found is not None and memory is not None
        else None,
        "odd_ranks": [{"rank": rank, "more_gib": _gib(more)} for rank, more in found.odd] if found is not None else [],
        "out_of_memory": {
            "rank": one.short.rank,
            "at": one.short.at,
            "layers": one.short.layers,
            "predicted_gib": _gib(one.short.told_bytes),
        }
        if one.short is not None
        else None,
        "message": one.lost.message if one.lost is not None else None,
        "ranks": [
            {"rank": each.rank, "state": each.state, "gpu": each.gpu, "message": each.message, "named": each.named}
            for each in one.run.modes[-1].ranks
        ],
        "recorded": bool(one.kept),
        "notes": list(one.run.notes),
    }


def _depth_json(one: DepthRun) -> dict[str, Any]:
    return {
        "layers": one.work.model.layers,
        "vocab": one.work.model.vocab,
        "live_gib": [_gib(each) for each in one.live],
        "reserved_gib": [_gib(each) for each in one.reserved],
        "outside_gib": None if one.outside is None else _gib(one.outside),
        "step_s": round(one.step_s, 5),
        "estimated": {
            "live_gib": _gib(one.told.memory.live_peak),
            "reserved_gib": _gib(one.told.memory.reserved),
            "step_s": None if one.told.step_s is None else round(one.told.step_s, 5),
        },
    }


def _gib(value: float) -> float:
    return round(value / GIB, 3)
