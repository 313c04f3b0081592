from __future__ import annotations

import pytest

from rocdoctor.insight.texts.log_events import (
    age,
    by_device,
    duration,
    events_of,
    gpu_log,
    is_current,
    is_recent,
    quotes,
)
from rocdoctor.model.evidence import NotKnown
from rocdoctor.model.facts import Kernel, LogEvent, Machine
from rocdoctor.model.finding import NotApplicable
from tests.kit import amd_gpu, event, k, log, machine, nvidia_gpu, u


def of(*events: LogEvent, complete: bool = True, uptime_s: float | None = None) -> Machine:
    kernel = Kernel(log=log(*events, complete=complete))
    if uptime_s is not None:
        kernel = Kernel(log=log(*events, complete=complete), uptime_s=k(uptime_s))
    return machine(amd_gpu(), kernel=kernel)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "less than a minute"),
        (59.0, "less than a minute"),
        (60.0, "1 min"),
        (5399.0, "90 min"),
        (5400.0, "2 h"),
        (90_000.0, "25 h"),
        (172_800.0, "2 days"),
        (6e6, "69 days"),
    ],
)
def test_spans_are_told_in_coarse_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_the_youngest_event_counts_and_the_end_is_named() -> None:
    events = (event("x", age_s=90_000.0, time_s=1.0), event("x", age_s=120.0, time_s=2.0))
    assert age(of(*events), events) == "2 min before the end of the log"
    assert age(of(*events, uptime_s=122.0), events) == "2 min before the machine was asked"
    assert age(of(), (event("x"),)) == "at a time that the log does not give"


def test_absence_needs_a_whole_log() -> None:
    assert events_of(of(), "x") == ()
    for broken in (of(complete=False), machine(amd_gpu(), kernel=Kernel(log=u()))):
        with pytest.raises(NotKnown):
            events_of(broken, "x")
    assert len(events_of(of(event("x"), complete=False), "x")) == 1


def test_the_selector_takes_machines_with_such_a_gpu_or_such_an_event() -> None:
    select = gpu_log("nvidia", "nvidia-xid")
    assert isinstance(select(machine(amd_gpu())), NotApplicable)
    assert not isinstance(select(machine(nvidia_gpu())), NotApplicable)
    assert not isinstance(select(machine(kernel=Kernel(log=log(event("nvidia-xid"))))), NotApplicable)
    assert isinstance(select(machine(kernel=Kernel(log=log(event("other"))))), NotApplicable)


def test_events_go_to_the_gpu_that_they_name() -> None:
    groups = by_device(of(), (event("x", bdf="0000:23:00.0"), event("y"), event("x", bdf="0000:23:00.0")))
    assert [(device.label, len(members)) for device, members in groups] == [("gpu 0 (0000:23:00.0)", 2), ("machine", 1)]


def test_what_is_current_and_what_is_recent() -> None:
    assert is_current(event("x"))
    assert not is_current(event("x", before_driver_load=True))
    assert not is_current(event("x", during_resume=True))
    assert is_recent(event("x"))
    assert is_recent(event("x", age_s=86_400.0))
    assert not is_recent(event("x", age_s=86_401.0))


def test_a_storm_is_quoted_by_its_first_lines_and_its_last() -> None:
    storm = [event("x", f"message {number}") for number in range(50)]
    shown = quotes(of(*storm), storm)
    assert [one.value for one in shown] == ["message 0", "message 1", "message 2", "message 49"]
    assert shown[0].source == "run dmesg"
