"""What a person is told to type next, and how many verdicts wait for it."""

from __future__ import annotations

import pytest

from rocdoctor.collect import collect
from rocdoctor.host.base import Answer
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.judging.next_steps import next_steps, with_missing
from rocdoctor.model.evidence import Reason, Source, Unknown
from rocdoctor.model.facts import Kernel, Machine
from rocdoctor.model.finding import Diagnosis, State, Verdict
from rocdoctor.model.subject import MACHINE
from tests.golden.replay import host_of, our_checks
from tests.kit import machine

_LOG = Source("run dmesg")


def _verdict(state: State, reason: Reason = "not-asked", source: Source | None = None) -> Verdict:
    return Verdict("made-up", MACHINE, state, gap=Unknown("-", reason, source) if state == "unknown" else None)


def _unlogged(reason: Reason) -> Machine:
    return machine(kernel=Kernel(log=Unknown("-", reason, _LOG)))


def _told(verdicts: list[Verdict], kind: str = "bundle", reason: Reason = "not-asked") -> list[tuple[str, str, str]]:
    given = Diagnosis(_unlogged(reason), tuple(verdicts), ())
    return [(step.command, step.why, step.answers) for step in with_missing(given, kind).next]


def test_a_recording_names_what_most_unknown_verdicts_wait_for_and_how_many_these_are() -> None:
    of_log = [_verdict("unknown", source=_LOG)] * 3
    others = [_verdict("unknown", source=Source("read /proc/meminfo")), *[_verdict("unknown")] * 4]
    asked = [_verdict("unknown", "absent", Source("read /sys/x"))]  # it was read: no other recording tells it
    first, second = _told([*of_log, *others, *asked, _verdict("pass")])
    assert (first[0], first[2]) == ("rocdoctor bundle", "") and "5 unknown verdicts wait" in first[1]
    assert (second[0], second[2]) == ("sudo dmesg | tee kernel-log.txt", "kernel-log")
    assert "--add kernel-log.txt: 3 unknown verdicts wait for the kernel log" in second[1]
    (only,) = _told([of_log[0], _verdict("pass")])
    assert only[0] == "sudo dmesg | tee kernel-log.txt" and "1 unknown verdict waits" in only[1]


def test_a_whole_bundle_is_asked_for_only_where_that_would_tell_most() -> None:
    of_log, unstated = _verdict("unknown", source=_LOG), _verdict("unknown")
    cases = {
        "most of what is unknown": ([unstated, unstated, of_log], True),
        "as much has passed": ([unstated, unstated, of_log, *[_verdict("pass")] * 3], False),
        "half of what is unknown": ([unstated, of_log], False),
    }
    for name, (verdicts, asked) in cases.items():
        assert any(command == "rocdoctor bundle" for command, _, _ in _told(verdicts)) is asked, name


@pytest.mark.parametrize("kind", ["live", "text"])
def test_a_live_machine_was_asked_and_pasted_text_has_questions_of_its_own(kind: str) -> None:
    assert _told([_verdict("unknown", source=_LOG), _verdict("unknown"), _verdict("unknown")], kind) == []


def test_a_log_that_was_refused_says_how_many_verdicts_wait_for_it() -> None:
    refused = [_verdict("unknown", "denied", _LOG)] * 2
    (step,) = next_steps(_unlogged("denied"), [*refused, _verdict("unknown"), _verdict("pass")])
    assert step.command == "sudo dmesg | rocdoctor check --add -" and "2 unknown verdicts wait for it" in step.why
    (step,) = next_steps(_unlogged("denied"))
    assert "wait" not in step.why


def test_the_kernel_log_that_is_asked_for_is_what_the_verdicts_wait_for() -> None:
    """With the log that a recording lacked none waits for it any more."""
    host = host_of("recorded-cpu-vm")
    log = Answer("run dmesg", "ok", b"[    0.000000] Linux version 6.8.0-45-generic (buildd@lcy02) #45-Ubuntu SMP\n")
    without, having = (
        with_missing(diagnose(collect(one), our_checks()), "bundle")
        for one in (host, OverlayHost(host, {log.question: log}))
    )
    assert [step.command for step in without.next] == ["sudo dmesg | tee kernel-log.txt"]
    assert having.next == ()
