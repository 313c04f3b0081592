"""The check job-stuck-in-kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rocdoctor.model.facts import Job, Kernel
from rocdoctor.model.finding import Verdict
from tests.job_kit import job, rank, thread
from tests.kit import amd_gpu, event, judge, log, machine, severities, states, u

NAME = "job-stuck-in-kernel"
HUNG = thread(100, "D", "amdgpu_fence_wait_any", stuck=True)


def verdicts(one: Job, **changes: object) -> list[Verdict]:
    return judge(NAME, machine(amd_gpu(), job=one, **changes))


def test_without_a_job_there_is_nothing_to_judge() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["not-applicable"]


def test_waits_that_end_are_healthy() -> None:
    assert states(verdicts(job())) == ["pass"]
    assert states(verdicts(job(threads=(thread(100, "D", "amdgpu_fence_wait_any"), thread(101, "R"))))) == ["pass"]


def test_a_disk_that_is_read_is_no_fault() -> None:
    for wchan in ("folio_wait_bit_common", "kernel_clone"):  # a file is read, a child is started by vfork
        assert states(verdicts(job(threads=(thread(100, "D", wchan, stuck=True),)))) == ["pass"]


def test_threads_that_hide_are_unknown() -> None:
    assert states(verdicts(job(threads=u()))) == ["unknown"]


@pytest.mark.parametrize(
    ("wchan", "words"),
    [
        ("amdgpu_fence_wait_any", "amdgpu"),
        ("kfd_process_evict_queues", "amdgpu"),
        ("os_acquire_semaphore", "nvidia"),
        ("dma_fence_default_wait", "DRM"),
    ],
)
def test_a_thread_inside_a_gpu_driver_is_at_risk(wchan: str, words: str) -> None:
    (verdict,) = verdicts(job(threads=(thread(100), thread(101, "D", wchan, stuck=True))))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "One of the job's 2 threads waits in the kernel" in verdict.finding.message
    assert words in verdict.finding.message
    assert wchan in verdict.finding.evidence[0].value


def test_all_ranks_together_are_an_error() -> None:
    stuck: dict[str, Any] = {"state": "D", "lasting": True}
    family = (rank(0, 2, 100, "self", **stuck), rank(1, 2, 200, **stuck))
    (verdict,) = verdicts(job(*family, threads=(HUNG,)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert "All 2 ranks" in verdict.finding.message
    helpers = replace(rank(1, 2, 201, state="S"), parent_pid=200)  # a data loader's worker has its rank's variables
    assert severities(verdicts(job(*family, helpers, threads=(HUNG,)))) == ["error"]
    busy = (family[0], rank(1, 2, 200, state="R"))
    assert severities(verdicts(job(*busy, threads=(HUNG,)))) == ["warning"]


def test_the_start_of_a_job_waits_for_the_driver_too() -> None:
    stuck: dict[str, Any] = {"state": "D", "lasting": True}
    family = (rank(0, 2, 100, "self", **stuck), rank(1, 2, 200, **stuck))
    assert severities(verdicts(job(*family, threads=(HUNG,), started_s_ago=20.0))) == ["warning"]


def test_the_kernel_log_makes_it_certain_for_a_single_process() -> None:
    hung = Kernel(log=log(event("gpu-ring-timeout", age_s=30.0)))
    assert severities(verdicts(job(threads=(HUNG,)), kernel=hung)) == ["error"]
    assert severities(verdicts(job(threads=(HUNG,)))) == ["warning"]


def test_a_file_server_is_named() -> None:
    (verdict,) = verdicts(job(threads=(thread(100, "D", "rpc_wait_bit_killable", stuck=True),)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, "NFS" in verdict.finding.message) == ("warning", True)


def test_an_unseen_function_accuses_nobody() -> None:
    (verdict,) = verdicts(job(threads=(thread(100, "D", None, stuck=True),)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "not shown to this user" in verdict.finding.message
