"""Following a run without a screen: events, its end, what stands in the way, the choice, deadlines, figures."""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.host.base import Answer
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.model.evidence import Unknown, known
from rocdoctor.model.facts import Machine, SmokeRun, TorchBuild
from rocdoctor.parsers.own.smoke_results import to_text
from rocdoctor.train.smoke.run.request import Request
from rocdoctor.train.smoke.worker.mode import Mode
from rocdoctor.tui.smoke.run_choice import RunChoice
from rocdoctor.tui.smoke.run_session import SmokeSession, beside_peaks, deadline_words, trouble, usual_s
from rocdoctor.tui.smoke.run_words import state_text
from tests.kit import amd_gpu, k, machine
from tests.tui.smoke.smoke_kit import ScriptedRunner, cpu_run, passed, skipped


def nothing(context: object) -> None:
    """A mode that does nothing."""


MODES = (Mode("a", "first", nothing), Mode("b", "second", nothing, slow=4.0), Mode("c", "third", nothing, full=True))


def session() -> SmokeSession:
    return SmokeSession(Request(), ScriptedRunner(), ("a", "b"))


def test_how_a_run_ends() -> None:
    done = session()
    done.ended(Answer("smoke quick", "ok", to_text([cpu_run(passed("a"))]).encode(), 0))
    assert (done.state, done.runs, done.going_on) == ("done", (cpu_run(passed("a")),), False)
    refused = session()
    refused.ended(Answer("smoke quick", "failed", note="no torch"))
    assert (refused.state, refused.problem) == ("failed", "no torch")
    ending = session()
    ending.cancel()
    assert (ending.state, ending.going_on) == ("ending", True)
    ending.ended(Answer("smoke quick", "failed", note="cancelled"))
    assert ending.state == "cancelled"
    late = session()
    late.cancel()
    late.ended(Answer("smoke quick", "ok", to_text([cpu_run(passed("a"))]).encode(), 0))
    assert late.state == "done", "it had ended before it could be cancelled"
    odd = session()
    odd.ended(Answer("smoke quick", "ok", b"nonsense"))
    assert (odd.state, odd.problem) == ("failed", "its results cannot be read")


def test_cancelling_what_is_over_asks_nobody() -> None:
    one = session()
    one.ended(Answer("smoke quick", "failed"))
    one.cancel()
    assert isinstance(one.runner, ScriptedRunner)
    assert one.runner.cancelled == 0


def test_the_time_stands_still_at_the_end() -> None:
    now = [100.0]
    one = SmokeSession(Request(), ScriptedRunner(), ("a",), lambda: now[0])
    now[0] = 107.0
    assert one.elapsed_s == 7.0
    one.broke(OSError("gone"))
    now[0] = 200.0
    assert (one.elapsed_s, one.problem) == (7.0, "OSError: gone")


def test_what_stands_in_the_way() -> None:
    def said(torch: TorchBuild, platform: str = "linux") -> str:
        found = trouble(diagnose(Machine(torch=torch), []), platform)
        return "" if found is None else found.why

    assert said(TorchBuild(interpreter=k("/usr/bin/python3"), version=k(None))) == (
        "torch is not installed in /usr/bin/python3."
    )
    broken = TorchBuild(interpreter=k("/p"), version=k("2.9.1"), import_error=k("OSError: libamdhip64.so.6"))
    assert said(broken) == "torch cannot be imported in /p: OSError: libamdhip64.so.6"
    assert said(TorchBuild(interpreter=Unknown("none", "absent"))) == "No Python interpreter was found to run them."
    assert said(TorchBuild(interpreter=k("/p"), version=k("2.9.1")), "darwin") == "Smoke tests run on Linux only."
    assert said(TorchBuild(interpreter=k("/p"), version=k("2.9.1"), import_error=k(None))) == ""
    assert said(TorchBuild()) == "", "what is not known stands in nobody's way"


def test_deadlines_in_words() -> None:
    assert deadline_words(Request(device="cpu"), None) == "30 s"
    assert deadline_words(Request(), machine()) == "30 s"
    assert deadline_words(Request(), machine(amd_gpu()), 4.0) == "480 s on GPUs, 120 s on the CPU"
    assert deadline_words(Request(deadline_s=5.0), None, 2.0) == "10 s"
    assert "on GPUs" in deadline_words(Request(), None), "it is not known yet whether there is one"


def test_the_choice() -> None:
    one = RunChoice(modes=MODES)
    assert (one.wanted, one.slow("b"), one.slow("figures-x")) == (("a", "b"), 4.0, 1.0)
    assert one.toggle("c")
    assert one.request.modes == ("a", "b", "c")
    assert one.toggle("c")
    assert not one.request.modes, "the set itself needs no names"
    assert one.only("b")
    assert not one.toggle("b")
    assert one.wanted == ("b",)
    one.change("full")
    assert list(one.wanted) == ["a", "b", "c"]
    one.change("fewer")
    assert one.request.world is None
    one.request = replace(one.request, world=64)
    one.change("more")
    assert one.request.world == 64, "no more than a run may have"
    for backend in ("nccl", "gloo", "auto"):
        one.change("backend")
        assert one.request.backend == backend


def test_figures_stand_beside_what_the_machine_could_reach() -> None:
    gpus = [amd_gpu(at, gfx="gfx90a") for at in range(3)]
    entries = [
        {"rank": at, "gpu": at, "pci": known(gpu.bdf), "value": value}
        for at, (gpu, value) in enumerate(zip(gpus, (120.0, 20.0, 121.0), strict=True))
    ]
    run = SmokeRun(3, "nccl", "cuda", "2.11", 1.0, (), figures={"matmul_bf16_tflops": entries})
    (seen,), low = beside_peaks((run,), machine(*gpus))
    assert seen.figures["matmul_bf16_tflops"][0]["expected"] > 100
    assert [one.gpu for one in low] == [1], "far below the identical GPUs here"
    assert beside_peaks((run,), None) == ((run,), ())
    plain = cpu_run(passed("a"))
    assert beside_peaks((plain,), machine()) == ((plain,), ())


def _said(one: SmokeSession) -> str:
    return state_text(one, True, None, False, "120 s", False).plain


def test_the_time_left_comes_from_what_was_measured_and_from_nothing_else() -> None:
    now = [0.0]
    names = tuple("abcdefgh")
    one = SmokeSession(Request(), ScriptedRunner(), names, lambda: now[0])

    def ran(mode: str, seconds: float, state: str = "pass") -> None:
        one.heard("mode", mode, -1, "")
        now[0] += seconds
        one.heard("done", mode, -1, state)

    assert one.left_s is None
    ran("a", 500.0, "crashed")  # how long it takes to crash, or to be left out, tells nothing of others
    ran("b", 20.0, "not-applicable")
    for mode, seconds in (("c", 10.0), ("d", 30.0), ("e", 12.0), ("f", 14.0)):
        ran(mode, seconds)
    one.heard("mode", "g", -1, "")
    assert one.left_s is None, "four that were measured tell too little of a fifth"
    assert " left" not in _said(one)
    now[0] += 16.0
    one.heard("done", "g", -1, "fail")
    one.heard("mode", "h", -1, "")
    assert one.left_s == 14.0  # the median of 10, 12, 14, 16 and 30
    now[0] += 10.0
    assert one.left_s == 4.0
    assert "6 of 8 modes done" not in _said(one)
    assert "7 of 8 modes done, 612 s, about 5 s left for these ranks." in _said(one)
    now[0] += 60.0
    assert one.left_s == 0.0, "it takes longer than most; never less than nothing"
    one.heard("done", "h", -1, "pass")
    one.heard("mode", "a", -1, "")  # the same modes on other ranks: each counts with its own
    assert one.left_s == 15.0 + 15.0 + 10.0 + 30.0 + 12.0 + 14.0 + 16.0 + 70.0
    assert "about 3 min left" in _said(one)
    one.heard("mode", "figures-copy", -1, "")
    assert one.left_s is None
    one.cancel()
    assert one.left_s is None


def test_what_an_earlier_run_measured_counts_from_the_beginning() -> None:
    runs = [
        cpu_run(replace(passed("a"), wall_s=4.0), replace(passed("b"), wall_s=30.0)),
        cpu_run(replace(passed("a"), wall_s=6.0), replace(skipped("b"), wall_s=0.1)),
    ]
    assert usual_s(runs) == {"a": 5.0, "b": 30.0}
    one = SmokeSession(Request(), ScriptedRunner(), ("a", "b"), lambda: 0.0, usual=usual_s(runs))
    one.heard("mode", "a", -1, "")
    assert one.left_s == 35.0
    assert "about 35 s left for these ranks" in _said(one)
