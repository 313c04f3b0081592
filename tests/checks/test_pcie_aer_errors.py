from __future__ import annotations

from dataclasses import replace
from typing import Any

from rocdoctor.model.facts import Kernel, Machine, Pcie
from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, event, judge, k, log, machine, severities, states
from tests.pcie_kit import hop

_DAY = Kernel(uptime_s=k(86400.0))


def _on(of: Machine) -> list[Verdict]:
    return judge("pcie-aer-errors", of)


def _counted(corrected: int = 0, nonfatal: int = 0, fatal: int = 0, **changes: Any) -> Machine:
    pcie = Pcie(aer_correctable=k(corrected), aer_nonfatal=k(nonfatal), aer_fatal=k(fatal))
    return machine(amd_gpu(pcie=pcie), **({"kernel": _DAY} | changes))


def test_zero_and_a_handful_of_corrected_errors_pass() -> None:
    assert states(_on(_counted())) == ["pass"]
    assert states(_on(_counted(corrected=60))) == ["pass"]
    assert states(_on(_counted(corrected=400))) == ["pass"]


def test_a_fatal_error_is_a_warning() -> None:
    (verdict,) = _on(_counted(fatal=1))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "1 fatal error on the link" in verdict.finding.message


def test_few_nonfatal_errors_are_a_note_and_many_a_warning() -> None:
    assert severities(_on(_counted(nonfatal=2))) == ["info"]
    assert severities(_on(_counted(nonfatal=48))) == ["warning"]
    assert severities(_on(_counted(nonfatal=48, kernel=Kernel()))) == ["info"]
    assert severities(_on(_counted(nonfatal=11, kernel=Kernel(uptime_s=k(86400.0 * 30))))) == ["info"]


def test_corrected_errors_are_a_note_until_they_exceed_what_the_standard_allows() -> None:
    assert severities(_on(_counted(corrected=5000))) == ["info"]
    (verdict,) = _on(_counted(corrected=90000))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "90000 errors" in verdict.finding.message
    assert "3750 an hour" in verdict.finding.message
    assert severities(_on(_counted(corrected=90000, kernel=Kernel()))) == ["info"]


def test_the_ports_above_count_too() -> None:
    pcie = Pcie(hops=(hop("0000:00:01.0", aer_fatal=k(3)),), aer_fatal=k(0))
    assert severities(_on(machine(amd_gpu(pcie=pcie)))) == ["warning"]


def test_unknown_and_not_applicable() -> None:
    assert states(_on(machine(amd_gpu()))) == ["unknown"]
    assert states(_on(machine())) == ["not-applicable"]
    assert states(_on(machine(amd_gpu(integrated=True)))) == ["not-applicable"]


def test_the_kernel_log_speaks_where_the_counters_were_not_read() -> None:
    fatal = event("pcie-aer-fatal", bdf="0000:23:00.0")
    (verdict,) = _on(machine(amd_gpu(), kernel=Kernel(log=log(fatal, fatal, complete=False))))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "2 fatal errors of the PCIe link" in verdict.finding.message
    many = [replace(fatal, line=n) for n in range(1, 7)]
    (several,) = _on(machine(amd_gpu(), kernel=Kernel(log=log(*many))))
    assert several.finding is not None
    assert [one.line for one in several.finding.evidence] == [1, 2, 3, 6], "the last tells when it was"
    (single,) = _on(machine(amd_gpu(), kernel=Kernel(log=log(event("pcie-aer-nonfatal", bdf="0000:23:00.0")))))
    assert single.finding is not None
    assert single.finding.severity == "info"
    assert "1 non-fatal error of" in single.finding.message
    elsewhere = event("pcie-aer-fatal", bdf="0000:65:00.0")
    assert states(_on(machine(amd_gpu(), kernel=Kernel(log=log(elsewhere))))) == ["pass"]
    assert states(_on(machine(amd_gpu(), kernel=Kernel(log=log(elsewhere, complete=False))))) == ["unknown"]
    counted = amd_gpu(pcie=Pcie(aer_fatal=k(0)))
    assert states(_on(machine(counted, kernel=Kernel(log=log(fatal))))) == ["pass"]


def test_links_that_are_cut_on_purpose_and_single_events_of_long_ago_are_notes() -> None:
    long_up = Kernel(uptime_s=k(200 * 86400.0))
    assert severities(_on(_counted(fatal=3, kernel=long_up))) == ["info"]
    assert severities(_on(_counted(fatal=1000, kernel=long_up))) == ["warning"]
    assert severities(_on(_counted(fatal=1, laptop=k(True)))) == ["info"]
    old = event("pcie-aer-fatal", bdf="0000:23:00.0", age_s=900_000.0)
    assert severities(_on(machine(amd_gpu(), kernel=Kernel(log=log(old))))) == ["info"]
