"""The table of smoke results for people."""

from __future__ import annotations

from rocdoctor.model.facts import ModeResult, RankResult, SmokeRun, SmokeState
from rocdoctor.report.smoke.smoke_document import headline, markdown, render


def mode(
    name: str, state: SmokeState, states: list[SmokeState], named: tuple[int, ...] = (), words: str = ""
) -> ModeResult:
    ranks = tuple(RankResult(rank, each, named=rank in named) for rank, each in enumerate(states))
    return ModeResult(name, state, 0.25, words, {"grad": 1.9e-8}, {"grad": 8e-7}, "link" if named else "", 0, ranks)


def run(*modes: ModeResult, world: int = 4) -> SmokeRun:
    return SmokeRun(world, "nccl", "cuda", "2.13.0+rocm7.2", 4.0, modes, ("links between GPUs",))


GOOD = mode("ddp", "pass", ["pass"] * 4)
BAD = mode("zero-1", "crashed", ["crashed", "crashed", "crashed", "crashed"], (2,), "rank 2 was ended by signal 9")
SKIPPED = mode("fsdp2", "not-applicable", ["not-applicable"] * 4, words="needs torch 2.6")


def test_all_well_says_how_much_was_tried() -> None:
    assert headline([run(GOOD, SKIPPED)]) == "All 1 modes that this machine can run compute the right numbers."
    assert headline([run(SKIPPED)]) == "Nothing could be tested here."


def test_a_fault_comes_first_and_victims_are_told_from_the_culprit() -> None:
    lines = render([run(GOOD, BAD, SKIPPED)], 80).splitlines()
    assert lines[0] == "1 of 2 modes went wrong, first zero-1; look first at the link between two GPUs."
    assert lines[2] == "DEAD  zero-1: rank 2 was ended by signal 9"
    assert next(line for line in lines if line.startswith("zero-1 ")).split()[1:5] == ["lost", "lost", "DEAD", "lost"]
    assert any("not tested: needs torch 2.6" in line for line in lines)
    assert lines[-1] == "This run says nothing of: links between GPUs."


def test_lines_fit_the_terminal() -> None:
    wide = mode("pipeline-interleaved-1f1b", "pass", ["pass"] * 8)
    for width in (60, 80, 100):
        assert max(map(len, render([run(wide, BAD, world=8)], width).splitlines())) <= width
    assert "128 of 128 ok" in render([run(mode("ddp", "pass", ["pass"] * 128), world=128)], 80)


def test_a_name_from_elsewhere_cannot_reach_the_terminal() -> None:
    hostile = mode("\x1b[31mddp\n" + "x" * 500, "fail", ["fail"] * 4, (0,), "\x1b]0;title\x07wrong")
    for text in (render([run(hostile)], 80), markdown([run(hostile)])):
        assert "\x1b" not in text
        assert "x" * 40 not in text
