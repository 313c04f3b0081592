from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Container, Gpu, Kernel, NvLink
from tests.kit import judge, k, machine, nvidia_gpu, severities, states, u

NAME = "nvlink-inactive"
UP = tuple(NvLink(number, True, k(25.0)) for number in range(12))
DOWN = tuple(NvLink(number, False) for number in range(12))
METAL = Container(virtual_machine=k(None))
GUEST = Container(virtual_machine=k("kvm"))


def a100(index: int, links: Any = UP, name: str = "NVIDIA A100-SXM4-80GB", **changes: Any) -> Gpu:
    return nvidia_gpu(index, name=name, nvlinks=links, **changes)


def test_all_links_up_pass() -> None:
    assert states(judge(NAME, machine(a100(0), a100(1)))) == ["pass", "pass"]


def test_one_gpu_without_links_beside_an_equal_one_with_links_is_a_warning() -> None:
    for links in ((), DOWN):
        first, second = judge(NAME, machine(a100(0, links), a100(1)))
        assert first.finding is not None
        assert (first.finding.severity, first.finding.cause) == ("warning", "gpu-hardware-fault")
        assert "NVLink" in first.finding.message and "12 active" in first.finding.message
        assert second.state == "pass"


def test_cards_without_a_bridge_are_healthy() -> None:
    card = "NVIDIA A100-PCIE-40GB"
    assert states(judge(NAME, machine(a100(0, (), card), a100(1, (), card)))) == ["not-applicable"] * 2
    assert states(judge(NAME, machine(nvidia_gpu(name="NVIDIA H100 PCIe", nvlinks=())))) == ["not-applicable"]
    assert severities(judge(NAME, machine(a100(0, (), card), a100(1, UP, card)))) == ["info"]


def test_mig_mode_and_the_module_parameter_turn_links_off_on_purpose() -> None:
    first, _ = judge(NAME, machine(a100(0, (), mig=True), a100(1)))
    assert first.state == "not-applicable"
    kernel = Kernel(module_parameters={"nvidia": {"NVreg_NvLinkDisable": "1"}})
    assert severities(judge(NAME, machine(a100(0, ()), a100(1, ()), kernel=kernel))) == ["info", "info"]


def test_a_whole_board_without_links_is_a_fault_on_bare_metal_only() -> None:
    gpus = (a100(0, ()), a100(1, DOWN))
    verdicts = judge(NAME, machine(*gpus, container=METAL))
    assert severities(verdicts) == ["warning", "warning"]
    assert verdicts[0].finding is not None and verdicts[0].finding.cause == "fabric-manager-down"
    assert severities(judge(NAME, machine(*gpus, container=GUEST))) == ["info", "info"]
    assert severities(judge(NAME, machine(*gpus))) == ["info", "info"]


def test_a_guest_with_one_module_has_nobody_to_talk_to() -> None:
    assert states(judge(NAME, machine(a100(0, ()), container=METAL))) == ["not-applicable"]


def test_what_is_not_known_is_unknown() -> None:
    assert states(judge(NAME, machine(a100(0, u()), a100(1)))) == ["unknown", "pass"]
    assert states(judge(NAME, machine(a100(0, ()), a100(1, u()), container=METAL))) == ["unknown", "unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_newer_modules_do_not_say_sxm_in_their_name() -> None:
    for name in ("NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA B200", "NVIDIA GB200"):
        assert severities(judge(NAME, machine(a100(0, (), name), a100(1, UP, name)))) == ["warning"], name
    for name in ("NVIDIA H200 NVL", "NVIDIA H100 NVL", "NVIDIA RTX A6000"):
        assert severities(judge(NAME, machine(a100(0, (), name), a100(1, UP, name)))) == ["info"], name
