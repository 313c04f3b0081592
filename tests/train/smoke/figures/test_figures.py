"""Measured figures: their arithmetic, their JSON, one real run on the CPU, and a rank that is only slow."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocdoctor.parsers.own.smoke_results import SmokeRun, from_text, read_figures, to_json, to_text
from rocdoctor.report import text
from rocdoctor.report.smoke.smoke_document import document, headline
from rocdoctor.train.smoke.figures.expected import with_expected
from rocdoctor.train.smoke.figures.figure_math import (
    Figures,
    Measured,
    bus_bandwidth,
    figures_of,
    of_others,
    token_flops,
)
from rocdoctor.train.smoke.figures.judge_figures import outliers
from rocdoctor.train.smoke.figures.measure import WantedFigures, _Stage, measure, setting_for
from rocdoctor.train.smoke.figures.sampler import Sampler
from rocdoctor.train.smoke.figures.soak import soak_figures
from rocdoctor.train.smoke.run.pool import ModeRecord, Pool, RankRecord
from rocdoctor.train.smoke.run.request import Request, request_of
from rocdoctor.train.smoke.run.runner import RunSetting
from rocdoctor.train.smoke.worker.figures import PARTS
from rocdoctor.train.smoke.worker.figures_training import Shape
from tests.train.smoke.figures.measured import MEASURED, rows
from tests.train.smoke.kit import NoSensors, healthy_pool, measured_on_the_cpu


def test_bus_bandwidth_is_what_rccl_tests_call_so() -> None:
    # 1 GiB over 8 ranks in 5 ms: 214.7 GB/s of algorithm bandwidth, 7/4 of it on the bus.
    assert bus_bandwidth(1 << 30, 8, 0.005) / 1e9 == pytest.approx(375.8, abs=0.05)
    assert bus_bandwidth(1000, 2, 1.0) == 1000
    assert bus_bandwidth(1000, 1, 1.0) == 0


def test_operations_of_a_token() -> None:
    # GPT-3 with 175e9 parameters, 96 layers, width 12288, sequence 2048.
    assert token_flops(175e9, 96, 12288, 2048) == pytest.approx(1.0790e12, rel=1e-4)
    shape = Shape(512, 128, 4, 2, 64, 4)
    assert shape.multiplying == 2 * 12 * 128 * 128 + 512 * 128
    assert shape.token_flops == token_flops(shape.multiplying, 2, 128, 64)


def record(name: str, seconds: list[float], **more: object) -> dict[str, object]:
    return {"name": name, "seconds": seconds, **more}


def test_a_figure_is_the_median_of_the_repetitions_with_its_unit() -> None:
    found = figures_of(
        [
            Measured(
                0,
                0,
                "0000:03:00.0",
                [
                    record("matmul_bfloat16", [0.002, 0.001, 0.004], work=1e12, size=8192),
                    record("memory_copy", [0.5], work=1e12),
                    record("op_start", [4e-6, 5e-6, 90e-6]),
                ],
            ),
        ]
    )
    (entry,) = found["matmul_bf16_tflops"]
    assert (entry["gpu"], entry["rank"], entry["pci"], entry["value"]) == (0, 0, "0000:03:00.0", 500.0)
    assert (entry["expected"], entry["share"], entry["spread"]) == (None, None, 1.5)
    assert found["memory_copy_gb_s"][0]["value"] == 2000
    assert found["op_start_us"][0]["value"] == 5.0


def test_a_copy_between_devices_is_named_by_both_whoever_measured_it() -> None:
    pair = record("device_to_device", [0.01], work=5e8, source=1, target=0, peer_access=True)
    found = figures_of([Measured(0, 0, "0000:03:00.0", [pair]), Measured(1, 1, "0000:43:00.0", [])])
    (entry,) = found["device_to_device_gb_s"]
    assert (entry["gpu"], entry["pci"], entry["peer"], entry["peer_pci"]) == (1, "0000:43:00.0", 0, "0000:03:00.0")
    assert (entry["value"], entry["rank"]) == (50.0, 1)


def test_all_reduce_takes_the_mean_of_the_ranks() -> None:
    found = figures_of(
        [Measured(rank, rank, None, [record("all_reduce", [each], bytes=1 << 20)]) for rank, each in enumerate((1, 3))]
    )
    assert found["all_reduce_us"][0] | {"spread": None} == {
        "gpu": None,
        "ranks": 2,
        "bytes": 1 << 20,
        "value": 2e6,
        "expected": None,
        "share": None,
        "spread": None,
    }
    assert found["all_reduce_bus_gb_s"][0]["value"] == pytest.approx((1 << 20) / 2 / 1e9, rel=1e-3)


def test_scaling_counts_the_slowest_rank_against_one_alone() -> None:
    def steps(count: int, seconds: float) -> dict[str, object]:
        return record("scaling", [seconds], ranks=count, tokens=100, token_flops=1.0, dtype="bfloat16")

    found = figures_of([Measured(0, 0, None, [steps(1, 1.0), steps(2, 1.0)]), Measured(1, 1, None, [steps(2, 1.25)])])
    assert [one["value"] for one in found["train_ddp_tokens_per_s"]] == [100.0, 160.0]
    assert [(one["ranks"], one["value"]) for one in found["train_scaling"]] == [(2, 0.8)]


def test_training_stands_beside_the_matmul_rate_and_compiled_beside_eager() -> None:
    step = {"tokens": 1000, "token_flops": 1e9, "dtype": "bfloat16", "parameters": 5}
    found = figures_of(
        [
            Measured(
                0,
                0,
                None,
                [
                    record("matmul_bfloat16", [0.01], work=1e11),
                    record("training", [0.25], **step),
                    record("training_compiled", [0.2], **step),
                ],
            ),
        ]
    )
    assert found["train_model_tflops"][0]["value"] == 4.0
    assert found["train_of_matmul"][0]["value"] == 0.4
    assert found["compile_speedup"][0]["value"] == 1.25


def test_times_that_are_none_give_no_figure() -> None:
    assert figures_of([Measured(0, 0, None, [record("memory_copy", [0.0], work=1.0), record("unknown", [1.0])])]) == {}
    assert figures_of([]) == {}


def test_the_question_tells_what_is_measured_and_not_where_a_trace_goes() -> None:
    asked = Request(world=4, figures=True, soak_minutes=2.5, no_modes=True)
    assert asked.question() == "smoke none world=4 figures=yes soak=2.5"
    assert request_of(asked.question()) == asked
    assert request_of(Request(True, figures=True).question()).figures


def test_two_ranks_never_share_a_device_for_figures() -> None:
    gpus = [{"pci": None}]
    assert setting_for([RunSetting(2, "gloo", "cuda")], gpus).world == 1
    assert setting_for([RunSetting(1, "nccl", "cuda"), RunSetting(2, "gloo", "cuda")], gpus).backend == "nccl"
    assert setting_for([RunSetting(4, "gloo", "cpu")], []).world == 4


def test_sustained_load_compares_the_first_minute_with_the_last() -> None:
    found = soak_figures(rows([500.0] * 12 + [400.0] * 24 + [350.0] * 12, slowed=("temp_hotspot",)))
    (entry,) = found["soak_tflops"]
    assert (entry["first"], entry["value"], entry["of_first"], entry["slowest"]) == (500.0, 350.0, 0.7, 350.0)
    assert (entry["clock_first_mhz"], entry["clock_last_mhz"], entry["clock_of_first"]) == (2000.0, 1400.0, 0.7)
    assert (entry["temp_max_c"], entry["slowed"], entry["seconds"]) == (107.0, ["temp_hotspot"], 240.0)
    assert len(found["soak_log"]) == 48
    assert soak_figures([]) == {}


def test_a_short_or_endless_load_has_a_readable_log() -> None:
    (entry,) = soak_figures(rows([10.0]))["soak_tflops"]
    assert (entry["first"], entry["value"]) == (10.0, 10.0)
    assert len(soak_figures(rows([10.0] * 2000))["soak_log"]) <= 240


def test_json_holds_the_contract_and_reads_back_the_same() -> None:
    entry = to_json([MEASURED])["figures"]["matmul_bf16_tflops"][0]
    assert {"gpu", "value", "expected", "share"} <= set(entry)
    assert from_text(to_text([MEASURED])) == (MEASURED,)


def render(runs: Sequence[SmokeRun], width: int) -> str:
    return text.render(document(runs), width)


def test_text_shows_value_peak_and_share() -> None:
    shown = render([MEASURED], 100)
    assert headline([MEASURED]) == "5 figures were measured."
    assert "gpu 0: 500 TFLOPS 38% (of 1,307 TFLOPS)" in " ".join(shown.split())
    assert "0→1: 40 GB/s" in shown
    assert "1 MiB: 30 GB/s" in shown
    assert "(70%)" in shown
    assert all(len(line) <= 100 for line in shown.splitlines())


def test_many_pairs_are_one_line() -> None:
    pairs = [
        {"gpu": a, "peer": b, "value": 9.0 if (a, b) == (0, 1) else 45.0} for a in range(8) for b in range(8) if a != b
    ]
    run = SmokeRun(8, "nccl", "cuda", None, 1.0, (), figures={"device_to_device_gb_s": pairs})
    assert "56 pairs, lowest 0→1: 9 GB/s, median" in " ".join(render([run], 100).split())


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["value", "gpu", "share", "expected", "of_others", "bytes", "ranks", "slowed", "peer", "at_s"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
_NAMES = st.sampled_from(["soak_tflops", "soak_log", "slowed", "matmul_bf16_tflops", "train_mfu", "x"])


@given(st.dictionaries(_NAMES, _JSON, max_size=4))
@example({"slowed": [{"value": ""}]})
@example({"slowed": [{"value": True}, {"value": 0}]})
def test_figures_of_anybodys_file_are_shown_or_left_out(data: dict[str, object]) -> None:
    for run in from_text(json.dumps({"schema": "rocdoctor.smoke/1", "device": "cuda", "figures": data})):
        render([SmokeRun(1, "nccl", "cuda", None, 0.0, (), figures=with_expected(run.figures, None))], 80)
        json.dumps(to_json([run]), allow_nan=False)


def test_nothing_but_numbers_and_short_texts_is_read() -> None:
    entry = {"value": math.inf, "deep": {"a": 1}, "reasons": ["x", 3], "on": True}
    assert read_figures({"a": [entry, 7], "b": 3}) == {
        "a": [{"value": None, "deep": None, "reasons": ["x"], "on": True}]
    }
    assert read_figures([1]) == {}


@pytest.fixture(scope="module")
def slow_rank() -> Figures:
    """Figures of this CPU, with products of rank 1 slowed down."""
    run = measured_on_the_cpu("slow-products", 1, "figures-matmul")
    assert run.modes == ()
    return with_expected(run.figures, None)


def test_a_quick_run_on_the_cpu_measures_positive_figures(slow_rank: Figures) -> None:
    assert {
        "matmul_fp32_tflops",
        "memory_copy_gb_s",
        "memory_triad_gb_s",
        "op_start_us",
        "all_reduce_bus_gb_s",
        "train_tokens_per_s",
        "train_scaling",
        "train_of_matmul",
    } <= set(slow_rank)
    for name, entries in slow_rank.items():
        if name not in ("slowed",):
            assert entries and all(one["value"] > 0 for one in entries), name
    assert all(one["expected"] is None for one in slow_rank["matmul_fp32_tflops"])
    assert not any("mfu" in name for name in slow_rank)


def test_a_rank_that_is_only_slow_stands_out(slow_rank: Figures) -> None:
    (found,) = [words for one, words in outliers(slow_rank["matmul_fp32_tflops"]) if one["rank"] == 1]
    assert found.startswith("rank 1 reaches ")
    assert of_others(slow_rank["matmul_fp32_tflops"], 0) == pytest.approx(
        1 / float(slow_rank["matmul_fp32_tflops"][1]["of_others"]), rel=0.02
    )


@pytest.mark.parametrize(
    ("results", "late", "note"),
    [
        (({"state": "pass"}, {"state": "crashed", "kind": "memory"}), False, "not enough free memory (rank 1)"),
        (({"state": "crashed", "kind": "memory"},) * 2, False, "not enough free memory (every rank)"),
        (({"state": "pass"}, None), True, "no answer within 9 s: rank 1 is stopped (a signal or a debugger)"),
    ],
)
def test_what_a_part_could_not_measure_is_told_with_the_rank(
    results: tuple[dict[str, str] | None, ...], late: bool, note: str
) -> None:
    ranks = tuple(
        RankRecord(at, result=one, silent=one is None, process_state="T" if one is None else "")
        for at, one in enumerate(results)
    )
    pool: Any = SimpleNamespace(run=lambda *_, **__: ModeRecord(PARTS[0].name, 1.0, ranks, late))
    stage = _Stage(pool, RunSetting(2, "gloo", "cpu"), [], threading.Event())
    stage.run(PARTS[0], 9.0)
    assert stage.notes == [f"figures-matmul: {note}"] and stage.lost == []


def measured(pool: Pool, wanted: WantedFigures, stop: threading.Event | None = None) -> SmokeRun:
    silent = Sampler(True, NoSensors())
    return measure(pool, RunSetting(2, "gloo", "cpu", 30.0), [], wanted, stop=stop, sampler=silent)


def test_sustained_load_on_the_cpu_has_a_rate_for_each_rank() -> None:
    run = measured(healthy_pool(), WantedFigures(False, 0.02))
    assert [one["rank"] for one in run.figures["soak_tflops"]] == [0, 1]
    assert all(one["value"] > 0 and one["first"] > 0 for one in run.figures["soak_tflops"])
    assert "matmul_fp32_tflops" not in run.figures


def test_a_run_that_is_stopped_tells_what_it_left_out() -> None:
    stop = threading.Event()
    stop.set()
    run = measured(healthy_pool(), WantedFigures(True, 1.0), stop)
    assert any(note.startswith("not measured, since stopped: matrix products") for note in run.notes)
    assert "soak_tflops" not in run.figures
