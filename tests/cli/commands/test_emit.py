"""``rocdoctor emit`` on the command line: one plan, files of every target."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from rocdoctor.cli.main import run
from rocdoctor.train.emit.targets import TARGETS, target
from tests.kit import ROOT

_FIXTURE = str(ROOT / "fixtures" / "mi300x-8gpu.capture")
_MODEL = ["--model", "llama-3.1-8b", "--method", "full"]


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_writes_files_with_reasons(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    method = {"torchtitan": "pretrain", "megatron": "pretrain", "axolotl": "lora"}.get(name, "full")
    model = ["--model", "llama-3.1-8b", "--method", method]
    assert run(["emit", name, "--from", _FIXTURE, *model, "-o", str(tmp_path / "plan")]) == 0
    said = capsys.readouterr()
    assert "Train llama-3.1-8b" in said.err
    assert not said.out
    files = sorted((tmp_path / "plan").iterdir())
    assert files
    for path in files:
        assert f"wrote {path}" in said.err
        text = path.read_text()
        assert text.endswith("\n")
        assert "\x1b" not in text
        program = text.startswith("#!") and path.suffix == ".sh"
        assert bool(stat.S_IMODE(path.stat().st_mode) & 0o100) == program


def test_several_targets_share_one_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["accelerate", "env", "slurm", "profile"]
    assert run(["emit", *names, "--from", _FIXTURE, *_MODEL, "-o", str(tmp_path)]) == 0
    assert len(list(tmp_path.iterdir())) == 5
    assert capsys.readouterr().err.count("Train ") == 1


def test_one_file_goes_to_standard_output_and_several_need_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["emit", "accelerate", "--from", _FIXTURE, *_MODEL]) == 0
    assert "distributed_type" in capsys.readouterr().out
    assert run(["emit", "accelerate", "slurm", "--from", _FIXTURE, *_MODEL]) == 2
    assert "-o DIR" in capsys.readouterr().err


def test_the_environment_alone_needs_no_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["emit", "env", "--from", _FIXTURE]) == 0
    assert "export NCCL_DEBUG=WARN" in capsys.readouterr().out
    assert run(["emit", "slurm", "--from", _FIXTURE]) == 2
    assert "needs --model" in capsys.readouterr().err
    assert run(["emit", "env", "--gpus", "8xMI300Y"]) == 2
    assert "nearest: MI300X" in capsys.readouterr().err


def test_files_are_written_over_only_with_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["emit", "torchrun", "--from", _FIXTURE, *_MODEL, "-o", str(tmp_path)]
    assert run(arguments) == 0
    path = next(tmp_path.iterdir())
    path.write_text("mine")
    assert run(arguments) == 2
    assert path.name in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert run([*arguments, "--force"]) == 0
    assert path.read_text() != "mine"


def test_a_target_that_can_express_no_plan_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["emit", "compose", "--gpus", "8xMI300X", "--nodes", "2", *_MODEL]) == 1
    said = capsys.readouterr()
    assert not said.out
    assert said.err.startswith("These files cannot express this plan: docker compose starts containers on one machine")


def test_targets_that_no_framework_serves_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["emit", "megatron", "deepspeed", "--from", _FIXTURE, "--model", "llama-3.1-8b"]) == 2
    assert "no framework serves megatron and deepspeed" in capsys.readouterr().err


def test_an_unknown_target_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["emit", "acelerate", *_MODEL]) == 2
    assert "did you mean 'accelerate'" in capsys.readouterr().err


_FEW = "2xRX 7900 XTX"


@pytest.mark.parametrize(
    "gpus",
    [_FEW, *(pytest.param(one, marks=pytest.mark.heavy) for one in ("2xRTX 4090", "8xMI300X", "RTX 3060:12GiB"))],
)
def test_no_plan_that_a_target_refuses_is_written(gpus: str) -> None:
    # What a target's files cannot express must not be in the plan that all of them share.
    from rocdoctor.train.recommend.advise import recommend
    from rocdoctor.train.recommend.fleet.described_fleet import described
    from rocdoctor.train.recommend.model.workload import read_workload

    for name in TARGETS:
        module = target(name)
        for method in ("full", "qlora") if gpus == _FEW else ("pretrain", "full", "lora", "qlora"):
            workload = read_workload("llama-3.1-8b" if gpus[0] == "8" else "llama-3.2-1b", method)
            hugging = getattr(module, "TRANSFORMERS", False)
            answer = recommend(described(gpus), workload, (module.refuses,), module.FRAMEWORKS, hugging)
            if answer.plan is not None:
                assert module.refuses(answer.plan.work) is None, (name, method)


def test_accelerate_brings_the_file_of_deepspeed_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--gpus", "4xRTX 4090", "--model", "llama-3.1-8b", "--method", "full", "-o", str(tmp_path / "plan")]
    assert run(["emit", "accelerate", "deepspeed", *words]) == 2
    assert "leave deepspeed out" in capsys.readouterr().err
    assert run(["emit", "accelerate", *words, "--framework", "deepspeed"]) == 0
    assert {one.name for one in (tmp_path / "plan").iterdir()} >= {"accelerate.yaml", "ds_config.json"}


@pytest.mark.parametrize("option", ["--script", "--image", "--job", "--partition", "--time"])
@pytest.mark.parametrize("sign", ["\n", "\x1b[31m", "\u202e"])
def test_a_name_with_a_sign_that_nobody_sees_is_refused(
    option: str, sign: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["emit", "slurm", "--from", _FIXTURE, *_MODEL, option, f"a{sign}b"]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert sign not in said.err.rstrip("\n")
    assert said.err.count("\n") == 1
