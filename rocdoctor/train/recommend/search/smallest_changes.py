"""What would be needed when nothing fits: the smallest changes first, each tried before it is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any

from rocdoctor.train.recommend.explain.value_reasons import gib, room
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.host_memory import MOST_OF_MAIN
from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.models import presets, read_model
from rocdoctor.train.recommend.model.shapes import parameters
from rocdoctor.train.recommend.plan import Fleet, Method, Needed, Seat, Workload
from rocdoctor.train.recommend.search.candidates import (
    HOST_SHARE,
    Candidate,
    Search,
    host_bytes,
    usual_frameworks,
)
from rocdoctor.train.recommend.search.savers import PLAIN, SAVERS, savers_of
from rocdoctor.train.recommend.software import four_bit

# Methods by what they hold on the GPU, most first.
_LIGHTER: Mapping[Method, tuple[Method, ...]] = {
    "pretrain": ("lora", "qlora"),
    "full": ("lora", "qlora"),
    "lora": ("qlora",),
    "qlora": (),
}
_NEIGHBOURS = 4  # larger presets that are looked at beside the one found by halving: a choice
_NAMES = {"lora": "LoRA (adapters on frozen weights)", "qlora": "QLoRA (adapters on 4-bit weights)"}


def _sure(search: Search, frameworks: Sequence[Framework], plain: bool = False) -> Candidate | None:
    """The first candidate that surely fits, with as few savers as possible."""
    for saver in (PLAIN,) if plain else (PLAIN, *savers_of(search.fleet, search.workload)):
        one = next((one for one in search.candidates(frameworks, saver) if one.fits == "yes"), None)
        if one is not None:
            return one
    return None


def refusal(search: Search) -> str:
    """Why the files asked for can express no plan at all: what hinders the plainest one; else empty."""
    return next(iter(search.refused), "") if search.refused and not search.considered else ""


def needed(search: Search, frameworks: Sequence[Framework]) -> tuple[Needed, ...]:
    """Why it does not fit, then what would fit; ``frameworks`` are those that were searched."""
    return (Needed(_why(search, frameworks)), *_changes(search, frameworks))


def _why(search: Search, frameworks: Sequence[Framework]) -> str:
    work = search.base(frameworks[0])
    least = _least(search, frameworks)
    if least is None:
        return _no_batch(search) or "This model and batch cannot be divided among these GPUs."
    return (
        f"Even the smallest plan needs {gib(least.memory.low)} to {gib(least.memory.high)} per "
        f"{'process' if search.fleet.vendor == 'cpu' else 'GPU'}; "
        f"{gib(room(work))} are available to a plan ({gib(work.gpu.usable_bytes)} usable)."
    )


def _no_batch(search: Search) -> str | None:
    total, near = search.workload.global_batch, _nearest_batch(search)
    if near is None:
        return None
    return f"A global batch of {total} sequences cannot be shared by {search.fleet.gpus} ranks; the nearest is {near}."


def _nearest_batch(search: Search) -> int | None:
    """The multiple of the ranks that is nearest to a global batch that they cannot share."""
    total, ranks = search.workload.global_batch, search.fleet.gpus
    return max(1, round(total / ranks)) * ranks if total is not None and total % ranks else None


def _least(search: Search, frameworks: Sequence[Framework]) -> Candidate | None:
    """The configuration with the least memory, fitting or not, savers included."""
    best: Candidate | None = None
    for framework in frameworks:
        base = replace(search.base(framework), recompute="full")
        for saver in (PLAIN, *savers_of(search.fleet, search.workload)):
            for one in search.smallest(base, saver):
                if best is None or one.memory.high < best.memory.high:
                    best = one
    return best


def _changes(search: Search, frameworks: Sequence[Framework]) -> Iterator[Needed]:
    fleet, workload = search.fleet, search.workload
    yield from _shared(search, frameworks)
    near = _nearest_batch(search)
    if near is not None:
        one = _sure(search.like(workload=replace(workload, global_batch=near)), frameworks)
        if one is not None:
            yield _given("--global-batch", near, f": steps of {near} sequences would fit ({_words(one)}).")
    seq = workload.seq // 2
    while seq >= 256:
        one = _sure(search.like(workload=replace(workload, seq=seq)), frameworks)
        if one is not None:
            yield _given("--seq", seq, f": sequences of {seq} tokens would fit ({_words(one)}).")
            break
        seq //= 2
    for method in _LIGHTER[workload.method]:
        if method == "qlora" and (four_bit(fleet).state == "no" or fleet.vendor == "cpu"):
            continue
        lighter = replace(workload, method=method, products="16-bit")
        asked = usual_frameworks(fleet, lighter)
        one = _sure(search.like(workload=lighter), [f for f in asked if not search.refuses or f in frameworks])
        if one is not None:
            rest = f": {_NAMES[method]} would fit ({_words(one)})."
            if workload.products != "16-bit":  # two options at once, which no screen sets for the user
                yield Needed(f"--method {method} --products 16-bit{rest}")
            else:
                yield _given("--method", method, rest)
            break
    yield from _host(search, frameworks)
    yield from _more_gpus(search, frameworks)
    yield from _smaller(search, frameworks)


def _given(option: str, value: object, rest: str) -> Needed:
    return Needed(f"{option} {value}{rest}", option, str(value))


def _words(one: Candidate) -> str:
    saved = f", with {one.saver.name}" if one.saver.name else ""
    again = f", recompute {one.work.recompute}" if one.work.recompute != "none" else ""
    return f"at most {gib(one.memory.high)}{again}{saved}"


def _shared(search: Search, frameworks: Sequence[Framework]) -> Iterator[Needed]:
    """More of main memory for a GPU that works in it, where the driver lets it have a small part."""
    fleet = search.fleet
    if not fleet.integrated or fleet.host_memory_bytes is None:
        return
    usable = fleet.gpu.usable_bytes
    most = MOST_OF_MAIN * (fleet.host_memory_bytes / fleet.per_node + usable)
    if most < 1.25 * usable:
        return
    size = round(most / GIB, 2)
    more = replace(fleet, spec_gpu={**fleet.spec_gpu, "mem_gib": size, "usable_gib": size})
    one = _sure(search.like(more), frameworks)
    if one is not None:
        yield Needed(
            f"{gib(most)} of main memory for the GPU would be enough ({_words(one)}). It may use {gib(usable)} now; "
            "`rocdoctor setup` says how to raise the driver's limit."
        )


def _host(search: Search, frameworks: Sequence[Framework]) -> Iterator[Needed]:
    """Main memory with which states could be moved there, where it is the main memory that is short."""
    fleet = search.fleet
    if fleet.gpu_shares_memory or search.workload.method not in ("pretrain", "full"):
        return
    roomy = replace(fleet, host_memory_bytes=1e15)
    one = None
    for saver in SAVERS:
        if saver.offload:
            found = search.like(roomy).candidates(frameworks, saver)
            one = next((one for one in found if one.fits == "yes"), None)
        if one is not None:
            break
    if one is None:
        return
    wanted = host_bytes(one.work, search.rows) * fleet.per_node / HOST_SHARE
    have = fleet.host_memory_bytes
    if have is not None and wanted <= have:
        return
    known = f"{have / GIB:.0f} GiB are installed" if have is not None else "it is not known how much there is"
    least = ceil(max(wanted / GIB, round((have or 0.0) / GIB) + 1))
    yield Needed(f"{least} GiB of main memory per node would be enough for {one.saver.name} ({known}).")


def _more_gpus(search: Search, frameworks: Sequence[Framework]) -> Iterator[Needed]:
    fleet = search.fleet
    if fleet.vendor == "cpu" or fleet.integrated:
        return
    usual = (
        tuple(dict.fromkeys((*frameworks, "fsdp2")))
        if not search.refuses and not search.workload.framework
        else frameworks
    )
    for count in (2, 4, 8):
        if count <= fleet.per_node or fleet.per_node > 8:
            continue
        seats = tuple(Seat(n, fleet.seats[0].name) for n in range(count))
        spec_gpu = {**fleet.spec_gpu, "per_node": count}
        more = replace(fleet, seats=seats, islands=(tuple(range(count)),), spec_gpu=spec_gpu, nodes=1)
        one = _sure(search.like(more, _batched(search.workload, more)), usual)
        if one is not None:
            yield Needed(f"{count} such GPUs in one node would fit ({_words(one)}).")
            return
    for nodes in (2, 4, 8, 16, 32, 64):
        if nodes <= fleet.nodes or fleet.per_node < 2:
            continue
        more = replace(fleet, nodes=nodes)
        one = _sure(search.like(more, _batched(search.workload, more)), usual, plain=True)
        if one is not None:
            yield _given("--nodes", nodes, f": {nodes} such nodes ({more.gpus} GPUs) would fit ({_words(one)}).")
            return


def _batched(workload: Workload, fleet: Fleet) -> Workload:
    """A given global batch that more ranks cannot share is left open: the question is one of memory."""
    total = workload.global_batch
    return workload if total is None or total % fleet.gpus == 0 else replace(workload, global_batch=None)


def _smaller(search: Search, frameworks: Sequence[Framework]) -> Iterator[Needed]:
    """The largest preset of the same family, else of any, that would fit."""
    own = search.workload.model_id
    size = parameters(search.workload.model)
    rows: list[tuple[bool, float, str, Any]] = []
    for name in presets():
        model = read_model(name, [])
        if parameters(model) < size:
            rows.append((_family(name) == _family(own or ""), parameters(model), name, model))
    rows.sort(key=lambda row: row[1], reverse=True)
    looked: dict[str, Needed | None] = {}

    def fits(row: tuple[bool, float, str, Any]) -> Needed | None:
        _, count, name, model = row
        if name not in looked:  # each look is a whole search
            smaller = replace(search.workload, model=model, model_field=name, model_id=name)
            one = _sure(search.like(workload=smaller), frameworks)
            said = None if one is None else f" ({count / 1e9:.1f} B parameters) would fit ({_words(one)})."
            looked[name] = None if said is None else _given("--model", name, said)
        return looked[name]

    for family in (True, False):
        among = [row for row in rows if row[0] is family]
        low, high = 0, len(among)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if fits(among[middle]) is None else (low, middle)
        # Smaller models mostly need less; those with a large vocabulary need more than their neighbours.
        near = among[max(0, high - _NEIGHBOURS) : high + 1]
        if found := next(filter(None, map(fits, near)), None):
            yield found
            return


def _family(name: str) -> str:
    return "".join(sign for sign in name.split("-")[0] if sign.isalpha())
