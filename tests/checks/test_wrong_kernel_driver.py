from __future__ import annotations

from rocdoctor.model.facts import CudaToolkit, RocmInstall, TorchBuild
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states, u


def test_radeon_on_a_chip_that_cannot_compute_either_way_is_a_note() -> None:
    (verdict,) = judge("wrong-kernel-driver", machine(amd_gpu(driver="radeon", pci_id="1002:6818")))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "radeon" in verdict.finding.message
    assert verdict.finding.cause == "gpu-not-supported"


def test_radeon_on_a_chip_that_amdgpu_drives_names_the_switch() -> None:
    rocm = (RocmInstall(k("6.0.0"), "/opt/rocm", "classic"),)
    (verdict,) = judge("wrong-kernel-driver", machine(amd_gpu(driver="radeon", pci_id="1002:67b0"), rocm=rocm))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert verdict.finding.fix is not None
    assert "amdgpu.cik_support=1" in verdict.finding.fix.command


def test_nouveau_is_an_error_only_where_somebody_wants_cuda() -> None:
    nouveau = nvidia_gpu(driver="nouveau")
    assert severities(judge("wrong-kernel-driver", machine(nouveau))) == ["info"]
    toolkit = (CudaToolkit(k("12.4"), "/usr/local/cuda"),)
    assert severities(judge("wrong-kernel-driver", machine(nouveau, cuda_toolkits=toolkit))) == ["error"]
    beside = machine(amd_gpu(), nouveau, cuda_toolkits=toolkit)
    assert [verdict.state for verdict in judge("wrong-kernel-driver", beside)] == ["pass", "fail"]
    assert severities(judge("wrong-kernel-driver", beside)) == ["info"]


def test_a_gpu_of_a_guest_is_a_note() -> None:
    (verdict,) = judge("wrong-kernel-driver", machine(amd_gpu(driver="vfio-pci")))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "virtual machines" in verdict.finding.message


def test_pass_unknown_and_not_applicable() -> None:
    assert states(judge("wrong-kernel-driver", machine(amd_gpu(), nvidia_gpu()))) == ["pass", "pass"]
    assert states(judge("wrong-kernel-driver", machine(amd_gpu(driver=None)))) == ["pass"]
    assert states(judge("wrong-kernel-driver", machine(amd_gpu(driver=u())))) == ["unknown"]
    assert states(judge("wrong-kernel-driver", machine())) == ["not-applicable"]


def test_a_card_that_no_torch_runs_on_may_keep_nouveau() -> None:
    torch = TorchBuild(version=k("2.9.1"), cuda=k("12.8"))
    old = nvidia_gpu(driver="nouveau", compute_capability="3.5")
    assert severities(judge("wrong-kernel-driver", machine(old, torch=torch))) == ["info"]
    unread = nvidia_gpu(driver="nouveau", compute_capability=u())
    assert severities(judge("wrong-kernel-driver", machine(unread, torch=torch))) == ["warning"]
