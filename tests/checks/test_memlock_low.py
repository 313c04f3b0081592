from __future__ import annotations

from rocdoctor.model.evidence import Fact
from rocdoctor.model.facts import Container, Machine, Nic, User
from tests.kit import environment, judge, k, machine, severities, states, u

NAME = "memlock-low"
KIB, MIB = 1 << 10, 1 << 20


def host(
    limit: Fact[int | None],
    *,
    kind: str = "infiniband",
    state: str = "active",
    inside: str = "none",
    uid: int = 1000,
    nodes: str = "2",
) -> Machine:
    return machine(
        network=(Nic("mlx5_0", kind, state=k(state)),),
        user=User(uid=k(uid), memlock_bytes=limit),
        container=Container(kind=k(inside)),
        environment=environment({"SLURM_NNODES": nodes}),
    )


def test_unlimited_or_large_passes() -> None:
    assert states(judge(NAME, host(k(None)))) == ["pass"]
    assert states(judge(NAME, host(k(1 << 36)))) == ["pass"]


def test_a_default_limit_stops_rdma() -> None:
    for limit, words in ((64 * KIB, "64 KiB"), (8 * MIB, "8 MiB")):
        (verdict,) = judge(NAME, host(k(limit), kind="roce"))
        assert verdict.finding is not None
        assert (verdict.finding.severity, verdict.finding.cause) == ("warning", "memlock-limit")
        assert words in verdict.finding.message
        assert "mlx5_0" in verdict.finding.message


def test_a_chosen_limit_is_a_note() -> None:
    assert severities(judge(NAME, host(k(64 * MIB)))) == ["info"]


def test_a_container_gets_its_own_option() -> None:
    (verdict,) = judge(NAME, host(k(64 * KIB), inside="docker", uid=0))
    assert verdict.finding is not None
    assert verdict.finding.fix is not None
    assert "--ulimit memlock=-1" in verdict.finding.fix.command


def test_root_of_the_machine_is_not_bound_by_it() -> None:
    assert states(judge(NAME, host(k(64 * KIB), uid=0))) == ["pass"]


def test_without_rdma_or_on_one_machine_it_does_not_matter() -> None:
    assert states(judge(NAME, host(k(64 * KIB), kind="ethernet"))) == ["not-applicable"]
    assert states(judge(NAME, host(k(64 * KIB), state="down"))) == ["not-applicable"]
    assert states(judge(NAME, host(k(64 * KIB), nodes="1"))) == ["not-applicable"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_unknown() -> None:
    assert states(judge(NAME, host(u()))) == ["unknown"]


def test_an_ethernet_card_that_could_do_rdma_is_a_note() -> None:
    one_machine_perhaps = host(k(8 * MIB), kind="roce", nodes="")
    assert severities(judge(NAME, one_machine_perhaps)) == ["info"]
    assert severities(judge(NAME, host(k(8 * MIB), nodes=""))) == ["warning"]
