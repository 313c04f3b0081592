from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from rocdoctor.cli.main import run
from rocdoctor.train.recommend.estimate import SpecError, efficiency, estimate, solve
from tests.examples import examples, rows
from tests.train.recommend.spec_kit import LLAMA_7B, changed

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "does_not_fit.yaml").read_text())["cases"]


def test_the_answer_has_the_promised_shape() -> None:
    told = estimate(LLAMA_7B)
    assert told["schema"] == "rocdoctor.estimate/1"
    assert told["fits"] == "yes"
    for key in ("states", "activations", "logits", "live_peak", "reserved", "low", "high"):
        assert told["memory_gib"][key] > 0
    assert told["tokens_per_s_per_gpu"] > 0
    assert 0.1 < told["mfu"] < 0.9
    assert told["mfu_causal"] < told["mfu"]
    assert told["bound_by"] in {"compute", "memory", "communication", "bubble"}
    assert all(isinstance(line, str) for line in told["why"])
    json.dumps(told, allow_nan=False)


@rows("case", CASES, ids=lambda one: f"{one['model']}-{one['gpu']['name']}-{one['seq']}-{one['micro_batch']}")
def test_what_needs_more_than_the_card_has_is_never_said_to_fit(case: dict[str, Any]) -> None:
    told = solve(case)
    assert told.fits != "yes"
    # The traced figure leaves parts out: the estimate may not lie below it. Its layers repeat keys and values for each
    # head, which Transformers leaves to the kernel (``use_gqa_in_sdpa`` of integrations/sdpa_attention.py).
    least = 0.96 if case["framework"] == "deepspeed" and case["recompute"] == "none" else 0.97
    assert told.memory.live_peak / 2**30 > least * case["live_gib"]


def test_there_are_enough_cases_that_do_not_fit() -> None:
    assert len(CASES) >= 40
    assert len({case["gpu"]["name"] for case in CASES}) >= 8
    assert len({str(case["model"]) for case in CASES}) >= 8


def test_an_unknown_gpu_has_a_memory_estimate_and_no_speed() -> None:
    told = estimate(changed(gpu={"name": "mystery", "mem_gib": 48}))
    assert told["fits"] in {"yes", "tight", "no"}
    assert told["tokens_per_s_per_gpu"] is None and told["bound_by"] is None
    assert any("peak rate" in line for line in told["why"])


def test_a_given_peak_gives_speed() -> None:
    told = estimate(changed(gpu={"name": "own", "mem_gib": 48, "peak_tflops": 300, "bandwidth_gb_s": 1500}))
    assert told["tokens_per_s_per_gpu"] > 100


def test_a_longer_pipeline_of_few_micro_batches_is_bound_by_its_bubble() -> None:
    told = solve(changed(parallel={"pp": 8}, grad_accum=1, gpus=8)).speed
    assert told is not None and told.bound_by == "bubble"


def test_slow_links_bind_sharding_by_communication() -> None:
    slow = {"name": "RTX 4090", "mem_gib": 24, "peak_tflops": 165, "link_gb_s": 4}
    told = solve(changed(model="llama-3.2-1b", gpu=slow)).speed
    assert told is not None and told.bound_by == "communication"


def test_recompute_costs_speed_and_saves_memory() -> None:
    none, full = solve(changed(micro_batch=4)), solve(changed(micro_batch=4, recompute="full"))
    assert none.speed is not None and full.speed is not None
    assert full.memory.live_peak < none.memory.live_peak
    assert 0.7 < full.speed.tokens_per_s_per_gpu / none.speed.tokens_per_s_per_gpu < 0.9


def test_eight_bit_and_compiled_runs_are_faster_and_power_limits_slower() -> None:
    def rate(**fields: Any) -> float:
        told = solve(changed(model="llama-3.1-8b", seq=8192, recompute="full", **fields)).speed
        assert told is not None
        return told.tokens_per_s_per_gpu

    plain = rate()
    assert rate(precision="fp8") > 1.1 * plain
    assert rate(compile=True) > plain
    assert rate(precision="fp32") < plain
    assert rate(attention="eager") < plain
    full = rate(gpu={"name": "H100", "mem_gib": 80})
    assert rate(gpu={"name": "H100 500W", "mem_gib": 80}) == pytest.approx(full * (5 / 7) ** 0.5, rel=0.08)


def test_the_last_product_of_a_layer_is_not_computed_again_where_the_program_stops_before_it() -> None:
    """Counted in graphs of torch 2.13: of four products of a layer under a checkpoint, the compiled backward pass
    computes three again."""
    again = changed(recompute="full", framework="fsdp2")
    eager, compiled = (solve({**again, "compile": one}).speed for one in (False, True))
    whole = solve(changed(framework="fsdp2", compile=True)).speed
    assert eager is not None and compiled is not None and whole is not None
    h, ffn, head = 4096, 11008, 32000 * 4096
    layer = 32 * (4 * h * h + 3 * h * ffn)
    forward, spared = layer / (3 * layer + 3 * head), 32 * h * ffn / (3 * layer + 3 * head)
    assert eager.matrix / whole.matrix == pytest.approx(1 + forward, rel=0.01)
    assert compiled.matrix / whole.matrix == pytest.approx(1 + forward - spared, rel=0.01)
    sharded = {"framework": "fsdp1", "parallel": {"fsdp": 8}}
    first, none = (solve(changed(**sharded, recompute=one)).speed for one in ("full", "none"))
    assert first is not None and none is not None
    assert first.matrix / none.matrix == pytest.approx(1 + forward - spared, rel=0.01)


def test_boards_with_one_peak_differ_by_their_power() -> None:
    def rate(name: str, size: float) -> float:
        told = solve(changed(model="llama-3.1-8b", gpu={"name": name, "mem_gib": size}, seq=4096, micro_batch=4)).speed
        assert told is not None
        return told.tokens_per_s_per_gpu

    # 1000 against 750 W: AMD's own runs of 8B and 70B differ by 18 to 23 %, memory bandwidth included.
    assert 1.10 < rate("MI325X", 256) / rate("MI300X", 192) < 1.23
    assert rate("MI325X 750W", 256) == pytest.approx(rate("MI300X", 192), rel=0.05)


def test_experts_that_see_few_tokens_are_slower() -> None:
    def matrix(experts: int) -> float:
        model = {"layers": 24, "hidden": 2048, "heads": 16, "vocab": 32000, "ffn": 2048, "top_k": 4, "expert_ffn": 1024}
        told = solve(changed(model={**model, "experts": experts}, parallel={"tp": 1})).speed
        assert told is not None
        return told.matrix

    # The router's own products are small: a token meets four experts of either.
    assert matrix(128) > 1.2 * matrix(8)


def test_frozen_weights_in_main_memory_are_fetched_for_every_pass() -> None:
    def step(**fields: Any) -> float:
        gpu = {"name": "RTX 3090", "mem_gib": 24}
        spec = changed(model="llama-2-13b", gpu=gpu, gpus=2, method="qlora", framework="fsdp2", recompute="full")
        told = solve({**spec, "parallel": {"fsdp": 2, **fields}}).speed
        assert told is not None
        return told.optimizer

    # 13B in 4 bits over two ranks, there twice, over 31.5 GB/s of which 60 % are reached.
    fetched = step(offload=True) - step()
    assert fetched == pytest.approx(2 * 13e9 * 0.55 / 2 / (0.6 * 31.5e9), rel=0.35)


def test_offload_to_the_host_trades_memory_for_time() -> None:
    there, here = changed(parallel={"zero": 3, "offload_optimizer": "cpu"}), changed(parallel={"zero": 3})
    away, stay = solve(there), solve(here)
    assert away.memory.states < stay.memory.states
    assert away.speed is not None and stay.speed is not None
    assert away.speed.tokens_per_s_per_gpu < stay.speed.tokens_per_s_per_gpu


def test_every_figure_of_the_table_has_its_source_and_rows() -> None:
    def walk(node: Any) -> None:
        if isinstance(node, dict) and "v" in node:
            assert set(node) == {"v", "s", "rows"}
            used = [node["s"]] if isinstance(node["s"], str) else node["s"]
            unmeasured = all(table["sources"][one]["kind"] == "not-verified" for one in used)
            assert (node["rows"] == 0) == unmeasured, node
        elif isinstance(node, dict):
            for key, value in node.items():
                if key not in {"sources", "schema"}:
                    walk(value)

    table = efficiency()
    walk(table)


MODELS = st.sampled_from(
    ["llama-2-7b", "qwen3-0.6b", "mixtral-8x7b", "deepseek-v2-lite", "gpt-oss-20b", "mpt-7b", "gemma-2b"]
)
PLANS: st.SearchStrategy[dict[str, int]] = st.sampled_from(
    [
        {},
        {"fsdp": 8},
        {"zero": 1},
        {"zero": 2},
        {"zero": 3},
        {"tp": 2},
        {"pp": 2},
        {"cp": 2},
        {"fsdp": 4, "tp": 2},
        {"pp": 4, "vpp": 2},
    ]
)
KINDS = st.sampled_from(["none", "selective", "selective-op", "full"])


@example("gpt-oss-20b", {"fsdp": 8}, "none", "bf16", False, 1)  # the peak comes when all gradients are there
@given(MODELS, PLANS, KINDS, st.sampled_from(["bf16", "fp8", "fp32"]), st.booleans(), st.integers(1, 64))
def test_more_never_takes_less(
    model: str, parallel: dict[str, int], recompute: str, precision: str, compiled: bool, batch: int
) -> None:
    kept = 0.0

    def peak(**fields: Any) -> float:
        nonlocal kept
        base = {
            "model": model,
            "parallel": parallel,
            "recompute": recompute,
            "precision": precision,
            "compile": compiled,
        }
        told = solve(changed(**{**base, "micro_batch": batch, **fields}))
        assert told.memory.low <= told.memory.live_peak <= told.memory.needed <= told.memory.high
        assert told.memory.needed <= told.memory.reserved
        kept = 4.0 * told.work.tokens * told.work.model.hidden
        return told.memory.live_peak

    base = peak()
    assert peak(micro_batch=batch + 1) >= base
    assert peak(seq=4096) >= base
    # What a layer keeps to begin anew counts twice while it is computed anew: as kept, and as part of its forward.
    assert peak(recompute="full") <= base * 1.0001 + kept or recompute == "full"
    assert peak(attention="eager") >= base
    assert (
        peak(
            gpus=16,
            parallel={key: value for key, value in parallel.items() if key != "fsdp"}
            | ({"fsdp": parallel["fsdp"] * 2} if "fsdp" in parallel else {}),
        )
        <= base * 1.0001
    )


WORDS = st.sampled_from(["1", "llama-2-7b", "fp8", "MI300X"])
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
FIELDS = (
    "model",
    "gpu",
    "gpus",
    "seq",
    "micro_batch",
    "local_batch",
    "grad_accum",
    "global_batch",
    "parallel",
    "recompute",
    "recompute_layers",
    "precision",
    "method",
    "compile",
    "attention",
    "fused_ce",
    "optimizer",
    "framework",
    "lora_rank",
)
PARALLEL = ("tp", "pp", "cp", "ep", "dp", "fsdp", "zero", "vpp", "schedule", "sp", "strategy", "replicate", "dist_opt")
SIZES = (
    "layers",
    "hidden",
    "heads",
    "kv_heads",
    "head_dim",
    "ffn",
    "vocab",
    "experts",
    "top_k",
    "params",
    "name",
    "mla",
)
NUMBERS = st.integers(-2, 300) | JUNK


@examples(3)
@given(
    st.dictionaries(st.sampled_from(FIELDS), JUNK | NUMBERS, max_size=8)
    | st.builds(
        lambda extra, parallel, model: {**LLAMA_7B, **extra, "parallel": parallel, "model": model},
        st.dictionaries(st.sampled_from(FIELDS[2:]), NUMBERS, max_size=3),
        st.dictionaries(
            st.sampled_from(PARALLEL), st.sampled_from([1, 2, 4, 8, "x", None, True]) | NUMBERS, max_size=4
        ),
        st.sampled_from(["llama-2-7b", "mixtral-8x7b"]) | st.dictionaries(st.sampled_from(SIZES), NUMBERS, max_size=8),
    )
)
def test_no_specification_raises_anything_but_its_error(spec: dict[str, Any]) -> None:
    try:
        told = estimate(spec)
    except SpecError as error:
        assert 0 < len(str(error)) < 400
    else:
        json.dumps(told, allow_nan=False)
        assert told["memory_gib"]["live_peak"] > 0


def _write(folder: Path, spec: Any) -> str:
    path = folder / "spec.yaml"
    path.write_text(yaml.safe_dump(spec))
    return str(path)


def test_the_command_prints_the_verdict_first_and_stays_in_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["estimate", _write(tmp_path, changed(parallel={"pp": 4, "tp": 2}, global_batch=64))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("It fits: ")
    assert max(map(len, lines)) <= 80
    assert any("weights, gradients, optimizer" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model: [", "not readable as YAML"),
        ("model: llama-2-7b\nseq: 2048\ngpus: 8\nparallel: {tp: 3}", "nearest: tp 2"),
        ("a: 2026-99-99", "spec.yaml"),
        ("[" * 5000, "spec.yaml"),
    ],
)
def test_the_command_ends_with_2_and_one_line(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    assert run(["estimate", str(path), "--json"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert words in told.err and len(told.err.splitlines()) == 1


def test_a_model_from_a_configuration_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {
        "model_type": "llama",
        "num_hidden_layers": 2,
        "hidden_size": 256,
        "num_attention_heads": 4,
        "intermediate_size": 512,
        "vocab_size": 1000,
    }
    (tmp_path / "config.json").write_text(json.dumps(sizes))
    assert run(["estimate", _write(tmp_path, changed(model={"config": "config.json"})), "--json"]) == 0
    named = json.loads(capsys.readouterr().out)
    assert run(["estimate", _write(tmp_path, changed(model="config.json")), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["memory_gib"] == named["memory_gib"]
    assert run(["estimate", _write(tmp_path, changed(model="missing.json"))]) == 2
    assert "missing.json" in capsys.readouterr().err
