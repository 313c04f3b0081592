from __future__ import annotations

from rocdoctor.model.facts import Kernel, Machine, Pcie
from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, judge, k, machine, states


def _on(count: int | None, uptime_s: float | None = 3600.0) -> list[Verdict]:
    pcie = Pcie() if count is None else Pcie(replay_count=k(count))
    kernel = Kernel() if uptime_s is None else Kernel(uptime_s=k(uptime_s))
    return judge("pcie-replays", machine(amd_gpu(pcie=pcie), kernel=kernel))


def test_none_and_few_pass_whatever_the_uptime() -> None:
    assert states(_on(0, None)) == ["pass"]
    assert states(_on(40, 60.0)) == ["pass"]


def test_many_in_a_short_time_are_a_warning_and_in_a_long_time_none() -> None:
    (verdict,) = _on(5000)
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "replayed 5000 packets, 5000 an hour" in verdict.finding.message
    assert states(_on(5000, 86400.0 * 30)) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(_on(None)) == ["unknown"]
    assert states(_on(5000, None)) == ["unknown"]
    assert states(judge("pcie-replays", Machine(gpus_complete=True))) == ["not-applicable"]
