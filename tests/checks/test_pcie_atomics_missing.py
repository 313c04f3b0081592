from __future__ import annotations

from typing import Any

from rocdoctor.model.evidence import NOT_ASKED
from rocdoctor.model.facts import Gpu, Kernel, LogEvent, Machine
from rocdoctor.model.finding import Verdict
from rocdoctor.model.subject import MACHINE
from tests.kit import amd_gpu, event, judge, log, machine, nvidia_gpu, states


def _on(of: Machine) -> list[Verdict]:
    return judge("pcie-atomics-missing", of)


def _line(**values: Any) -> LogEvent:
    return event("kfd-pci-atomics-missing", "PCI rejects atomics", **({"pci_id": "1002:67df"} | values))


def _polaris(index: int = 0, **changes: Any) -> Gpu:
    return amd_gpu(index, **({"pci_id": "1002:67df", "gfx": "gfx803", "kfd_node": NOT_ASKED} | changes))


def _said(*events: LogEvent, complete: bool = True) -> Kernel:
    return Kernel(log=log(*events, complete=complete))


def test_a_skipped_gpu_is_an_error_at_that_gpu() -> None:
    (verdict,) = _on(machine(_polaris(), kernel=_said(_line(), complete=False)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("error", "pcie-atomics-missing")
    assert "1002:67df" in verdict.finding.message
    assert "atomics" in verdict.finding.message
    assert verdict.subject.label == "gpu 0 (0000:23:00.0)"
    assert "pcie-atomics-missing" in verdict.finding.cause


def test_newer_firmware_is_named_when_it_would_help() -> None:
    (verdict,) = _on(machine(_polaris(), kernel=_said(_line(firmware_version=730, needed_version=830))))
    assert verdict.finding is not None
    assert verdict.finding.fix is not None
    assert "from version 730 to 830" in verdict.finding.fix.text
    (never,) = _on(machine(_polaris(), kernel=_said(_line(firmware_version=730, needed_version=0))))
    assert never.finding is not None
    assert never.finding.fix is not None
    assert "version" not in never.finding.fix.text


def test_a_pasted_line_without_any_gpu_is_the_machines() -> None:
    (verdict,) = _on(Machine(kernel=_said(_line(), complete=False)))
    assert (verdict.state, verdict.subject) == ("fail", MACHINE)


def test_a_gpu_with_a_compute_node_was_not_skipped() -> None:
    assert states(_on(machine(_polaris(kfd_node=1), kernel=_said(_line())))) == ["pass"]
    both = machine(_polaris(0, kfd_node=1), amd_gpu(1, kfd_node=NOT_ASKED), kernel=_said(_line()))
    assert states(_on(both)) == ["pass"]


def test_a_line_of_an_earlier_driver_load_accuses_nobody() -> None:
    assert states(_on(machine(_polaris(), kernel=_said(_line(before_driver_load=True))))) == ["pass"]


def test_no_log_an_excerpt_and_other_machines() -> None:
    assert states(_on(machine(_polaris()))) == ["unknown"]
    assert states(_on(machine(_polaris(), kernel=_said(complete=False)))) == ["unknown"]
    assert states(_on(machine(_polaris(), kernel=_said()))) == ["pass"]
    assert states(_on(machine(nvidia_gpu(), kernel=_said()))) == ["not-applicable"]
    assert states(_on(machine())) == ["not-applicable"]


def test_the_only_gpu_is_meant_when_its_id_is_unknown_and_an_address_decides_where_there_is_one() -> None:
    (verdict,) = _on(machine(_polaris(pci_id=NOT_ASKED), kernel=_said(_line())))
    assert verdict.subject.label == "gpu 0 (0000:23:00.0)"
    (other,) = _on(machine(_polaris(pci_id="1002:73bf"), kernel=_said(_line())))
    assert other.subject.label == "machine"
    two = machine(_polaris(0), _polaris(1), kernel=_said(event("kfd-pci-atomics-missing", bdf="0000:43:00.0")))
    (addressed,) = _on(two)
    assert addressed.subject.label == "gpu 1 (0000:43:00.0)"


def test_an_old_card_for_the_display_beside_one_that_trains_is_a_warning() -> None:
    (verdict,) = _on(machine(_polaris(), nvidia_gpu(1), kernel=_said(_line())))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
