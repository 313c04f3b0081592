from __future__ import annotations

from rocdoctor.model.facts import Container, GpuLink, Machine, Pcie
from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, judge, k, machine, severities, states, u

_SMALL = 256 << 20


def _on(of: Machine) -> list[Verdict]:
    return judge("small-bar", of)


def test_a_window_over_the_whole_memory_passes() -> None:
    whole = [amd_gpu(index, visible_vram_bytes=64 << 30) for index in (0, 1)]
    assert states(_on(machine(*whole))) == ["pass", "pass"]
    larger = [amd_gpu(index, vram_bytes=12 << 30, pcie=Pcie(bar_bytes=k(16 << 30))) for index in (0, 1)]
    assert states(_on(machine(*larger))) == ["pass", "pass"]


def test_a_small_window_stops_peer_copies_between_cards() -> None:
    verdicts = _on(machine(amd_gpu(0, visible_vram_bytes=_SMALL), amd_gpu(1, visible_vram_bytes=64 << 30)))
    assert states(verdicts) == ["fail", "pass"]
    finding = verdicts[0].finding
    assert finding is not None
    assert (finding.severity, finding.cause) == ("warning", "iommu-acs-p2p")
    assert "256 MiB of this GPU's 64.0 GiB" in finding.message
    assert "peer-to-peer" in finding.message


def test_the_bar_speaks_where_the_driver_does_not() -> None:
    cards = [amd_gpu(index, pcie=Pcie(bar_bytes=k(_SMALL))) for index in (0, 1)]
    assert severities(_on(machine(*cards))) == ["warning", "warning"]


def test_one_gpu_alone_does_not_need_it_and_xgmi_neither() -> None:
    assert states(_on(machine(amd_gpu(visible_vram_bytes=_SMALL)))) == ["pass"]
    beside = machine(amd_gpu(0, visible_vram_bytes=_SMALL), amd_gpu(1, integrated=True))
    assert states(_on(beside)) == ["pass"]
    pair = [amd_gpu(index, visible_vram_bytes=_SMALL) for index in (0, 1)]
    assert severities(_on(machine(*pair, links=(GpuLink(0, 1, "xgmi"),)))) == ["info", "info"]
    guest = Container(virtual_machine=k("kvm"))
    assert severities(_on(machine(*pair, container=guest))) == ["info", "info"]


def test_what_may_be_an_apu_is_not_accused() -> None:
    pair = [amd_gpu(index, visible_vram_bytes=_SMALL, integrated=u()) for index in (0, 1)]
    assert severities(_on(machine(*pair))) == ["info", "info"]


def test_unknown_and_not_applicable() -> None:
    assert states(_on(machine(amd_gpu(0), amd_gpu(1)))) == ["unknown", "unknown"]
    assert states(_on(machine())) == ["not-applicable"]


def test_an_accelerator_in_the_cpus_memory_needs_no_window() -> None:
    apu = amd_gpu(visible_vram_bytes=256 << 20, shared_memory=True)
    assert states(judge("small-bar", machine(apu, amd_gpu(1)))) == ["not-applicable", "unknown"]
