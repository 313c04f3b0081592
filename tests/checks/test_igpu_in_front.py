from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Gpu, Machine, TorchBuild, TorchDevice
from rocdoctor.model.finding import Finding
from tests.kit import amd_gpu, environment, judge, k, machine, nvidia_gpu, severities, states, u
from tests.message_kit import finding_of

NAME = "igpu-in-front"
HIP = TorchBuild(version=k("2.9.0"), hip=k("7.0.0"), arch_list=k(("gfx1100", "gfx90a")))


def _igpu(node: int) -> Gpu:
    return amd_gpu(1, pci_id="1002:164e", gfx="gfx1036", integrated=True, kfd_node=node)


def _machine(node: int, **changes: Any) -> Machine:
    return machine(amd_gpu(), _igpu(node), **({"torch": HIP, "environment": environment({})} | changes))


def test_in_front_it_is_a_warning_with_the_variable_and_the_number() -> None:
    (verdict,) = judge(NAME, _machine(1))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "no code" in verdict.finding.message
    assert verdict.finding.cause == "igpu-shadows-dgpu"
    assert verdict.finding.fix is not None
    assert verdict.finding.fix.command == "export HIP_VISIBLE_DEVICES=1"
    assert verdict.subject.label == "gpu 1 (0000:43:00.0)"


def test_without_a_rocm_torch_it_is_a_note() -> None:
    assert severities(judge(NAME, _machine(1, torch=TorchBuild()))) == ["info"]


def test_what_torch_itself_lists_first_decides() -> None:
    first = TorchDevice(0, bdf=k("0000:43:00.0"))
    second = TorchDevice(1, bdf=k("0000:23:00.0"))
    seen = TorchBuild(version=k("2.9.0"), hip=k("7.0.0"), devices=(first, second))
    (verdict,) = judge(NAME, _machine(9, torch=seen, environment=environment({}, complete=False)))
    assert verdict.finding is not None
    assert verdict.finding.confidence == "certain"
    hidden = TorchBuild(version=k("2.9.0"), hip=k("7.0.0"), devices=(TorchDevice(0, bdf=k("0000:23:00.0")),))
    assert states(judge(NAME, _machine(1, torch=hidden))) == ["pass"]


def test_behind_the_card_or_hidden_by_a_variable_it_is_healthy() -> None:
    assert states(judge(NAME, _machine(9))) == ["pass"]
    assert states(judge(NAME, _machine(1, environment=environment({"HIP_VISIBLE_DEVICES": "1"})))) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, _machine(1, environment=environment({}, complete=False)))) == ["unknown"]
    unread = machine(amd_gpu(kfd_node=u()), _igpu(1), environment=environment({}))
    assert states(judge(NAME, unread)) == ["unknown"]
    cuda = TorchBuild(version=k("2.9.0"), hip=k(None), cuda=k("12.8"))
    assert states(judge(NAME, _machine(1, torch=cuda))) == ["not-applicable"]
    assert states(judge(NAME, machine(_igpu(1), nvidia_gpu()))) == ["not-applicable"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_a_list_of_torch_without_its_beginning_tells_no_order() -> None:
    card, chip = amd_gpu(0, kfd_node=1), amd_gpu(1, kfd_node=2, integrated=True)
    second = TorchDevice(1, bdf=chip.bdf)
    torch = TorchBuild(version=k("2.9.1"), hip=k("6.4.1"), device_count=k(2), devices=(second,))
    assert states(judge("igpu-in-front", machine(card, chip, torch=torch, environment=environment({})))) == ["pass"]


def test_the_program_that_names_an_integrated_gpu_runs_on_it() -> None:
    card = amd_gpu(2, gfx="gfx1030", integrated=u(), hip_index=1)
    inside = amd_gpu(1, gfx="gfx1036", integrated=True, hip_index=0)
    found = finding_of(NAME, "Total VRAM 512 MB\nAMD arch: gfx1036\n", inside, card)
    assert found is not None
    assert "runs on the integrated GPU (gfx1036)" in found.message
    assert found.fix is not None
    assert found.fix.command == "export HIP_VISIBLE_DEVICES=1"


def test_the_program_that_names_the_card_too_does_not() -> None:
    card = amd_gpu(2, gfx="gfx1030", integrated=u(), hip_index=1)
    inside = amd_gpu(1, gfx="gfx1036", integrated=True, hip_index=0)
    both = 'msg="inference compute" id=0 compute=gfx1036\nmsg="inference compute" id=1 compute=gfx1030\n'
    assert finding_of(NAME, both, inside, card) is None
    assert finding_of(NAME, "AMD arch: gfx1036\n", inside) is None


def _crash(text: str, **changes: Any) -> Finding | None:
    return finding_of(NAME, text, amd_gpu(gfx="gfx1201"), _igpu(9), environment=environment({}), **changes)


def test_programs_that_crash_beside_an_integrated_gpu_make_it_possible() -> None:
    found = _crash("Segmentation fault (core dumped)")
    assert found is not None
    assert (found.severity, found.confidence) == ("warning", "possible")
    assert "gfx1036" in found.message


def test_nothing_is_suspected_without_a_crash_or_where_a_release_or_the_bios_is_named() -> None:
    assert _crash("It works.") is None
    assert _crash("Segmentation fault (core dumped), bisected to commit 1a2b3c4d") is None
    assert _crash("Segmentation fault; Device-side assertion `srcIndex < srcSelectDimSize' failed.") is None
    assert _crash("Segmentation fault (core dumped); the iGPU is switched off in the BIOS") is None


def test_a_processor_that_has_graphics_is_enough() -> None:
    text = "Ryzen 7 7700X. Segmentation fault (core dumped)"
    said = environment({}, complete=False)
    card = amd_gpu(gfx="gfx1100", kfd_node=u())
    found = finding_of(NAME, text, card, environment=said)
    assert found is not None
    assert "gfx1036" in found.message
    assert finding_of(NAME, text.replace("7700X", "7500F"), card, environment=said) is None
    listed = amd_gpu(gfx="gfx1100", kfd_node=1)  # the runtime's list is here, and no integrated GPU is in it
    assert finding_of(NAME, text, listed, environment=said) is None
