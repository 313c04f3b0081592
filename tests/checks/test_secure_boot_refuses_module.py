from __future__ import annotations

from rocdoctor.judging.diagnose import rank
from rocdoctor.model.facts import Kernel
from tests.kit import amd_gpu, event, judge, k, log, machine, nvidia_gpu, severities, states, u

OTHERS = frozenset({"ext4"})
NAMED = event("module-rejected", "modprobe: ERROR: could not insert 'amdgpu': Key was rejected", module="amdgpu")
UNNAMED = event("module-rejected", "Lockdown: modprobe: unsigned module loading is restricted", process="modprobe")


def test_a_named_refusal_is_an_error_and_the_main_cause() -> None:
    kernel = Kernel(modules_complete=True, modules=k(OTHERS), log=log(NAMED), secure_boot=k(True))
    refused = machine(amd_gpu(driver=None), kernel=kernel)
    (verdict,) = judge("secure-boot-refuses-module", refused)
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert "amdgpu" in verdict.finding.message
    names = ("secure-boot-refuses-module", "gpu-without-driver", "driver-module-not-loaded")
    causes = rank([verdict for name in names for verdict in judge(name, refused)])
    assert [one.check for one in causes] == ["secure-boot-refuses-module"]


def test_an_unnamed_refusal_is_less_sure() -> None:
    absent = machine(nvidia_gpu(driver=None), kernel=Kernel(modules_complete=True, modules=k(OTHERS), log=log(UNNAMED)))
    (verdict,) = judge("secure-boot-refuses-module", absent)
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.confidence) == ("error", "likely")
    unread = machine(nvidia_gpu(driver=u()), kernel=Kernel(log=log(UNNAMED)))
    assert severities(judge("secure-boot-refuses-module", unread)) == ["warning"]


def test_another_module_that_was_refused_is_no_matter_of_a_working_gpu() -> None:
    assert states(judge("secure-boot-refuses-module", machine(amd_gpu(), kernel=Kernel(log=log(UNNAMED))))) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    closed = machine(amd_gpu(driver=None), kernel=Kernel(modules_complete=True, modules=k(OTHERS), log=u()))
    assert states(judge("secure-boot-refuses-module", closed)) == ["unknown"]
    assert states(judge("secure-boot-refuses-module", machine())) == ["not-applicable"]
