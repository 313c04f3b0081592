from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Cpus, DeviceNode, Machine
from tests.kit import amd_gpu, environment, judge, k, machine, severities, states, u

NAME = "cpu-quota-or-affinity"


def host(ranks: int, **cpus: Any) -> Machine:
    values = {"LOCAL_WORLD_SIZE": str(ranks)}
    facts: dict[str, Any] = {name: k(value) for name, value in ({"threads": 128, "usable": 128} | cpus).items()}
    return machine(amd_gpu(), cpus=Cpus(**facts), environment=environment(values))


def test_enough_cpus_pass() -> None:
    assert states(judge(NAME, host(8))) == ["pass"]
    assert states(judge(NAME, host(8, usable=8))) == ["pass"]
    assert states(judge(NAME, host(1, quota=2.0))) == ["pass"]


def test_fewer_cpus_than_gpus_starve_the_job() -> None:
    (verdict,) = judge(NAME, host(8, usable=4))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("warning", "cpu-affinity-or-threads")
    assert "4 of 128 CPUs for 8 GPUs" in verdict.finding.message


def test_a_quota_counts_like_a_list() -> None:
    (verdict,) = judge(NAME, host(1, quota=0.5))
    assert verdict.finding is not None
    assert "0.5 of 128 CPUs for one GPU" in verdict.finding.message


def test_a_job_with_one_of_eight_gpus_is_judged_by_its_share() -> None:
    gpus = [amd_gpu(index, render_minor=128 + index) for index in range(8)]
    nodes = tuple(
        DeviceNode(f"/dev/dri/renderD{128 + index}", k(True), k("not permitted" if index else "read-write"))
        for index in range(8)
    )
    job = environment({"SLURM_JOB_ID": "3"})
    cpus = Cpus(threads=k(128), usable=k(4))
    assert states(judge(NAME, machine(*gpus, nodes=nodes, cpus=cpus, environment=job))) == ["pass"]


def test_a_machine_with_few_cpus_of_its_own_is_a_note() -> None:
    assert severities(judge(NAME, host(8, threads=4, usable=4))) == ["info"]


def test_unknown_and_not_applicable() -> None:
    unread = machine(amd_gpu(), cpus=Cpus(usable=u()), environment=environment({"LOCAL_WORLD_SIZE": "1"}))
    assert states(judge(NAME, unread)) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(driver=u()), cpus=Cpus(usable=k(1))))) == ["not-applicable"]
    assert states(judge(NAME, machine())) == ["not-applicable"]
