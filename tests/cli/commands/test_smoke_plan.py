"""``smoke --plan``: which options go with it, what its exit status says, and what is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.cli.commands import smoke_plan
from rocdoctor.cli.commands.smoke import Options
from rocdoctor.cli.main import run
from rocdoctor.model.facts import SmokeRun
from rocdoctor.service import plan_trials
from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.smoke.run.request import request_of
from tests.report.trial_kit import GIB, SPEC, depth, lost, tried


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(plan_trials, "place", lambda: tmp_path / "state" / "trials.json")
    path = tmp_path / "plan.yaml"
    path.write_text(json.dumps(SPEC))
    return path


def _ask(*modes: Any) -> Callable[[str], tuple[SmokeRun, ...]]:
    """Ranks that found this, whatever they are asked."""

    def ask(word: str) -> tuple[SmokeRun, ...]:
        asked = request_of(f"smoke none plan={word}")
        assert json.loads(asked.plan)["model"] == SPEC["model"]
        return (tried(*modes).run,)

    return ask


@pytest.mark.parametrize(
    ("modes", "status", "kept"),
    [
        ((depth(2, 1.0, 1.0), depth(5, 1.0, 1.0)), 0, True),
        ((depth(32, 9.0, 1.0),), 1, True),  # far more than the GPU has
        ((depth(32, 1.0, 1.0, more=40 * GIB),), 1, False),
        ((lost("crashed", "rank 1 gave no answer"),), 1, False),
        ((lost("not-applicable", "4-bit weights need bitsandbytes"),), 0, False),
    ],
    ids=["fits", "does-not-fit", "odd-rank", "hung", "not-applicable"],
)
def test_the_exit_status_and_what_is_kept(
    modes: tuple[Any, ...], status: int, kept: bool, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert smoke_plan.run(str(plan), Options(format="json"), _ask(*modes)) == status
    assert json.loads(capsys.readouterr().out)["recorded"] is kept
    assert bool(plan_trials.trials_of(solve(SPEC).work.gpu)) is kept


def test_the_next_estimate_on_this_machine_rests_on_it(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def high() -> float:
        assert run(["estimate", str(plan), "--json"]) == 0
        found: float = json.loads(capsys.readouterr().out)["memory_gib"]["high"]
        return found

    before = high()
    smoke_plan.run(str(plan), Options(format="text"), _ask(depth(32, 1.5, 1.0)))
    assert "recommend and estimate use it for this GPU" in " ".join(capsys.readouterr().out.split())
    assert high() > 1.3 * before


def test_what_estimate_printed_is_a_plan(plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["estimate", str(plan), "--json"])
    (tmp_path / "estimate.json").write_text(capsys.readouterr().out)
    assert smoke_plan.run(str(tmp_path / "estimate.json"), Options(format="json"), _ask(depth(32, 1.0, 1.0))) == 0


def test_the_faster_plan_of_an_answer_is_named_with_a_colon(
    plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer: dict[str, Any] = {
        "schema": "rocdoctor.recommend/1",
        "plan": {"spec": {}},
        "faster": {"spec": SPEC},
        "runner_up": None,
    }
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(answer))
    assert smoke_plan.run(f"{path}:faster", Options(format="json"), _ask(depth(32, 1.0, 1.0))) == 0
    capsys.readouterr()
    assert run(["estimate", f"{path}:runner_up"]) == 2
    assert "holds no plan 'runner_up'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "more", [["ddp"], ["--full"], ["--figures"], ["--soak", "1"], ["--nnodes", "2"], ["--format", "junit"]]
)
def test_a_plan_is_tried_alone(more: list[str], plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["smoke", "--plan", str(plan), *more]) == 2
    assert "--plan" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"), [("[1]", "no plan"), ("{}", "the plan cannot be read"), ("{gpus: 3", "not readable as YAML")]
)
def test_a_file_that_is_no_plan_is_refused(
    text: str, words: str, plan: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocdoctor.cli.commands.smoke.open_host", lambda options: None)
    plan.write_text(text)
    assert run(["smoke", "--plan", str(plan)]) == 2
    assert words in capsys.readouterr().err
