from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.facts import Kernel, Pcie, PcieHop, Temperature
from tests.kit import amd_gpu, event, judge, k, log, machine, nvidia_gpu, severities, states, u

NAME = "gpu-fell-off-bus"
BDF = "0000:23:00.0"
PORT = "0000:00:03.1"


def test_a_lost_gpu_is_an_error() -> None:
    line = event("gpu-lost", "device lost from bus!", BDF)
    verdicts = judge(NAME, machine(amd_gpu(), amd_gpu(1), kernel=Kernel(log=log(line))))
    assert states(verdicts) == ["fail", "pass"]
    assert severities(verdicts) == ["error"]
    fallen = event("nvidia-fallen-off-bus", "GPU has fallen off the bus", "0000:18:00.0")
    assert severities(judge(NAME, machine(nvidia_gpu(), kernel=Kernel(log=log(fallen))))) == ["error"]


def test_a_slot_link_that_came_up_again_is_no_loss() -> None:
    gpu = amd_gpu(pcie=Pcie(hops=(PcieHop(PORT),)))
    down = replace(event("pcie-slot-link-down", bdf=PORT), line=5)
    up = replace(event("pcie-slot-link-up", bdf=PORT), line=9)
    assert severities(judge(NAME, machine(gpu, kernel=Kernel(log=log(down))))) == ["error"]
    assert states(judge(NAME, machine(gpu, kernel=Kernel(log=log(down, up))))) == ["pass"]


def test_an_external_gpu_that_was_unplugged_is_a_note() -> None:
    gpu = amd_gpu(pcie=Pcie(removable=k("removable")))
    line = event("pci-device-inaccessible", bdf=BDF)
    assert severities(judge(NAME, machine(gpu, kernel=Kernel(log=log(line))))) == ["info"]


def test_a_gpu_that_answers_after_a_sleep_is_healthy() -> None:
    line = event("pci-device-inaccessible", bdf=BDF, during_resume=True)
    awake = amd_gpu(temps=(Temperature("edge", k(40.0)),))
    assert states(judge(NAME, machine(awake, kernel=Kernel(log=log(line))))) == ["pass"]
    assert severities(judge(NAME, machine(amd_gpu(), kernel=Kernel(log=log(line))))) == ["error"]


def test_revision_ff_is_a_warning_and_a_sleeping_laptop_gpu_is_not() -> None:
    ones = amd_gpu(revision="ff")
    assert severities(judge(NAME, machine(ones, laptop=k(False)))) == ["warning"]
    assert severities(judge(NAME, machine(ones, laptop=k(True), kernel=Kernel(log=log())))) == []
    asleep = amd_gpu(revision="ff", runtime_status="suspended")
    assert severities(judge(NAME, machine(asleep, kernel=Kernel(log=log())))) == []


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu(), kernel=Kernel(log=u())))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(), kernel=Kernel(log=log(complete=False))))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_a_gpu_that_answers_now_came_back_and_one_that_sleeps_is_not_judged() -> None:
    awake = amd_gpu(temps=(Temperature("edge", k(40.0)),))
    recent = event("gpu-lost", bdf=BDF, age_s=600.0)
    long_ago = event("gpu-lost", bdf=BDF, age_s=900_000.0)
    assert severities(judge(NAME, machine(awake, kernel=Kernel(log=log(recent))))) == ["warning"]
    assert severities(judge(NAME, machine(awake, kernel=Kernel(log=log(long_ago))))) == ["info"]
    asleep = amd_gpu(runtime_status="suspended", pcie=Pcie(hops=(PcieHop(PORT),)))
    cold = event("pci-device-inaccessible", bdf=BDF)
    down = event("pcie-slot-link-down", bdf=PORT)
    assert states(judge(NAME, machine(asleep, kernel=Kernel(log=log(cold, down))))) == ["pass"]


def test_revision_ff_of_a_listing_or_of_a_reserved_gpu_is_no_fault() -> None:
    ones = amd_gpu(revision="ff")
    # Who pastes lspci -nn of a laptop rarely says that it is one.
    assert severities(judge(NAME, machine(ones))) == ["info"]
    kept = amd_gpu(revision="ff", driver="vfio-pci")
    assert states(judge(NAME, machine(kept, laptop=k(False)))) == ["pass"]
