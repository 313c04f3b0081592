from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import DeviceNode, TorchBuild
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states, u

NAME = "torch-cpu-only-build"
CPU = TorchBuild(version=k("2.9.0+cpu"), hip=k(None), cuda=k(None))


def test_a_cpu_build_beside_an_instinct_is_an_error_with_the_index_to_use() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(), torch=CPU))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert verdict.finding.cause == "wrong-backend-build"
    assert verdict.finding.message == (
        "torch 2.9.0+cpu is a CPU-only build, so it cannot use the AMD Instinct MI210 of this machine."
    )
    assert verdict.finding.fix is not None
    assert "https://download.pytorch.org/whl/rocm" in verdict.finding.fix.command
    assert "torch-gpu-count-mismatch" in verdict.finding.explains


def test_a_build_that_names_no_back_end_at_all_is_a_cpu_build() -> None:
    torch = TorchBuild(version=k("2.6.0"), hip=k(None), cuda=k(None))
    assert severities(judge(NAME, machine(nvidia_gpu(), torch=torch))) == ["error"]


def test_builds_for_a_gpu_pass() -> None:
    rocm = TorchBuild(version=k("2.9.0+rocm6.4"), hip=k("6.4.43482"), cuda=k(None))
    assert states(judge(NAME, machine(amd_gpu(), torch=rocm))) == ["pass"]
    xpu = TorchBuild(version=k("2.9.0+xpu"), hip=k(None), cuda=k(None))
    assert states(judge(NAME, machine(amd_gpu(), torch=xpu))) == ["pass"]


def test_an_integrated_gpu_or_one_without_wheels_is_only_worth_knowing() -> None:
    assert severities(judge(NAME, machine(amd_gpu(gfx="gfx1036", integrated=True), torch=CPU))) == ["info"]
    assert severities(judge(NAME, machine(amd_gpu(gfx="gfx803"), torch=CPU))) == ["info"]
    assert severities(judge(NAME, machine(nvidia_gpu(compute_capability="3.7"), torch=CPU))) == ["info"]
    # The GPU of an MI300A is integrated too, and it is there to compute.
    assert severities(judge(NAME, machine(amd_gpu(gfx="gfx942", integrated=True), torch=CPU))) == ["error"]


def test_a_gpu_whose_target_is_not_known_is_no_more_than_a_warning() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(gfx=u(), pci_id="1002:ffff"), torch=CPU))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.confidence) == ("warning", "likely")


def test_a_gpu_of_which_nothing_is_known_is_not_judged() -> None:
    assert states(judge(NAME, machine(amd_gpu(gfx=u(), pci_id=u(), name=u()), torch=CPU))) == ["unknown"]
    # The device id alone tells that official wheels left a Polaris card behind.
    assert severities(judge(NAME, machine(amd_gpu(gfx=u(), pci_id="1002:67df"), torch=CPU))) == ["info"]


def test_machines_where_a_cpu_build_is_right_are_not_accused() -> None:
    assert states(judge(NAME, machine(torch=CPU))) == ["not-applicable"]
    assert states(judge(NAME, machine(amd_gpu(driver="vfio-pci"), torch=CPU))) == ["not-applicable"]
    assert states(judge(NAME, machine(amd_gpu(driver=None), torch=CPU))) == ["not-applicable"]
    without = (DeviceNode("/dev/kfd", Known(False, k("").source)),)
    assert states(judge(NAME, machine(amd_gpu(), torch=CPU, nodes=without))) == ["not-applicable"]


def test_a_driver_of_no_matter_is_not_asked_for() -> None:
    intel = replace(amd_gpu(1, driver=u()), vendor="intel")
    assert states(judge(NAME, machine(amd_gpu(driver=None), intel, torch=CPU))) == ["not-applicable"]
    without = (DeviceNode("/dev/kfd", Known(False, k("").source)),)
    assert states(judge(NAME, machine(amd_gpu(driver=u()), torch=CPU, nodes=without))) == ["not-applicable"]


def test_unknown_torch_build_or_driver() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(), torch=TorchBuild(version=k("2.9.0"))))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(driver=u()), torch=CPU))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(), torch=TorchBuild(version=k(None))))) == ["not-applicable"]
