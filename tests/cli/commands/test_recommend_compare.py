"""``rocdoctor recommend --compare`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.cli.main import run
from rocdoctor.collect import collect
from rocdoctor.model.facts import Machine
from rocdoctor.service import comparing, planning
from tests.kit import ROOT

_FIXTURE = str(ROOT / "fixtures" / "mi300x-8gpu.capture")
_8B = ["recommend", "--model", "llama-3.1-8b", "--gpus", "8xMI300X"]
_SPEC = "model: llama-3-8b\ngpu: MI300X\ngpus: 8\nseq: 4096\nmicro_batch: 1\nparallel: {fsdp: 8}\nrecompute: full\n"


def _told(arguments: list[str], capsys: pytest.CaptureFixture[str], status: int = 0) -> dict[str, Any]:
    assert run([*arguments, "--json"]) == status, capsys.readouterr().err
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def _settings(told: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {one["key"]: (one["a"], one["b"]) for one in told["settings"] if not one["same"]}


def test_a_file_beside_the_recommended_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(_SPEC)
    told = _told([*_8B, "--compare", "recommended", str(mine)], capsys)
    own = _told(_8B, capsys)["plan"]
    alone = _told(["estimate", str(mine)], capsys)
    first, second = told["sides"]
    assert first["memory_gib"] == own["memory_gib"]
    assert first["tokens_per_s_per_gpu"] == own["tokens_per_s_per_gpu"]
    assert second["memory_gib"] == alone["memory_gib"]
    assert told["times"] == pytest.approx(own["tokens_per_s_per_gpu"] / alone["tokens_per_s_per_gpu"], rel=1e-3)
    assert second["tokens_per_s"] == pytest.approx(8 * alone["tokens_per_s_per_gpu"], rel=1e-3)
    assert second["step_s"] == pytest.approx(8 * 4096 / second["tokens_per_s"], rel=1e-2)
    assert _settings(told)["recompute"] == ("none", "full")
    assert "A is " in told["headline"] and " times as fast" in told["headline"]


def test_an_answer_of_recommend_is_a_side_and_a_specification(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = _told(_8B, capsys)
    kept = tmp_path / "answer.json"
    kept.write_text(json.dumps(answer))
    told = _told([*_8B, "--compare", str(kept), "recommended"], capsys)
    assert told["headline"] == "A and B are the same configuration, which fits."
    assert _settings(told) == {}
    assert _told(["estimate", str(kept)], capsys)["memory_gib"] == answer["plan"]["memory_gib"]
    kept.write_text(json.dumps({**answer, "plan": None}))
    assert run(["estimate", str(kept)]) == 2
    assert "holds no plan" in capsys.readouterr().err


def test_changes_of_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    told = _told([*_8B, "--compare", "seq=8192,framework=fsdp", "method=lora,lora-rank=8"], capsys)
    found = _settings(told)
    assert found["sequence"] == ("8192 tokens", "2048 tokens")
    assert found["method"] == ("all weights", "LoRA, rank 8")


def test_text_and_markdown_say_the_same(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    arguments = [*_8B, "--compare", "gpus=8xMI300X", "gpus=4xMI300X"]
    told = _told(arguments, capsys)
    assert run(arguments) == 0
    text = capsys.readouterr().out
    assert run([*arguments, "--format", "markdown"]) == 0
    markdown = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    for words in (
        "8 x AMD Instinct MI300X",
        "4 x AMD Instinct MI300X",
        "What differs",
        f"{told['sides'][1]['step_s']:.2f} s",
    ):
        assert words in " ".join(text.split()), words
        assert words in markdown, words
    assert "| GPUs | 8 x AMD Instinct MI300X | 4 x AMD Instinct MI300X |" in markdown
    differing = text.partition("What differs")[2].partition("Memory of one GPU")[0]
    assert "GPUs" in differing and "precision" not in differing
    assert "The same in both" in text and "The same in both" in markdown


def test_a_side_that_fits_nowhere_says_what_would(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "recommend",
        "--model",
        "llama-3.1-8b",
        "--gpus",
        "RX 7900 XTX",
        "--compare",
        "method=full",
        "method=qlora",
    ]
    told = _told(arguments, capsys, status=1)
    first, second = told["sides"]
    assert (first["fits"], first["memory_gib"], second["fits"], told["times"]) == ("no", None, "yes", None)
    assert told["headline"].startswith("There is no plan for A. ")
    assert len(first["needed"]) > 1 and not second["needed"]
    assert run(arguments) == 1
    assert "What would fit for A" in capsys.readouterr().out


def test_the_machine_is_asked_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[str] = []
    real = collect

    def counted(*arguments: Any, **options: Any) -> Machine:
        asked.append("once")
        return real(*arguments, **options)

    monkeypatch.setattr("rocdoctor.service.planning.collect", counted)
    base = ["recommend", "--from", _FIXTURE, "--model", "llama-3.1-8b"]
    told = _told([*base, "--compare", "recommended", "nodes=2"], capsys)
    assert asked == ["once"]
    assert _settings(told)["gpus"][1].startswith("16 x ")
    assert _settings(told)["gpus"][0].startswith("8 x ")
    # A side that is described needs no machine, and none is asked for it.
    told = _told([*base, "--compare", "gpus=8xH100", "gpus=8xMI300X"], capsys)
    assert asked == ["once"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("fsdp", "'fsdp' is neither a file"),
        ("framework=", "neither a file"),
        ("frameworks=fsdp", "did you mean 'framework'?"),
        ("seq=long", "seq must be a number, not 'long'"),
        ("method=dpo", "method must be one of pretrain, full, lora, qlora"),
        ("seq=0", "seq must be between 1"),
        ("framework=spark", "framework 'spark' is not known"),
        ("ram=64,seq=8192", "--ram belongs to --gpus"),
        ("nothere.yaml", "nothere.yaml"),
    ],
)
def test_what_is_no_side_is_refused(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--from", _FIXTURE] if "ram" in words else ["--gpus", "8xMI300X"]
    assert run(["recommend", "--model", "llama-3.1-8b", *where, "--compare", words, "recommended"]) == 2
    assert said in capsys.readouterr().err


def test_a_model_is_needed_somewhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recommend", "--gpus", "8xMI300X", "--compare", "method=lora", "model=qwen3-8b"]) == 2
    assert "no model" in capsys.readouterr().err
    sides = comparing.compared(planning.PlanOptions(gpus="8xMI300X"), "model=qwen3-8b", "model=qwen3-4b")
    assert [one.result.work.model.name for one in sides if one.result] == ["qwen3-8b", "qwen3-4b"]
