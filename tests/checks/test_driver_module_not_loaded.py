from __future__ import annotations

from rocdoctor.model.facts import Container, Kernel
from tests.kit import amd_gpu, event, judge, k, log, machine, nvidia_gpu, severities, states, u

OTHERS = frozenset({"ext4", "nvme"})


def test_an_absent_module_is_an_error_with_kernel_and_count() -> None:
    kernel = Kernel(modules_complete=True, modules=k(OTHERS), release=k("6.5.0-15-generic"))
    (verdict,) = judge(
        "driver-module-not-loaded", machine(amd_gpu(driver=None), amd_gpu(1, driver=None), kernel=kernel)
    )
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert "6.5.0-15-generic" in verdict.finding.message
    assert "two AMD GPUs" in verdict.finding.message
    assert "dkms" in (verdict.finding.fix.text if verdict.finding.fix else "")


def test_a_module_for_another_kernel_points_to_dkms() -> None:
    line = event("module-symbol-mismatch", "nvidia: disagrees about version of symbol x", module="nvidia")
    kernel = Kernel(modules_complete=True, modules=k(OTHERS), log=log(line))
    (verdict,) = judge("driver-module-not-loaded", machine(nvidia_gpu(driver=None), kernel=kernel))
    assert verdict.finding is not None
    assert verdict.finding.cause == "dkms-kernel-mismatch"


def test_a_loaded_module_passes_and_an_integrated_gpu_beside_others_is_a_note() -> None:
    loaded = machine(amd_gpu(driver=None), kernel=Kernel(modules_complete=True, modules=k(OTHERS | {"amdgpu"})))
    assert states(judge("driver-module-not-loaded", loaded)) == ["pass"]
    assert states(judge("driver-module-not-loaded", machine(amd_gpu()))) == ["pass"]
    idle = machine(
        amd_gpu(driver=None, integrated=True),
        nvidia_gpu(),
        kernel=Kernel(modules_complete=True, modules=k(OTHERS | {"nvidia"})),
    )
    assert severities(judge("driver-module-not-loaded", idle)) == ["info"]


def test_where_it_was_refused_or_blacklisted_the_other_checks_speak() -> None:
    refused = Kernel(modules_complete=True, modules=k(OTHERS), log=log(event("module-rejected", module="amdgpu")))
    assert states(judge("driver-module-not-loaded", machine(amd_gpu(driver=None), kernel=refused))) == ["pass"]
    listed = Kernel(modules_complete=True, modules=k(OTHERS), blacklisted=k({"amdgpu": "/etc/modprobe.d/x.conf"}))
    assert states(judge("driver-module-not-loaded", machine(amd_gpu(driver=None), kernel=listed))) == ["pass"]


def test_a_gpu_of_a_guest_is_not_missed() -> None:
    reserved = machine(amd_gpu(driver="vfio-pci"), kernel=Kernel(modules_complete=True, modules=k(OTHERS)))
    assert states(judge("driver-module-not-loaded", reserved)) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    unread = machine(amd_gpu(driver=None), kernel=Kernel(modules_complete=True, modules=u()))
    assert states(judge("driver-module-not-loaded", unread)) == ["unknown"]
    assert states(judge("driver-module-not-loaded", machine())) == ["not-applicable"]
    wsl = machine(
        nvidia_gpu(driver=None),
        container=Container(kind=k("wsl")),
        kernel=Kernel(modules_complete=True, modules=k(OTHERS)),
    )
    assert states(judge("driver-module-not-loaded", wsl)) == ["not-applicable"]


def test_a_part_of_the_list_accuses_nobody() -> None:
    assert states(
        judge("driver-module-not-loaded", machine(amd_gpu(driver=None), kernel=Kernel(modules=k(OTHERS))))
    ) == ["unknown"]
