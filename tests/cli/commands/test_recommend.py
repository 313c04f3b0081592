"""``rocdoctor recommend`` on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rocdoctor.cli.main import run
from rocdoctor.service import planning
from tests.kit import ROOT

_FIXTURE = str(ROOT / "fixtures" / "mi300x-8gpu.capture")


def test_a_described_fleet(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recommend", "--gpus", "8xMI300X", "--model", "llama-3.1-8b"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Train llama-3.1-8b (pretrain, sequences of 4096 tokens) on 8 x")
    for words in ("Settings", "Memory of one GPU", "Next best", "tokens/s per GPU"):
        assert words in text


@pytest.mark.parametrize(
    "words", [["--gpus", "8xMI300X", "--nodes", "2", "--model", "llama-3.1-70b"], ["--gpus", "2xRX 7900 XTX"]]
)
def test_no_line_is_wider_than_the_terminal(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["recommend", *words]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_json_is_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recommend", "--from", _FIXTURE, "--model", "qwen2.5-14b", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "rocdoctor.recommend/1"
    plan = answer["plan"]
    assert plan["fits"] == "yes"
    assert plan["memory_gib"]["high"] <= 0.92 * plan["memory_gib"]["usable"] + 0.01
    assert len(plan["ranks"]) == 8
    assert len({one["gpu"] for one in plan["ranks"]}) == 8
    assert answer["runner_up"]["margin"]


def test_the_specification_goes_through_estimate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recommend", "--gpus", "4xH100-SXM", "--model", "qwen3-8b", "--method", "full", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    spec = tmp_path / "spec.yaml"
    spec.write_text(json.dumps(plan["spec"]))
    assert run(["estimate", str(spec), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["fits"] == plan["fits"]
    assert again["memory_gib"]["high"] == plan["memory_gib"]["high"]
    assert again["tokens_per_s_per_gpu"] == plan["tokens_per_s_per_gpu"]


def test_nothing_fits_is_exit_1_with_what_would(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recommend", "--gpus", "RX 7900 XTX", "--model", "llama-3.1-70b", "--method", "full"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("Nothing fits")
    assert "What would fit" in text


def test_without_a_model_the_popular_ones_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recommend", "--gpus", "2xRX 7900 XTX"]) == 0
    text = capsys.readouterr().out
    assert "QLoRA up to" in text
    assert "llama-3.1-405b" in text
    assert run(["recommend", "--gpus", "2xRX 7900 XTX", "--json"]) == 0
    models = {row["model"]: row["methods"] for row in json.loads(capsys.readouterr().out)["models"]}
    assert models["llama-3.1-405b"]["qlora"]["fits"] == "no"
    assert models["llama-3.2-1b"]["lora"]["fits"] == "yes"


def test_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["recommend", "--gpus", "8xMI300X", "--model", "llama-3.1-8b", "--format", "markdown"]
    assert run(arguments) == 0
    assert "| setting | value | why | figure |" in capsys.readouterr().out


def test_a_configuration_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "tiny" / "config.json"
    config.parent.mkdir()
    sizes = {"num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024}
    config.write_text(json.dumps({**sizes, "vocab_size": 1000, "token": "hf_secret"}))
    for name in (str(config), str(config.parent)):
        assert run(["recommend", "--gpus", "RX 7900 XTX", "--model", name, "--method", "full"]) == 0
        assert capsys.readouterr().out.startswith("Train tiny (full")
        assert run(["recommend", "--gpus", "RX 7900 XTX", "--model", name, "--method", "full", "--json"]) == 0
        assert "hf_secret" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--gpus", "8xMI300Y", "--model", "llama-3.1-8b"], "MI300"),
        (["--gpus", "8xMI300X", "--model", "lama-3.1-8b"], "llama-3.1-8b"),
        (["--gpus", "8xMI300X", "--model", "llama-3.1-8b", "--framework", "fsdpp"], "there are"),
        (["--gpus", "8xMI300X", "--from", _FIXTURE, "--model", "llama-3.1-8b"], "cannot be used with --from"),
        (["--gpus", "8xMI300X", "--method", "lora"], "needs --model"),
        (["--from", _FIXTURE, "--measure", "--model", "llama-3.1-8b"], "cannot be used with --from"),
        (["--from", _FIXTURE, "--ram", "5", "--model", "llama-3.1-8b"], "--ram belongs to --gpus"),
        (["--gpus", "8xMI300X", "--nodes", "0", "--model", "llama-3.1-8b"], "--nodes must be between"),
        (["--gpus", "8xMI300X", "--model", "/nowhere/config.json"], "No such file"),
        (["--gpus", "8xMI300X", "--model", "llama-3.1-8b", "--format", "junit"], "choose from"),
    ],
)
def test_wrong_input_is_exit_2_with_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["recommend", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize("content", ["[]", "{", "[" * 100_000, '{"num_hidden_layers": 1e400}', "null", "\x00"])
def test_hostile_configurations_are_refused(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.json"
    config.write_text(content)
    assert run(["recommend", "--gpus", "RX 7900 XTX", "--model", str(config)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_measuring_asks_for_figures_and_no_modes() -> None:
    options = planning.PlanOptions(measure=True)
    question = planning._measuring(options)
    assert question.startswith("smoke none ")
    assert "figures" in question


def test_a_fifo_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fifo = tmp_path / "config.json"
    os.mkfifo(fifo)
    assert run(["recommend", "--gpus", "RX 7900 XTX", "--model", str(fifo)]) == 2
    assert "not a regular file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--ram", "-5"), "--ram must be between"),
        (("--ram", "nan"), "--ram must be between"),
        (("--ram", "0"), "--ram must be between"),
        (("--lora-rank", "64"), "use it with --method lora"),
        (("--model", ""), "--model needs a name"),
    ],
)
def test_options_that_make_no_sense_are_usage_errors(
    options: tuple[str, str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["recommend", "--gpus", "8xH100", "--model", "llama-3.1-8b", *options]) == 2
    assert words in capsys.readouterr().err
