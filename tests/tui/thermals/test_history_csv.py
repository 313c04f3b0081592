"""The values as a table, read back by Python's reader; the order of the GPUs."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import datetime

from rocdoctor.model.facts import Power, Temperature
from rocdoctor.train.smoke.figures.sampler import reading_of
from rocdoctor.tui.thermals.drawing import GpuNow
from rocdoctor.tui.thermals.history_csv import COLUMNS, as_csv
from rocdoctor.tui.thermals.order import ordered
from tests.kit import amd_gpu, k, u


def _gpu(index: int, temp: float | None, limit: float | None = 100.0, power: float | None = None) -> object:
    temps = (Temperature("junction", k(temp), k(limit) if limit else u()),) if temp is not None else ()
    return amd_gpu(index, temps=temps, power=Power(k(power) if power else u(), k(300.0)))


def test_a_line_for_each_look_at_each_gpu_and_unknown_is_empty() -> None:
    hot = _gpu(0, 97.5, power=250.0)
    looks = [reading_of(hot, 10.0), replace(reading_of(hot, 12.0), slowed=("ppt0,\nthm",), limits=("ppt0,\nthm",))]  # type: ignore[arg-type]
    bare = _gpu(1, None)
    rows = list(csv.DictReader(io.StringIO(as_csv([(hot, looks), (bare, [reading_of(bare, 11.0)])], 1000.0))))  # type: ignore[arg-type, list-item]
    assert tuple(rows[0]) == COLUMNS and [row["gpu"] for row in rows] == ["0", "1", "0"]
    assert [datetime.fromisoformat(row["time"]).timestamp() for row in rows] == [1010.0, 1011.0, 1012.0]
    first, unknown, slow = rows
    assert (first["hottest_c"], first["limit_c"], first["power_w"], first["slowed_by"]) == (
        "97.5",
        "100.0",
        "250.0",
        "",
    )
    assert {unknown[name] for name in ("hottest_c", "limit_c", "power_w", "busy_percent", "memory_bytes")} == {""}
    assert slow["slowed_by"].startswith("heat: ppt0,") and "\n" not in slow["slowed_by"]


def test_the_gpu_nearest_to_its_limit_is_first_and_unknown_is_last() -> None:
    views = [GpuNow(one) for one in (_gpu(0, 60), _gpu(1, None), _gpu(2, 90), _gpu(3, 95, None), _gpu(4, 90, 95.0))]  # type: ignore[arg-type]
    assert [one.gpu.index for one in ordered(views, "heat")] == [4, 2, 0, 3, 1]
    assert [one.gpu.index for one in ordered(views, "number")] == [0, 1, 2, 3, 4]
    powered = [GpuNow(_gpu(one, 50, power=watts)) for one, watts in enumerate((100.0, None, 250.0))]  # type: ignore[arg-type]
    assert [one.gpu.index for one in ordered(powered, "power")] == [2, 0, 1]
