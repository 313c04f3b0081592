from __future__ import annotations

from rocdoctor.model.facts import Container, Gpu, GpuLink, Machine
from rocdoctor.model.finding import Verdict
from tests.kit import judge, k, machine, nvidia_gpu, states
from tests.pcie_kit import hop, link, path


def _on(of: Machine) -> list[Verdict]:
    return judge("slot-shared-bandwidth", of)


def _gpu(index: int, root: str) -> Gpu:
    switch = (hop("0000:01:00.0", vendor="10b5"), hop(f"0000:02:{index:02x}.0", vendor="10b5"))
    return nvidia_gpu(index, pcie=path(link(), hop(root), *switch))


def test_a_root_port_for_each_passes() -> None:
    assert states(_on(machine(_gpu(0, "0000:00:01.0"), _gpu(1, "0000:40:01.0")))) == ["pass"]


def test_a_shared_uplink_is_a_note_with_its_bandwidth() -> None:
    (verdict,) = _on(machine(_gpu(0, "0000:00:01.0"), _gpu(1, "0000:00:01.0")))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("info", "")
    assert "2 GPUs share one PCIe link of 16 GT/s x16 (31.5 GB/s bandwidth)" in verdict.finding.message


def test_gpus_with_nvlink_and_guests_stay_silent() -> None:
    pair = (_gpu(0, "0000:00:01.0"), _gpu(1, "0000:00:01.0"))
    assert states(_on(machine(*pair, links=(GpuLink(0, 1, "nvlink"),)))) == ["pass"]
    assert states(_on(machine(*pair, container=Container(virtual_machine=k("kvm"))))) == ["not-applicable"]


def test_unknown_paths_and_one_gpu() -> None:
    assert states(_on(machine(nvidia_gpu(0), nvidia_gpu(1)))) == ["unknown"]
    assert states(_on(machine(nvidia_gpu()))) == ["not-applicable"]
