from __future__ import annotations

from rocdoctor.model.facts import Container, Kernel, LogEvent, Machine
from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, event, judge, k, log, machine, severities, states
from tests.pcie_kit import board, link


def _on(of: Machine) -> list[Verdict]:
    return judge("pcie-kernel-bandwidth-limited", of)


def _line(bdf: str = "0000:23:00.0", width: int = 1, capable: int = 16, speed: float = 5.0) -> LogEvent:
    return event(
        "pcie-bandwidth-limited",
        "4.000 Gb/s available PCIe bandwidth, limited by ...",
        bdf,
        width=width,
        capable_width=capable,
        available_gbit_s=4.0,
        capable_gbit_s=252.048,
        speed_gt_s=speed,
        limit_bdf="0000:00:00.0",
    )


def _said(*events: LogEvent, complete: bool = True) -> Kernel:
    return Kernel(log=log(*events, complete=complete))


def test_one_lane_to_a_gpu_is_a_warning_with_the_figures() -> None:
    (verdict,) = _on(machine(amd_gpu(), kernel=_said(_line())))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("warning", "pcie-link-degraded")
    assert "link of x1 to a card that can do x16: 4 of 252.048 Gb/s of bandwidth" in verdict.finding.message
    assert verdict.subject.label == "gpu 0 (0000:23:00.0)"


def test_the_switch_of_the_board_stands_for_its_gpu_and_without_a_list_a_wide_card_counts() -> None:
    (verdict,) = _on(machine(amd_gpu(), kernel=_said(_line("0000:21:00.0"))))
    assert verdict.subject.label == "gpu 0 (0000:23:00.0)"
    (alone,) = _on(Machine(kernel=_said(_line("0000:01:00.0"), complete=False)))
    assert alone.finding is not None
    assert (alone.finding.severity, alone.finding.confidence) == ("warning", "likely")
    assert alone.subject.label == "PCI device 0000:01:00.0"
    assert states(_on(Machine(kernel=_said(_line("0000:01:00.0", 1, 4), complete=True)))) == ["pass"]


def test_other_devices_and_lower_speeds_stay_silent() -> None:
    assert states(_on(machine(amd_gpu(), kernel=_said(_line("0000:65:00.0"))))) == ["pass"]
    assert states(_on(machine(amd_gpu(), kernel=_said(_line(width=16, speed=2.5))))) == ["pass"]


def test_eight_lanes_laptops_and_guests_get_a_note() -> None:
    assert severities(_on(machine(amd_gpu(), kernel=_said(_line(width=8))))) == ["info"]
    assert severities(_on(machine(amd_gpu(), kernel=_said(_line(width=4)), laptop=k(True)))) == ["info"]
    outside = amd_gpu(pcie=board(link(None, None), link(None, None), removable=k("removable")))
    assert severities(_on(machine(outside, kernel=_said(_line(width=4))))) == ["info"]
    guest = machine(kernel=_said(_line()), container=Container(virtual_machine=k("kvm")))
    assert severities(_on(Machine(kernel=guest.kernel, container=guest.container))) == ["info"]


def test_where_the_links_of_now_are_known_the_log_is_not_asked() -> None:
    assert states(_on(machine(amd_gpu(pcie=board(link())), kernel=_said(_line())))) == ["pass"]


def test_no_log_an_excerpt_and_no_gpu() -> None:
    assert states(_on(machine(amd_gpu()))) == ["unknown"]
    assert states(_on(machine(amd_gpu(), kernel=_said(complete=False)))) == ["unknown"]
    assert states(_on(machine(amd_gpu(), kernel=_said()))) == ["pass"]
    assert states(_on(machine(kernel=_said(_line())))) == ["not-applicable"]


def test_a_line_of_the_gpu_itself_is_certain_and_one_of_its_board_likely() -> None:
    found = [_on(machine(amd_gpu(), kernel=_said(_line(bdf))))[0].finding for bdf in ("0000:23:00.0", "0000:21:00.0")]
    assert [one.confidence for one in found if one] == ["certain", "likely"]


def test_four_lanes_are_a_slot_or_an_enclosure_of_that_width() -> None:
    assert severities(_on(machine(amd_gpu(), kernel=_said(_line(width=4))))) == ["info"]
