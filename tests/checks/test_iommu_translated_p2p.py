from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Container, Gpu, Kernel, Machine, Pcie
from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, event, judge, k, log, machine, nvidia_gpu, severities, states

_BARE = Container(virtual_machine=k(None))


def _on(of: Machine) -> list[Verdict]:
    return judge("iommu-translated-p2p", of)


def _gpus(group: str, **changes: Any) -> list[Gpu]:
    return [amd_gpu(index, pcie=Pcie(iommu_group_type=k(group)), **changes) for index in (0, 1)]


def test_translation_between_cards_is_a_warning() -> None:
    (verdict,) = _on(machine(*_gpus("DMA-FQ"), container=_BARE))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("warning", "iommu-acs-p2p")
    assert verdict.finding.confidence == "likely"
    assert "IOMMU" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert "iommu=pt" in verdict.finding.fix.text


def test_between_cards_of_a_desktop_it_is_a_note_until_the_iommu_reports_faults() -> None:
    cards = _gpus("DMA-FQ", gfx="gfx1100")
    assert severities(_on(machine(*cards, container=_BARE))) == ["info"]
    faults = Kernel(log=log(event("iommu-fault", "AMD-Vi: Event logged [IO_PAGE_FAULT ...]")))
    assert severities(_on(machine(*cards, container=_BARE, kernel=faults))) == ["warning"]


def test_in_one_hive_it_is_a_note() -> None:
    assert severities(_on(machine(*_gpus("DMA", hive_id="a1"), container=_BARE))) == ["info"]


def test_pass_through_passes_however_it_is_known() -> None:
    assert states(_on(machine(*_gpus("identity"), container=_BARE))) == ["pass"]
    told = Kernel(parameters=k({"iommu": "pt"}))
    assert states(_on(machine(amd_gpu(0), amd_gpu(1), container=_BARE, kernel=told))) == ["pass"]
    assert states(_on(machine(amd_gpu(0), amd_gpu(1), container=_BARE, kernel=Kernel(iommu_groups=k(0))))) == ["pass"]


def test_machines_that_do_not_need_it_are_not_judged() -> None:
    mapped = _gpus("DMA")
    assert states(_on(machine(mapped[0], container=_BARE))) == ["not-applicable"]
    assert states(_on(machine(*mapped, container=Container(virtual_machine=k("microsoft"))))) == ["not-applicable"]
    cray = Kernel(release=k("5.14.21-150500.55.49_13.0.56-cray_shasta_c"))
    assert states(_on(machine(*mapped, container=_BARE, kernel=cray))) == ["not-applicable"]
    assert states(_on(machine(nvidia_gpu(0), nvidia_gpu(1), container=_BARE))) == ["not-applicable"]
    integrated = amd_gpu(1, integrated=True, pcie=Pcie(iommu_group_type=k("DMA")))
    assert states(_on(machine(mapped[0], integrated, container=_BARE))) == ["not-applicable"]


def test_an_unknown_mode_or_an_unknown_host_is_unknown() -> None:
    assert states(_on(machine(amd_gpu(0), amd_gpu(1), container=_BARE))) == ["unknown"]
    assert states(_on(machine(*_gpus("DMA")))) == ["unknown"]
