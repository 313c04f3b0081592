from __future__ import annotations

from rocdoctor.model.facts import Kernel
from tests.kit import amd_gpu, event, judge, log, machine, severities, states, u

BDF = "0000:23:00.0"
LINES = [
    event("amdgpu-firmware-boot-failed", bdf=BDF, socket=2, aid=number, fw_status="0xe6985b2d") for number in range(4)
]


def test_dies_and_status_are_named() -> None:
    broken = machine(amd_gpu(driver=None), amd_gpu(1), kernel=Kernel(log=log(*LINES)))
    verdicts = judge("gpu-firmware-boot-failed", broken)
    assert states(verdicts) == ["fail", "pass"]
    finding = verdicts[0].finding
    assert finding is not None
    assert finding.severity == "error"
    assert "four dies" in finding.message
    assert "0xe6985b2d" in finding.message


def test_a_gpu_that_works_all_the_same_is_at_risk() -> None:
    assert severities(judge("gpu-firmware-boot-failed", machine(amd_gpu(), kernel=Kernel(log=log(*LINES))))) == [
        "warning"
    ]


def test_unknown_and_not_applicable() -> None:
    excerpt = machine(amd_gpu(driver=u()), kernel=Kernel(log=log(complete=False)))
    assert states(judge("gpu-firmware-boot-failed", excerpt)) == ["unknown"]
    assert states(judge("gpu-firmware-boot-failed", machine())) == ["not-applicable"]
