from __future__ import annotations

from rocdoctor.model.facts import Kernel, RocmInstall
from tests.kit import amd_gpu, event, judge, k, log, machine, severities, states, u

LINE = event("kfd-not-supported", "kfd kfd: amdgpu: PITCAIRN  not supported in kfd", asic="PITCAIRN")
ROCM = (RocmInstall(k("6.0.0"), "/opt/rocm", "classic"),)
NAME = "kfd-skipped-unsupported-gpu"


def test_an_old_chip_is_an_error_where_rocm_is_wanted_and_a_note_on_a_desktop() -> None:
    old = amd_gpu(pci_id="1002:6818", gfx=u(), kfd_node=u())
    kernel = Kernel(log=log(LINE))
    (verdict,) = judge(NAME, machine(old, kernel=kernel, rocm=ROCM))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert "pitcairn" in verdict.finding.message
    assert "not supported" in verdict.finding.message
    assert verdict.subject.label == "gpu 0 (0000:23:00.0)"
    assert severities(judge(NAME, machine(old, kernel=kernel))) == ["info"]
    assert severities(judge(NAME, machine(old))) == ["info"]


def test_beside_a_gpu_that_computes_it_is_a_note() -> None:
    old = amd_gpu(1, pci_id="1002:6818", gfx=u(), kfd_node=u())
    assert severities(judge(NAME, machine(amd_gpu(), old, kernel=Kernel(log=log(LINE)), rocm=ROCM))) == ["info"]


def test_a_pasted_line_alone_is_a_warning_even_without_a_gpu() -> None:
    from dataclasses import replace

    pasted = replace(machine(kernel=Kernel(log=log(LINE, complete=False))), gpus_complete=False)
    (verdict,) = judge(NAME, pasted)
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "PITCAIRN" in verdict.finding.message


def test_a_gpu_newer_than_the_kernel_needs_a_newer_kernel() -> None:
    line = event("kfd-not-supported", "kfd kfd: amdgpu: GC IP 0c0001  not supported in kfd", asic="GC IP 0c0001")
    new = amd_gpu(pci_id="1002:7550", gfx=u(), kfd_node=u())
    (verdict,) = judge(NAME, machine(new, kernel=Kernel(log=log(line)), rocm=ROCM))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert verdict.finding.fix is not None
    assert "newer kernel" in verdict.finding.fix.text


def test_pass_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["pass"]
    silent = amd_gpu(pci_id=u(), kfd_node=u())
    assert states(judge(NAME, machine(silent, kernel=Kernel(log=log(complete=False))))) == ["unknown"]
    assert states(judge(NAME, machine(silent, kernel=Kernel(log=log())))) == ["pass"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_a_line_without_a_chip_says_both_that_it_may_mean() -> None:
    line = event("kfd-not-supported", "amdgpu 0000:02:00.0: kfd not supported on this ASIC")
    (verdict,) = judge(
        NAME, machine(amd_gpu(pci_id=u(), gfx=u(), kfd_node=u()), kernel=Kernel(log=log(line)), rocm=ROCM)
    )
    assert verdict.finding is not None
    assert "older than what ROCm supports, or newer than this kernel" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert "newer kernel" in verdict.finding.fix.text
