from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.facts import Kernel
from tests.kit import amd_gpu, event, judge, k, log, machine, nvidia_gpu, severities, states, u

BDF = "0000:23:00.0"


def test_a_bound_driver_passes() -> None:
    assert states(judge("gpu-without-driver", machine(amd_gpu()))) == ["pass"]


def test_no_driver_is_an_error_that_names_the_module() -> None:
    (verdict,) = judge("gpu-without-driver", machine(amd_gpu(driver=None)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert "amdgpu" in verdict.finding.message
    assert verdict.finding.cause == "kernel-module-not-loaded"
    assert verdict.subject.label == "gpu 0 (0000:23:00.0)"


def test_an_integrated_gpu_without_a_driver_is_worth_a_note_beside_others_and_a_warning_alone() -> None:
    lone = machine(amd_gpu(driver=None, integrated=True))
    assert severities(judge("gpu-without-driver", lone)) == ["warning"]
    beside = machine(amd_gpu(driver=None, integrated=True), amd_gpu(1))
    assert severities(judge("gpu-without-driver", beside)) == ["info"]


def test_one_of_several_equal_gpus_is_an_error_and_another_kind_beside_working_ones_a_warning() -> None:
    equal = machine(amd_gpu(driver=None), amd_gpu(1))
    assert severities(judge("gpu-without-driver", equal)) == ["error"]
    unlike = machine(amd_gpu(), nvidia_gpu(driver=None))
    assert severities(judge("gpu-without-driver", unlike)) == ["warning"]


def test_a_chip_that_cannot_compute_is_only_noted() -> None:
    old = machine(amd_gpu(driver=None, pci_id="1002:6818", gfx=u()))
    assert severities(judge("gpu-without-driver", old)) == ["info"]


def test_a_chip_that_amdgpu_refuses_needs_no_amdgpu() -> None:
    # Rage 128, as QEMU has it; the ES1000 of older servers; a Radeon HD 5870
    for pci_id in ("1002:5046", "1002:515e", "1002:6898"):
        old = machine(
            amd_gpu(driver=None, pci_id=pci_id, gfx=u()),
            kernel=Kernel(modules_complete=True, modules=k(frozenset({"ext4"}))),
        )
        (verdict,) = judge("gpu-without-driver", old)
        assert verdict.finding is not None
        assert verdict.finding.severity == "info"
        assert verdict.finding.fix is not None
        assert verdict.finding.fix.command == "", "nothing to load"
        assert states(judge("driver-module-not-loaded", old)) == ["pass"]


def test_it_steps_back_where_another_check_tells_the_reason() -> None:
    failed = machine(
        amd_gpu(driver=None),
        kernel=Kernel(log=log(event("gpu-probe-failed", bdf=BDF, driver="amdgpu", error=-22))),
    )
    (verdict,) = judge("gpu-without-driver", failed)
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "driver-probe-failed" in verdict.finding.message
    unloaded = machine(amd_gpu(driver=None), kernel=Kernel(modules_complete=True, modules=k(frozenset({"ext4"}))))
    assert severities(judge("gpu-without-driver", unloaded)) == ["info"]


def test_an_unread_driver_is_unknown_and_no_gpu_is_not_applicable() -> None:
    assert states(judge("gpu-without-driver", machine(amd_gpu(driver=u())))) == ["unknown"]
    assert states(judge("gpu-without-driver", machine())) == ["not-applicable"]


def test_a_gpu_of_another_vendor_is_not_judged() -> None:
    intel = replace(amd_gpu(driver=None), vendor="intel", pci_id=k("8086:e20b"))
    assert states(judge("gpu-without-driver", machine(intel))) == ["not-applicable"]
