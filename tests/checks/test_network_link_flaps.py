from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Kernel, KernelLog, LogEvent, Machine, Nic
from tests.kit import event, judge, k, machine, severities, states, u

NAME = "network-link-flaps"


def of(flaps: dict[str, int], *events: LogEvent, complete: bool = True, nics: tuple[Nic, ...] = ()) -> Machine:
    log = KernelLog("run dmesg", complete, events, link_flaps=flaps)
    return machine(kernel=Kernel(log=k(log)), network=nics)


def drop(name: str, time_s: float, **changes: Any) -> LogEvent:
    return event("network-link-down", time_s=time_s, **{"interface": name, "age_s": 3600.0 * 3, **changes})


def test_a_fast_link_that_drops_while_running_warns_by_name() -> None:
    (verdict,) = judge(NAME, of({"ib6": 2}, drop("ib6", 9000.0), drop("ib6", 12000.0)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("warning", "network-interface-wrong")
    assert (
        "ib6 went down twice while running (link flap), last 3 h before the end of the log" in verdict.finding.message
    )


def test_fast_ethernet_is_known_by_its_rate() -> None:
    fast = Nic("mlx5_0", "roce", interfaces=("eth2",), speed_gbit_s=k(200.0))
    assert severities(judge(NAME, of({"eth2": 2}, drop("eth2", 9000.0), drop("eth2", 9900.0), nics=(fast,)))) == [
        "warning"
    ]


def test_drops_during_the_boot_and_at_resume_pass() -> None:
    assert states(judge(NAME, of({"ib0": 2}, drop("ib0", 14.0), drop("ib0", 20.0)))) == ["pass"]
    assert states(judge(NAME, of({"ib0": 1}, drop("ib0", 9000.0, during_resume=True)))) == ["pass"]


def test_a_slow_interface_is_a_note_only_when_it_drops_often() -> None:
    assert states(judge(NAME, of({"eno1": 1}, drop("eno1", 9000.0)))) == ["pass"]
    often = [drop("eno1", 9000.0 + step) for step in range(4)]
    assert severities(judge(NAME, of({"eno1": 4}, *often))) == ["info"]


def test_counts_without_single_events_still_count() -> None:
    assert severities(judge(NAME, of({"ibp12s0": 5}))) == ["warning"]


def test_quiet_excerpt_and_closed_log() -> None:
    assert states(judge(NAME, of({}))) == ["pass"]
    assert states(judge(NAME, of({}, complete=False))) == ["unknown"]
    assert states(judge(NAME, machine(kernel=Kernel(log=u())))) == ["unknown"]


def test_one_drop_or_old_ones_of_a_fast_link_are_a_note() -> None:
    """A restart of the switch looks like that."""
    assert severities(judge(NAME, of({"ib6": 1}, drop("ib6", 9000.0)))) == ["info"]
    old = [drop("ib6", 9000.0 + step, age_s=900_000.0) for step in range(5)]
    assert severities(judge(NAME, of({"ib6": 5}, *old))) == ["info"]
