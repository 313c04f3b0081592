"""Figure 1: what a round, a page and a screen of a large fleet cost."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from random import Random

from tools.fleet_acceptance.rows import Row, Setting, fleet, holds, most, ran
from tools.fleet_world import World

_DAY_S = 86400
_FRAME = """
import asyncio, sys, time
from pathlib import Path
from rocdoctor.fleet.store import Store
from rocdoctor.tui.fleet.fleet_app import FleetApp
async def frame():
    began = time.process_time()
    app = FleetApp("s", lambda: Store(Path(sys.argv[1])).again())
    async with app.run_test(size=(80, 24)):
        print(time.process_time() - began)
        while not app.screen.query_one("#nodes").option_count:
            await asyncio.sleep(0.1)
        print(time.process_time() - began)
asyncio.run(frame())
"""


def figure(setting: Setting) -> Iterator[Row]:
    """Two rounds a day apart, of which 5 % of the nodes changed."""
    place = setting.place("scale")
    scale = setting.nodes / 10_000
    world = World(setting.nodes, setting.seed, int(200 * scale), int(60 * scale), int(20 * scale))
    store, random = place / "store", Random(setting.seed)
    for number in (1, 2):
        if number == 2:
            world.begin += _DAY_S - 300
        rounds = place / f"round-{number}.jsonl"
        with rounds.open("w", encoding="utf-8") as stream:
            for line in world.round(number):
                changed = number == 2 and random.random() < 0.05
                stream.write(line.replace('"kernel":"', '"kernel":"1') if changed else line)
        at = world.begin + (number - 1) * 300
        tick = fleet("tick", store, rounds, "--at", at, "--json")
        told = tick.data()
        yield most(f"round {number} of {setting.nodes} nodes, CPU", tick.cpu_s, 20, " s")
        yield most(f"round {number} of {setting.nodes} nodes, memory", tick.peak_mib, 600, " MiB")
        spoilt = sum(one["class"] == "unknown" and one["from_round"] <= number for one in world.faults.values())
        whole = told["total"] == setting.nodes and told["told"] == setting.nodes - spoilt
        yield holds("  all nodes but those with spoilt records are in it", whole, f"{told['told']}, {spoilt} spoilt")
    page = fleet("page", store, place / "page.html")
    yield most("fleet page, CPU", page.cpu_s, 5, " s")
    yield most("fleet page, size", (place / "page.html").stat().st_size / 1e6, 3, " MB")
    first, rows = (ran((sys.executable, "-c", _FRAME, store)).out.split() or ["inf"] * 2)[:2]
    yield most("first frame of the screen, CPU", float(first), 0.5, " s")
    yield Row("  its rows, CPU of reading and judging too", "", f"{float(rows):.2f} s", None)
