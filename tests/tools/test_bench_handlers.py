"""The benchmark of handlers sees what holds the loop, and its machine is whole."""

from __future__ import annotations

import asyncio
import gc
import time
from asyncio.events import Handle
from itertools import combinations

from rocdoctor.collect import collect
from rocdoctor.model.evidence import value_or
from tools.bench.handlers import BUDGET_S, Held, _row, many_gpus, watching

_LONG_S = 0.08


def test_the_machine_of_the_benchmark_has_32_gpus_each_with_its_own_place() -> None:
    of = collect(many_gpus())
    assert len(of.gpus) == len({value_or(gpu.bdf, "") for gpu in of.gpus}) == 32
    assert [value_or(gpu.hip_index, -1) for gpu in of.gpus] == list(range(32))
    assert [value_or(gpu.numa_node, -1) for gpu in of.gpus] == [gpu // 4 for gpu in range(32)]
    assert len({gpu.pcie.hops[0].bdf for gpu in of.gpus}) == 32
    assert len({value_or(gpu.render_minor, -1) for gpu in of.gpus}) == 32
    assert {value_or(gpu.partition.compute, "") for gpu in of.gpus} == {"SPX"}
    linked = {(link.a, link.b) for link in of.links if link.type == "xgmi"}
    assert linked == {(a, b) for a, b in combinations(range(32), 2) if a // 8 == b // 8}
    assert len(of.network) == 32
    assert [len(value_or(node.distances, ())) for node in of.numa_nodes] == [8] * 8


def test_a_callback_that_holds_the_loop_is_seen_and_named() -> None:
    async def lazy() -> None:
        time.sleep(_LONG_S)

    async def busy() -> None:
        until = time.thread_time() + _LONG_S
        while time.thread_time() < until:
            pass

    async def run() -> list[Held]:
        with watching() as held:
            await asyncio.create_task(lazy(), name="the lazy one")
            await asyncio.create_task(busy(), name="the busy one")
            return [*held]

    plain = Handle._run
    held = asyncio.run(run())
    assert Handle._run is plain
    lazy_one, busy_one = (next(one for one in held if one.what == f"the {word} one") for word in ("lazy", "busy"))
    assert lazy_one.passed_s >= _LONG_S > BUDGET_S
    assert lazy_one.busy_s < lazy_one.passed_s
    assert busy_one.busy_s >= _LONG_S
    assert "1 over: " in _row(held)
    assert " ms the busy one" in _row(held)
    assert _row([lazy_one]).endswith("within; 1 had to wait for other threads or programs")


def test_garbage_is_told_apart() -> None:
    async def collect_garbage() -> None:
        gc.collect()

    async def run() -> list[Held]:
        with watching() as held:
            await asyncio.create_task(collect_garbage(), name="collects")
            return [*held]

    before = len(gc.callbacks)
    (one,) = [one for one in asyncio.run(run()) if one.what == "collects"]
    assert 0 < one.garbage_s <= one.busy_s
    assert len(gc.callbacks) == before
    assert "(garbage 60 ms)" in _row([Held(0.1, 0.1, 0.06, "a key")])
    assert _row([Held(0.01, 0.01, 0.0, "a key")]).endswith("within")
