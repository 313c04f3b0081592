"""Measured figures, made by hand."""

from __future__ import annotations

from rocdoctor.model.facts import SmokeRun
from rocdoctor.train.smoke.figures.soak import SoakRow, soak_figures


def rows(rates: list[float], clock: float = 2000.0, slowed: tuple[str, ...] = ()) -> list[SoakRow]:
    return [
        SoakRow(0, 0, "0000:03:00.0", 5.0 * at, 5.0, rate, clock * rate / rates[0], 60.0 + at, 700.0, slowed)
        for at, rate in enumerate(rates)
    ]


MEASURED = SmokeRun(
    2,
    "nccl",
    "cuda",
    "2.13.0",
    9.0,
    (),
    figures={
        "matmul_bf16_tflops": [{"gpu": 0, "value": 500.0, "expected": 1307.4, "share": 0.3824}],
        "device_to_device_gb_s": [{"gpu": 0, "peer": 1, "value": 40.0, "expected": None, "share": None}],
        "all_reduce_bus_gb_s": [{"gpu": None, "ranks": 2, "bytes": 1 << 20, "value": 30.0}],
        **soak_figures(rows([500.0] * 12 + [350.0] * 24)),
    },
)
