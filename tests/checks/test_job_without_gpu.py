"""The check job-without-gpu."""

from __future__ import annotations

from rocdoctor.model.facts import Gpu
from rocdoctor.model.finding import Verdict
from tests.job_kit import job, process, rank
from tests.kit import amd_gpu, environment, judge, k, machine, severities, states, u

NAME = "job-without-gpu"


def verdicts(
    *family: object, gpus: tuple[Gpu, ...] = (amd_gpu(),), env: dict[str, str] | None = None, **changes: object
) -> list[Verdict]:
    one = job(*family, **{"gpu_devices": (), **changes})  # type: ignore[arg-type]
    return judge(NAME, machine(*gpus, job=one, environment=environment(env or {}, complete=False)))


def test_a_job_with_a_device_is_healthy() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["not-applicable"]
    assert states(verdicts(gpu_devices=("/dev/kfd",))) == ["pass"]


def test_where_no_gpu_is_used_there_is_nothing_to_judge() -> None:
    assert states(verdicts(gpus=())) == ["not-applicable"]
    assert states(verdicts(gpus=(amd_gpu(integrated=True),))) == ["not-applicable"]
    assert states(verdicts(libraries=frozenset({"libc.so.6"}))) == ["not-applicable"]
    assert states(verdicts(name="pt_data_worker")) == ["not-applicable"]


def test_what_hides_or_has_just_begun_is_unknown() -> None:
    assert states(verdicts(gpu_devices=u())) == ["unknown"]
    assert states(verdicts(started_s_ago=20.0)) == ["unknown"]
    assert states(verdicts(process(101, gpu_devices=u()))) == ["unknown"]


def test_a_launcher_above_processes_with_devices_is_healthy() -> None:
    assert states(verdicts(process(101, gpu_devices=k(("/dev/kfd",))))) == ["pass"]


def test_a_rank_without_a_gpu_is_slow_and_a_script_worth_a_note() -> None:
    assert severities(verdicts(rank(0, 2, 100, "self"))) == ["warning"]
    assert severities(verdicts()) == ["info"]
    cpu_build = frozenset({"libtorch_cpu.so", "libc10.so"})
    assert severities(verdicts(rank(0, 2, 100, "self"), libraries=cpu_build)) == ["info"]


def test_the_variable_that_hides_the_gpus_is_named() -> None:
    (verdict,) = verdicts(rank(0, 2, 100, "self"), env={"HIP_VISIBLE_DEVICES": ""})
    assert verdict.finding is not None
    assert "HIP_VISIBLE_DEVICES hides every GPU" in verdict.finding.message
    assert verdict.finding.cause == "visible-devices-conflict"
