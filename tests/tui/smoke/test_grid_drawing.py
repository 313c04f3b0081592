"""The grid of smoke tests as text: cells in words, numbers, sections, details, widths."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.model.facts import ModeResult, RankResult, SmokeRun
from rocdoctor.tui.smoke.grid_drawing import GridRow, about, detail, heading, line, recorded, running, untested, untried
from rocdoctor.tui.smoke.run_session import ModeProgress
from tests.tui.smoke.smoke_kit import cpu_run, crashed, failed, gpu_run, passed, ranks, skipped

TITLES = {"ddp": "data parallel", "zero-1": "ZeRO-1", "fsdp2": "FSDP2 of much more words than there is room for " * 3}


def words(row: GridRow, world: int = 2, width: int = 77, mark: bool | None = None) -> list[str]:
    return line(row, world, width, mark).plain.split()


def test_a_row_holds_a_word_for_each_rank_the_time_and_the_numbers() -> None:
    assert words(GridRow(0, "ddp", "", passed("ddp"))) == [
        "ddp",
        "ok",
        "ok",
        "0.06",
        "s",
        "grad",
        "1.9e-08",
        "(1.0e-06)",
    ]
    assert words(GridRow(0, "ddp", "", failed("ddp")))[:4] == ["ddp", "off", "FAIL", "0.07"], (
        "who suffers, who is at fault"
    )
    equal = replace(passed("ddp"), max_error={"value": 0.0}, tolerance={"value": 0.0})
    assert words(GridRow(0, "ddp", "", equal))[5:] == ["value", "equal"]
    assert words(GridRow(0, "ddp", "", crashed("ddp")))[:3] == ["ddp", "DEAD", "lost"]
    assert words(GridRow(0, "ddp", "", skipped("ddp")))[-2:] == ["not", "tested"]


def test_what_is_chosen_is_marked() -> None:
    assert line(GridRow(0, "ddp", "", passed("ddp")), 2, 77, True).plain.startswith("[x] ddp ")
    assert line(GridRow(0, "ddp", "", passed("ddp")), 2, 77, False).plain.startswith("[ ] ddp ")
    assert line(GridRow(0, "ddp", "", passed("ddp")), 2, 77, None).plain.startswith("ddp ")


def test_many_ranks_are_counted() -> None:
    states = dict.fromkeys(range(3), "fail")
    one = ModeResult("ddp", "fail", 1.0, ranks=ranks(32, states))  # type: ignore[arg-type]
    assert words(GridRow(0, "ddp", "", one), 32)[:5] == ["ddp", "29", "of", "32", "ok"]
    assert words(GridRow(0, "ddp", "", skipped("ddp", 32)), 32) == ["ddp", "-", "not", "tested"]


def test_heads_stand_over_their_cells() -> None:
    (section,) = recorded([cpu_run(passed("ddp"))], {})
    for width, mark in ((77, None), (77, False), (120, True)):
        heads = heading(section, width, mark is not None).plain.splitlines()
        shown = line(section.rows[0], 2, width, mark).plain
        assert heads[0] == "2 ranks on the CPU, backend gloo, torch 2.13.0, 4.7 s"
        assert heads[1].index(" 0 ") + 1 == shown.index("ok") + 1
        assert heads[1].index("time") + 4 >= shown.index(" s ") - 2
        assert heads[1].index("difference") == shown.index("grad")


def test_while_it_runs_cells_fill_as_ranks_answer() -> None:
    begun = {"ddp": ModeProgress({0: "pass", 1: "fail"}, "fail"), "zero-1": ModeProgress({1: "pass"})}
    (section,) = running([begun], "zero-1", ["ddp", "zero-1", "fsdp2"], TITLES, 0)
    assert (section.heading, section.world) == ("running", 2)
    assert [words(row) for row in section.rows] == [
        ["ddp", "ok", "FAIL", "FAIL"],
        ["zero-1", "...", "ok", "running"],
        ["fsdp2"],
    ]
    head, row = heading(section, 77, True).plain.splitlines()[1], line(section.rows[1], 2, 77, True).plain
    assert head.index("state") == row.index("running") and "time" not in head and "difference" not in head
    assert detail(section.rows[2], True).plain.endswith("\nnot begun yet")
    assert detail(section.rows[1], True).plain.endswith("\nrunning; 1 rank has answered")
    (over,) = running([begun], "", ["ddp", "zero-1"], TITLES, 0, "cancelled")
    assert over.heading == "cancelled"
    assert words(over.rows[1]) == ["zero-1", "ok", "not", "ended"]
    assert (
        "not run; space selects it"
        in detail(running([begun], "", ["fsdp2"], TITLES, 0, "failed")[0].rows[-1], True).plain
    )
    assert "begun, without a verdict" in detail(over.rows[1], True).plain


def test_a_second_set_of_ranks_is_a_section_of_its_own() -> None:
    first, second = {"ddp": ModeProgress({0: "pass"}, "pass")}, {"ddp": ModeProgress({0: "pass"})}
    found = running([first, second], "ddp", ["ddp"], TITLES, 0)
    assert [one.heading for one in found] == ["done, set 1 of ranks", "running, set 2 of ranks"]
    assert [one.rows[0].running for one in found] == [False, True]


def test_ranks_that_did_not_come_up_have_a_row() -> None:
    begun = {"ddp": ModeProgress(), "start": ModeProgress({}, "crashed")}
    (section,) = running([begun], "ddp", ["ddp", "zero-1"], TITLES, 2)
    assert [row.mode for row in section.rows] == ["start", "ddp", "zero-1"]


def test_modes_that_were_not_run_stand_below_with_what_they_are() -> None:
    found = recorded([cpu_run(passed("ddp"))], TITLES)
    assert [one.heading for one in found][1:] == ["not run"]
    assert [row.mode for row in found[1].rows] == ["zero-1", "fsdp2"]
    long = line(found[1].rows[1], 0, 77, False).plain
    assert len(long) <= 77
    assert long.endswith("…")
    assert TITLES["fsdp2"].strip() in detail(found[1].rows[1], True).plain, "the details have the whole"
    assert [one.heading for one in untried((), TITLES, 0)] == ["modes"]


def test_all_of_a_failed_mode() -> None:
    text = detail(GridRow(0, "ddp", "data parallel", failed("ddp", gpus=True)), True).plain
    for part in (
        "ddp: data parallel",
        "FAILED: wrong numbers, or far too late, 0.07 s",
        "the gradients of step 1",
        "Likely layer: the link between two GPUs.",
        "Fault at rank 1 (0000:2a:00.0).",
        "grad       largest difference 7.6e-06, allowed 1.0e-06: 7.6 times too large",
        "rank 1 (0000:2a:00.0): FAIL: weight: differs by 7.6e-06",
        "rank 0 (0000:0a:00.0): off",
    ):
        assert part in text


def test_all_of_other_modes() -> None:
    assert "passed: the right numbers on every rank" in detail(GridRow(0, "a", "", passed("a")), True).plain
    assert "times too large" not in detail(GridRow(0, "a", "", passed("a")), True).plain
    skipped_text = detail(GridRow(0, "a", "", skipped("a")), True).plain
    assert "not tested here" in skipped_text
    assert "needs 4 ranks or more" in skipped_text
    assert "not run; space selects it" in detail(GridRow(0, "a"), True).plain
    assert "not run in this evidence" in detail(GridRow(0, "a"), False).plain
    one = GridRow(0, "a", progress=ModeProgress({0: "pass"}), running=True)
    assert "running; 1 rank has answered" in detail(one, True).plain


def test_many_ranks_at_fault_are_counted() -> None:
    one = ModeResult("a", "fail", 1.0, ranks=ranks(8, dict.fromkeys(range(8), "fail"), range(8)))
    many = ModeResult("a", "fail", 1.0, ranks=tuple(RankResult(at, "fail", "", None, True) for at in range(30)))
    assert "more" not in detail(GridRow(0, "a", "", one), True).plain
    assert "and 22 more" in detail(GridRow(0, "a", "", many), True).plain


def test_what_was_not_tested_is_said() -> None:
    run = cpu_run(passed("ddp"), skipped("fsdp-tp"))
    assert untested([run]) == "Not covered by this run: GPUs, NCCL or any link between GPUs."
    assert untested([gpu_run(passed("a")), run]).startswith("Not covered by run 2: ")
    assert untested([gpu_run(passed("a"))]) == ""
    lines = list(about(SmokeRun(2, "gloo", "cpu", None, 1.0, run.modes, (), ("two ranks share one GPU",))))
    assert lines == ["note: two ranks share one GPU", "not tested in this run: fsdp-tp", "- not tested"]


@pytest.mark.parametrize("width", [57, 77, 107, 150])
@pytest.mark.parametrize("world", [1, 2, 4, 8, 16, 64])
def test_rows_keep_their_width(world: int, width: int) -> None:
    long = "pipeline-interleaved-1f1b"
    results = [passed(long, world), failed(long, world, 0), crashed(long, world), skipped(long, world)]
    for section in recorded([gpu_run(*results, world=world)], {}):
        assert len(heading(section, width, True).plain.splitlines()[-1]) <= width
        for row in section.rows:
            assert line(row, section.world, width, True).cell_len <= width
    begun = {long: ModeProgress(dict.fromkeys(range(world), "not-applicable"), "not-applicable")}
    for row in running([begun], "", [long], TITLES, world)[0].rows:
        assert line(row, world, width, True).cell_len <= width


def test_hostile_results_drive_no_terminal() -> None:
    evil = "x\x1b]0;t\x07\x1b[2J\ny"
    one = ModeResult(
        evil, "fail", 0.1, evil, {evil: 1.0}, {evil: 0.5}, "link", 1, (RankResult(0, "fail", evil, evil, True),)
    )
    run = SmokeRun(1, evil, "cuda", evil, 1.0, (one,), (evil,), (evil,))
    (section,) = recorded([run], {})
    row = section.rows[0]
    shown = [
        heading(section, 77, True).plain,
        line(row, 1, 77, True).plain,
        detail(row, True).plain,
        untested([run]),
        *about(run),
    ]
    assert not [text for text in shown if "\x1b" in text or "\x07" in text]
