"""Verifying a fix: which way, the check on a fresh look, what is said of it, and that a cancel ends it."""

from __future__ import annotations

import re
import threading

import pytest

from rocdoctor.host.base import Answer, Host, run
from rocdoctor.host.evidence.capture import CaptureHost
from rocdoctor.model.finding import Effective, Evidence, Fix, Verdict
from rocdoctor.model.shell_command import ShellCommand
from rocdoctor.model.subject import MACHINE
from rocdoctor.tui.draw.verification import asking, outcome, result, running
from rocdoctor.tui.findings.findings_list import FindingsRow, sections
from rocdoctor.tui.verify import (
    VerifyPlan,
    VerifyProgress,
    VerifyResult,
    WatchedHost,
    close,
    plain_argv,
    plan_for,
    verify,
)
from tests.golden.replay import host_of, judged
from tests.kit import ROOT, named
from tests.tui.findings.finding_kit import BROKEN, LiveCapture, failed
from tests.tui.findings.finding_kit import recorded as recorded_live

CHECK = "gfx-override-mismatch"


def _row(command: str = "", effective: Effective = "now", source: str = "read /proc/meminfo") -> FindingsRow:
    fix = Fix("Do it.", effective=effective, verify=str.__new__(ShellCommand, command))
    return FindingsRow("fail", "made-up", (failed("made-up", "Bad.", evidence=(Evidence("v", source, 1),), fix=fix),))


# -- which way


@pytest.mark.parametrize(
    "command",
    [
        "rocminfo",
        "nvidia-smi",
        "nvidia-smi -q -d ECC",
        "nvidia-smi nvlink --status",
        "ls -l /dev/kfd /dev/dri",
        "cat /sys/module/amdgpu/parameters/gpu_recovery",
        "df -h /dev/shm",
        "rocm-smi --showtopo",
        "cc --version",
        "amd-smi static --partition",
        "sysctl kernel.numa_balancing",
        "grep -i huge /proc/meminfo",
        "dkms status",
        'python3 -c "import torch; print(torch.version.hip)"',
        "/opt/venv/bin/python -c 'import torch'",
        "nvidia-smi --query-gpu=persistence_mode --format=csv",
        "printenv HSA_OVERRIDE_GFX_VERSION",
    ],
)
def test_what_only_looks_may_run_here(command: str) -> None:
    assert plain_argv(command)
    assert plan_for(_row(command), "live").way == "program"


@pytest.mark.parametrize(
    "command",
    [
        "ulimit -l",
        "sudo dmesg",
        "sudo cat /proc/kmsg",
        "rocminfo | grep gfx",
        "nproc; cat /x",
        "cat $HOME/x",
        "cat `x`",
        "cat /sys/kernel/iommu_groups/*/type",
        "cat <x",
        "cat x > y",
        "ls & ls",
        "cat ~/x",
        "(ls)",
        "cat x\nrm y",
        "run the same job on another GPU",
        "ib_write_bw between two nodes",
        "docker run --rm ubuntu nvidia-smi",
        "nvidia-smi -r",
        "nvidia-smi --gpu-reset",
        "nvidia-smi -pm 1",
        "rocm-smi --resetclocks",
        "rocm-smi --setperflevel x",
        "amd-smi reset -G",
        "amd-smi set --power-cap 1",
        "sysctl -w kernel.numa_balancing=0",
        "ip link set eth0 down",
        "cc x.c",
        'python3 -c "import os; os.system(\\"x\\")"',
        'python3 -c "$(x)"',
        "python3 x.py",
        "./cat x",
        "/tmp/ls",
        "PATH=. ls",
        "",
        "'",
        "rocdoctor smoke --soak 5",
        "kubectl describe node NODE",
    ],
)
def test_what_needs_a_shell_root_or_a_person_is_copied(command: str) -> None:
    assert plain_argv(command) == ()


def test_the_commands_of_our_checks_go_the_way_that_was_looked_at() -> None:
    """A check's command that runs here is one of the listed programs; the share says that the list is of use."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "checks").glob("*.py")))
    commands = set(re.findall(r'verify="([^"\\{}]+)"', text)) | set(re.findall(r"verify='([^'\\{}]+)'", text))
    here = {command for command in commands if plain_argv(command)}
    programs = {command.split()[0] for command in here}
    assert programs <= {
        "amd-smi",
        "apt-cache",
        "cat",
        "cc",
        "df",
        "dkms",
        "free",
        "grep",
        "id",
        "ip",
        "ls",
        "lspci",
        "nvidia-smi",
        "python3",
        "rocm-smi",
        "rocminfo",
        "sysctl",
    }
    assert len(commands) > 50
    assert len(here) > len(commands) // 2


def test_the_way_follows_the_command_and_the_evidence() -> None:
    assert plan_for(_row(), "live") == VerifyPlan("check", "rocdoctor check made-up", "made-up")
    assert plan_for(_row("rocdoctor check shm-too-small"), "live").check == "shm-too-small"
    assert plan_for(_row("ulimit -l"), "live").way == "shell"
    for kind in ("bundle", "folder", "text"):
        assert plan_for(_row("rocminfo"), kind).way == "elsewhere"


def test_what_takes_effect_later_is_said_before() -> None:
    later: tuple[tuple[Effective, str], ...] = (("new-login", "next login"), ("reboot", "after a reboot"))
    for effective, word in later:
        plan = plan_for(_row(effective=effective), "live")
        assert plan.asks_first
        assert word in asking(plan).plain
    for source in ("env", "read /proc/self/limits", "open /dev/kfd"):
        assert "start rocdoctor again" in asking(plan_for(_row(source=source), "live")).plain
    assert not plan_for(_row(), "live").asks_first


# -- doing it


def _verified(before: CaptureHost, after: Host | None, check: str) -> VerifyResult:
    diagnosis = judged(before)
    row = next(row for one in sections(diagnosis) for row in one.rows if row.check == check)
    return verify(plan_for(row, "live"), diagnosis.verdicts, lambda: after, VerifyProgress())


def test_a_fix_that_was_made_is_seen() -> None:
    fresh = LiveCapture(host_of("rx7900xtx-2gpu"))
    found = _verified(BROKEN["override of another family"](), fresh, CHECK)
    assert outcome(found) == ("pass", "Fixed: gfx-override-mismatch passes now on gpu 0-1.")
    text = result(found).plain
    assert "before  found on gpu 0-1" in text
    assert "now     not found on gpu 0-1" in text
    assert fresh.asked
    assert fresh.closed


def test_a_fix_that_was_not_made_is_seen() -> None:
    broken = BROKEN["link x4"]()
    state, words = outcome(_verified(broken, LiveCapture(broken), "pcie-link-narrow"))
    assert (state, words) == ("fail", "Not fixed: pcie-link-narrow still finds it on gpu 3.")


def test_half_a_fix_is_named_as_such_and_new_words_are_shown() -> None:
    plan = VerifyPlan("check", "rocdoctor check hot", "hot")
    two = (failed("hot", "Too hot.", subject="gpu 0"), failed("hot", "Too hot.", subject="gpu 1"))
    now = (Verdict("hot", named("gpu 0"), "pass"), failed("hot", "Even hotter.", subject="gpu 1"))
    found = VerifyResult(plan, two, now)
    assert outcome(found) == ("fail", "Partly fixed: hot passes on gpu 0, not yet on gpu 1.")
    assert "now it says: Even hotter." in result(found).plain


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ((Verdict("hot", MACHINE, "unknown", why="no sensor"),), "Cannot tell: no sensor."),
        ((Verdict("hot", MACHINE, "crashed", why="KeyError"),), "Cannot tell: KeyError."),
        (
            (Verdict("hot", MACHINE, "not-applicable", why="no GPU here"),),
            "Cannot tell: there is nothing left to judge: no GPU here.",
        ),
        (
            (Verdict("hot", named("gpu 0"), "pass"), Verdict("hot", named("gpu 1"), "unknown", why="it sleeps")),
            "No longer found, but unknown on gpu 1: it sleeps.",
        ),
        ((), "Cannot tell: there is nothing left to judge: the check says nothing."),
    ],
)
def test_unknown_is_never_fixed(after: tuple[Verdict, ...], words: str) -> None:
    found = VerifyResult(VerifyPlan("check", "x", "hot"), (failed("hot", "Too hot."),), after)
    assert outcome(found) == ("unknown", words)


def test_other_evidence_and_lost_checks_are_said() -> None:
    broken = BROKEN["link x4"]()
    assert "cannot be asked again" in outcome(_verified(broken, None, "pcie-link-narrow"))[1]
    fresh = LiveCapture(broken)
    found = verify(VerifyPlan("check", "rocdoctor check gone", "gone-for-good"), (), lambda: fresh, VerifyProgress())
    assert outcome(found)[0] == "unknown"
    assert "gone-for-good" in found.problem
    assert fresh.closed


def test_a_command_runs_through_the_host_and_its_output_is_made_safe() -> None:
    said = Answer("run rocminfo", "ok", b"\x1b]0;title\x07\x1b[31mAgent 1\x1b[0m\n" + b"x\n" * 99 + b"x", 3)
    fresh = LiveCapture(host_of("rx7900xtx-2gpu"), {"run rocminfo": said})
    row = _row("rocminfo")
    found = verify(
        VerifyPlan("program", "rocminfo", CHECK, ("rocminfo",)), row.members, lambda: fresh, VerifyProgress()
    )
    text = result(found).plain
    assert "$ rocminfo   (ended with status 3)" in text
    assert "\n    Agent 1\n" in text
    assert "... and 61 more lines" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer("run rocminfo", "absent"), "there is no such file or program"),
        (Answer("run rocminfo", "timeout", note="5s"), "no answer within 5s"),
        (Answer("run rocminfo", "ok", b""), "(it printed nothing)"),
    ],
)
def test_a_command_that_says_nothing_is_told_from_a_good_one(answer: Answer, words: str) -> None:
    found = VerifyResult(VerifyPlan("program", "rocminfo", "x"), (), (Verdict("x", MACHINE, "pass"),), answer)
    assert words in result(found).plain


def test_a_cancelled_verification_asks_nothing_more_and_ends_its_host() -> None:
    inner = LiveCapture(host_of("rx7900xtx-2gpu"))
    progress = VerifyProgress()
    closed = threading.Event()
    inner.close = closed.set  # type: ignore[method-assign]
    watched = WatchedHost(recorded_live(inner), progress)
    watched.ask("read /proc/meminfo")
    assert progress.asked == 1
    progress.host = inner
    progress.cancel()
    assert closed.wait(60)
    assert watched.ask("run rocminfo").status == "not-asked"
    watched.prefetch(["run rocminfo"])
    assert progress.asked == 1


def test_closing_ends_the_process_behind_but_not_one_that_is_shared() -> None:
    own = LiveCapture(host_of("rx7900xtx-2gpu"))
    from rocdoctor.host.recorder import Recorder

    close(Recorder(own))
    assert own.closed
    close(Recorder(host_of("rx7900xtx-2gpu")))  # nothing to end


def test_progress_names_the_question_that_is_waited_for() -> None:
    progress = VerifyProgress()
    progress.asked, progress.waiting = 12, "run amd-smi static --json"
    text = running(VerifyPlan("check", "x", "hot"), progress).plain
    assert "12 questions asked (Escape cancels)" in text
    assert "now: run amd-smi static --json" in text


def test_the_longer_limit_of_a_torch_import_is_said_before_and_while_it_runs() -> None:
    plan = plan_for(_row('python3 -c "import torch; print(torch.__version__)"'), "live")
    progress = VerifyProgress()
    progress.waiting = run(*plan.argv)
    said = "It imports torch, which may take up to 60 s."
    assert said in asking(plan).plain and said in running(plan, progress).plain
    progress.waiting = "run rocminfo"  # by now the check asks, and each of its questions has the usual limit
    assert said not in running(plan, progress).plain
    assert "torch" not in asking(plan_for(_row("rocminfo"), "live")).plain
