"""The table of smoke results for people."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.model.facts import SmokeRun
from rocdoctor.report import markdown, text
from rocdoctor.report.smoke.smoke_document import document, headline
from tests.report.made import BAD, GOOD, SKIPPED, mode
from tests.report.made import smoke_run as run


def render(runs: Sequence[SmokeRun], width: int) -> str:
    return text.render(document(runs), width)


def test_all_well_says_how_much_was_tried() -> None:
    assert headline([run(GOOD, SKIPPED)]) == "The one mode that ran gave correct results."
    assert headline([run(GOOD, GOOD)]) == "All 2 modes that ran gave correct results."
    assert headline([run(SKIPPED)]) == "Nothing could be tested here."


def test_no_run_at_all_is_a_sentence() -> None:
    assert "Nothing could be tested here." in render([], 80)


def test_a_fault_comes_first_and_victims_are_told_from_the_culprit() -> None:
    lines = render([run(GOOD, BAD, SKIPPED)], 80).splitlines()
    assert lines[0] == "1 of 2 modes went wrong, first zero-1; look first at the link between two GPUs."
    assert lines[2] == "DEAD  zero-1: rank 2 was ended by signal 9"
    assert next(line for line in lines if line.startswith("zero-1 ")).split()[1:5] == ["lost", "lost", "DEAD", "lost"]
    assert any("not tested: needs torch 2.6" in line for line in lines)
    assert lines[-1] == "Not covered by this run: links between GPUs."


def test_lines_fit_the_terminal() -> None:
    wide = mode("pipeline-interleaved-1f1b", "pass", ["pass"] * 8)
    for width in (60, 80, 100):
        assert max(map(len, render([run(wide, BAD, world=8)], width).splitlines())) <= width
    assert "128 of 128 ok" in render([run(mode("ddp", "pass", ["pass"] * 128), world=128)], 80)


def test_a_name_from_elsewhere_cannot_reach_the_terminal() -> None:
    hostile = mode("\x1b[31mddp\n" + "x" * 500, "fail", ["fail"] * 4, (0,), "\x1b]0;title\x07wrong")
    for shown in (render([run(hostile)], 80), markdown.render(document([run(hostile)]))):
        assert "\x1b" not in shown
        assert "x" * 40 not in shown


def test_markdown_has_the_table_and_names_the_culprit() -> None:
    shown = markdown.render(document([run(GOOD, BAD, SKIPPED)]))
    assert "- **DEAD**: zero-1: rank 2 was ended by signal 9\n- likely layer: the link between two GPUs\n" in shown
    assert "| mode | rank 0 | rank 1 | rank 2 | rank 3 | time | largest difference (allowed) |\n" in shown
    assert "| zero-1 | lost | lost | DEAD | lost | 0.25 s |  |\n" in shown
    many = markdown.render(document([run(mode("ddp", "pass", ["pass"] * 128), world=128)]))
    assert "| ddp | 128 of 128 ok | 0.25 s | grad 1.9e-08 (8.0e-07) |\n" in many
