from __future__ import annotations

from rocdoctor.judging.diagnose import rank
from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import amd_gpu, event, judge, log, machine, nvidia_gpu, severities, states, u

BDFS = ("0000:23:00.0", "0000:43:00.0")


def _failed(bdf: str) -> list[LogEvent]:
    return [
        event("amdgpu-discovery-failed", "get invalid ip discovery binary signature", bdf),
        event("amdgpu-init-failed", "Fatal error during GPU init", bdf),
        event("gpu-probe-failed", "probe failed with error -22", bdf, driver="amdgpu", error=-22),
    ]


def _machine(*events: LogEvent, complete: bool = True, driver: str | None = None) -> Machine:
    gpus = (amd_gpu(driver=driver), amd_gpu(1, driver=driver))
    return machine(*gpus, kernel=Kernel(log=log(*events, complete=complete)))


def test_all_gpus_failed_is_an_error_with_code_reason_and_count_in_words() -> None:
    verdicts = judge("driver-probe-failed", _machine(*_failed(BDFS[0]), *_failed(BDFS[1])))
    assert severities(verdicts) == ["error", "error"]
    finding = verdicts[0].finding
    assert finding is not None
    assert "-22" in finding.message
    assert "IP discovery" in finding.message
    assert "both GPUs of this machine" in finding.message
    assert finding.evidence[-1].value == "probe failed with error -22"


def test_one_of_two_counts_itself_and_leaves_the_other_alone() -> None:
    verdicts = judge("driver-probe-failed", _machine(*_failed(BDFS[0])))
    assert states(verdicts) == ["fail", "pass"]


def test_an_earlier_load_a_bound_driver_and_another_driver_are_no_failure() -> None:
    earlier = event("gpu-probe-failed", bdf=BDFS[0], driver="amdgpu", error=-22, before_driver_load=True)
    assert states(judge("driver-probe-failed", _machine(earlier))) == ["pass", "pass"]
    assert states(judge("driver-probe-failed", _machine(*_failed(BDFS[0]), driver="amdgpu"))) == ["pass", "pass"]
    other = event("gpu-probe-failed", bdf="0000:18:00.0", driver="nouveau", error=-12)
    nvidia = machine(nvidia_gpu(driver=None), kernel=Kernel(log=log(other)))
    assert states(judge("driver-probe-failed", nvidia)) == ["pass"]


def test_an_excerpt_or_a_closed_log_is_unknown() -> None:
    assert states(judge("driver-probe-failed", _machine(complete=False))) == ["unknown", "unknown"]
    closed = machine(amd_gpu(driver=None), kernel=Kernel(log=u()))
    assert states(judge("driver-probe-failed", closed)) == ["unknown"]
    assert states(judge("driver-probe-failed", machine())) == ["not-applicable"]


def test_it_is_the_main_cause_and_the_missing_driver_is_not() -> None:
    both = _machine(*_failed(BDFS[0]), *_failed(BDFS[1]))
    causes = rank([*judge("gpu-without-driver", both), *judge("driver-probe-failed", both)])
    assert [one.check for one in causes] == ["driver-probe-failed"]


def test_a_missing_firmware_file_stands_before_the_probe_that_it_ended() -> None:
    lines = [event("gpu-firmware-missing", bdf=BDFS[0], firmware="amdgpu/navi31_pfp.bin", error=-2), *_failed(BDFS[0])]
    broken = _machine(*lines)
    causes = rank([*judge("driver-probe-failed", broken), *judge("gpu-firmware-missing", broken)])
    assert [one.cause for one in causes] == ["gpu-firmware"]


def test_without_memory_its_address_windows_are_named() -> None:
    line = event("gpu-probe-failed", "probe failed with error -12", BDFS[0], driver="amdgpu", error=-12)
    finding = judge("driver-probe-failed", _machine(line))[0].finding
    assert finding is not None
    assert finding.fix is not None
    assert "no address space was left" in finding.message
    assert "Above 4G Decoding" in finding.fix.text
    other = judge("driver-probe-failed", _machine(*_failed(BDFS[0])))[0].finding
    assert other is not None
    assert other.fix is not None
    assert "Above 4G" not in other.fix.text
