from __future__ import annotations

from typing import Any

from rocdoctor.model.evidence import NOT_ASKED
from rocdoctor.model.facts import Container, Gpu, GpuLink, Kernel, Machine
from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, judge, k, machine, severities, states
from tests.pcie_kit import hop, link, path

_BARE = Container(virtual_machine=k(None))


def _on(of: Machine) -> list[Verdict]:
    return judge("acs-redirect-p2p", of)


def _behind_a_switch(index: int, redirect: bool | None) -> Gpu:
    acs = NOT_ASKED if redirect is None else k(redirect)
    port = hop(f"0000:02:{index:02x}.0", vendor="1000", acs_redirect=acs)
    return amd_gpu(index, pcie=path(link(), hop("0000:00:01.0"), hop("0000:01:00.0", vendor="1000"), port))


def _pair(redirect: bool | None = True, translated: bool | None = True, **changes: Any) -> Machine:
    kernel = Kernel() if translated is None else Kernel(iommu_default=k("translated" if translated else "passthrough"))
    gpus = (_behind_a_switch(0, redirect), _behind_a_switch(1, redirect))
    return machine(*gpus, **({"container": _BARE, "kernel": kernel} | changes))


def test_redirect_with_translation_is_a_warning() -> None:
    (verdict,) = _on(_pair())
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("warning", "iommu-acs-p2p")
    assert "2 ports of PCIe switches" in verdict.finding.message
    assert "1 pair of GPUs" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert "pci=disable_acs_redir=0000:02:00.0;0000:02:01.0" in verdict.finding.fix.text


def test_without_translation_or_with_a_fast_link_it_is_a_note() -> None:
    assert severities(_on(_pair(translated=False))) == ["info"]
    assert severities(_on(_pair(translated=None))) == ["info"]
    assert severities(_on(_pair(links=(GpuLink(0, 1, "xgmi"),)))) == ["info"]


def test_a_switch_without_redirect_passes() -> None:
    assert states(_on(_pair(redirect=False))) == ["pass"]


def test_gpus_with_root_ports_of_their_own_are_not_judged() -> None:
    apart = [
        amd_gpu(index, pcie=path(link(), hop(f"0000:{0x20 + index:02x}:01.0", acs_redirect=k(True))))
        for index in (0, 1)
    ]
    assert states(_on(machine(*apart, container=_BARE))) == ["not-applicable"]


def test_unknown_guest_and_one_gpu() -> None:
    assert states(_on(_pair(redirect=None))) == ["unknown"]
    assert states(_on(_pair(container=Container()))) == ["unknown"]
    assert states(_on(_pair(container=Container(virtual_machine=k("kvm"))))) == ["not-applicable"]
    assert states(_on(machine(amd_gpu(0), amd_gpu(1), container=_BARE))) == ["unknown"]
    assert states(_on(machine(amd_gpu(), container=_BARE))) == ["not-applicable"]
