from __future__ import annotations

from rocdoctor.model.evidence import Fact
from rocdoctor.model.facts import Machine, User
from tests.kit import amd_gpu, environment, judge, k, machine, severities, states, u

NAME = "nofile-low"


def host(limit: Fact[int | None], ranks: int) -> Machine:
    return machine(amd_gpu(), user=User(nofile=limit), environment=environment({"LOCAL_WORLD_SIZE": str(ranks)}))


def test_the_usual_limit_serves_a_few_gpus() -> None:
    assert states(judge(NAME, host(k(1024), 2))) == ["pass"]
    assert states(judge(NAME, host(k(65536), 8))) == ["pass"]
    assert states(judge(NAME, host(k(None), 8))) == ["pass"]


def test_little_is_a_note() -> None:
    assert severities(judge(NAME, host(k(1024), 8))) == ["info"]
    (verdict,) = judge(NAME, host(k(256), 1))
    assert verdict.finding is not None
    assert "256 files" in verdict.finding.message


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, host(u(), 8))) == ["unknown"]
    assert states(judge(NAME, machine(user=User(nofile=k(256))))) == ["not-applicable"]
