from __future__ import annotations

import pytest

from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Finding
from tests.kit import environment, judge, k, machine, severities, states, u

NAME = "network-interface-missing"
INTERFACES = k({"lo": "unknown", "enp1s0": "up", "ib0": "down", "docker0": "down"})


def host(**values: str) -> Machine:
    return machine(environment=environment(values), interfaces=INTERFACES)


def found(of: Machine) -> Finding:
    (verdict,) = judge(NAME, of)
    assert verdict.finding is not None, verdict
    return verdict.finding


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"NCCL_SOCKET_IFNAME": "enp"},
        {"NCCL_SOCKET_IFNAME": "=enp1s0"},
        {"NCCL_SOCKET_IFNAME": "^docker,lo"},
        {"NCCL_SOCKET_IFNAME": "ib0,enp1s0"},  # one of them is up
        {"GLOO_SOCKET_IFNAME": "enp1s0"},
        {"NCCL_SOCKET_IFNAME": "lo", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8"},
        {"NCCL_SOCKET_IFNAME": "^docker0", "SLURM_NNODES": "1"},
        {"NCCL_SOCKET_IFNAME": "<interface>"},
        {"NCCL_SOCKET_IFNAME": "$IFACE"},
    ],
)
def test_healthy_choices(values: dict[str, str]) -> None:
    assert states(judge(NAME, host(**values))) == ["pass"]


def test_an_interface_that_is_not_there_ends_the_job() -> None:
    for values in ({"NCCL_SOCKET_IFNAME": "eth0"}, {"GLOO_SOCKET_IFNAME": "enp"}):
        finding = found(host(**values))
        assert (finding.severity, finding.cause) == ("error", "network-interface-wrong")
        assert "enp1s0" in finding.message


def test_an_interface_that_is_down_is_a_risk() -> None:
    finding = found(host(NCCL_SOCKET_IFNAME="ib0"))
    assert finding.severity == "warning"
    assert "ib0, which is down" in finding.message


def test_loopback_with_several_machines() -> None:
    finding = found(host(NCCL_SOCKET_IFNAME="lo", SLURM_NNODES="2"))
    assert (finding.severity, finding.confidence) == ("warning", "certain")
    assert "loopback" in finding.message


def test_an_exclusion_that_forgets_loopback() -> None:
    finding = found(host(NCCL_SOCKET_IFNAME="^docker0", SLURM_NNODES="2"))
    assert finding.severity == "warning"
    assert "NCCL_SOCKET_IFNAME=^docker0 does not exclude lo" in finding.message
    assert finding.fix is not None
    assert "NCCL_SOCKET_IFNAME=^docker0,lo" in finding.fix.text


def test_where_the_number_of_machines_is_not_known() -> None:
    assert severities(judge(NAME, host(NCCL_SOCKET_IFNAME="^docker0"))) == ["info"]
    excerpt = found(machine(environment=environment({"NCCL_SOCKET_IFNAME": "^docker0"}, complete=False)))
    assert (excerpt.severity, excerpt.confidence) == ("warning", "possible")


def test_without_the_list_of_interfaces_nothing_is_missing() -> None:
    unread = machine(environment=environment({"NCCL_SOCKET_IFNAME": "eth0"}), interfaces=u())
    assert states(judge(NAME, unread)) == ["unknown"]
    assert states(judge(NAME, machine())) == ["unknown"]
