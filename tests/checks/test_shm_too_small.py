from __future__ import annotations

from rocdoctor.model.facts import Container, Machine, Memory
from tests.kit import amd_gpu, environment, judge, k, machine, nvidia_gpu, severities, states, u

NAME = "shm-too-small"
MIB, GIB = 1 << 20, 1 << 30


def host(size: int, ranks: int = 1, kind: str = "docker", free: int | None = None) -> Machine:
    memory = Memory(shm_bytes=k(size), shm_free_bytes=k(size if free is None else free))
    values = {"LOCAL_WORLD_SIZE": str(ranks)}
    return machine(amd_gpu(), memory=memory, container=Container(kind=k(kind)), environment=environment(values))


def test_enough_passes() -> None:
    assert states(judge(NAME, host(GIB, 8))) == ["pass"]
    assert states(judge(NAME, host(64 * GIB, kind="none"))) == ["pass"]


def test_the_default_of_containers_is_a_risk_for_several_gpus() -> None:
    (verdict,) = judge(NAME, host(64 * MIB, 2))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("warning", "shm-too-small")
    assert "64 MiB" in verdict.finding.message
    assert "collectives" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert "--shm-size" in verdict.finding.fix.command


def test_one_gpu_or_a_little_more_space_is_a_note() -> None:
    assert severities(judge(NAME, host(64 * MIB))) == ["info"]
    assert severities(judge(NAME, host(512 * MIB, 8))) == ["info"]
    assert severities(judge(NAME, host(64 * MIB, 8, kind="none"))) == ["info"]


def test_a_pod_gets_advice_for_a_pod() -> None:
    (verdict,) = judge(NAME, host(64 * MIB, 8, kind="kubernetes"))
    assert verdict.finding is not None
    assert verdict.finding.fix is not None
    assert "emptyDir" in verdict.finding.fix.text


def test_a_full_one_is_a_note() -> None:
    (verdict,) = judge(NAME, host(64 * GIB, 8, "none", free=MIB))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "1 MiB of 64 GiB are free" in verdict.finding.message


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(), memory=Memory(shm_bytes=u())))) == ["unknown"]
    assert states(judge(NAME, machine(memory=Memory(shm_bytes=k(64 * MIB))))) == ["not-applicable"]
