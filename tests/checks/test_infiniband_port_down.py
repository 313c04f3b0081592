from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Kernel, Machine, Nic
from tests.kit import event, judge, k, log, machine, states

NAME = "infiniband-port-down"


def port(name: str, state: str, **changes: Any) -> Nic:
    return Nic(name, "infiniband", state=k(state), **changes)


def of(*nics: Nic, **changes: Any) -> Machine:
    return machine(network=nics, **changes)


def test_active_ports_pass() -> None:
    assert states(judge(NAME, of(port("mlx5_0", "up"), port("mlx5_1", "ACTIVE")))) == ["pass", "pass"]


def test_an_unused_port_beside_active_ones_is_a_note_and_unused_alone_passes() -> None:
    first, second = judge(NAME, of(port("mlx5_0", "ACTIVE"), port("mlx5_1", "DOWN")))
    assert first.state == "pass"
    assert second.finding is not None
    assert (second.finding.severity, second.finding.cause) == ("info", "")
    assert second.subject.label == "mlx5_1"
    assert states(judge(NAME, of(port("mlx5_0", "DOWN")))) == ["pass"]


def test_a_port_without_a_subnet_manager_warns_beside_active_ones() -> None:
    _, second = judge(NAME, of(port("mlx5_0", "ACTIVE"), port("mlx5_1", "INIT")))
    assert second.finding is not None
    assert second.finding.severity == "warning"
    assert "subnet manager" in second.finding.message


def test_a_port_that_was_lost_while_running_warns() -> None:
    lost = event("infiniband-port-state", device="mlx5_1", port=1, state="DOWN")
    _, second = judge(NAME, of(port("mlx5_0", "ACTIVE"), port("mlx5_1", "DOWN"), kernel=Kernel(log=log(lost))))
    assert second.finding is not None
    assert second.finding.severity == "warning"
    assert "while the machine was running" in second.finding.message


def test_counters_of_an_active_port_are_a_note() -> None:
    quiet = port("mlx5_0", "up", counters={"link_downed": 2, "port_rcv_errors": 14})
    noisy = port("mlx5_1", "up", counters={"link_downed": 255})
    first, second = judge(NAME, of(quiet, noisy))
    assert first.state == "pass"
    assert second.finding is not None
    assert second.finding.severity == "info"
    assert "link_downed 255 times or more" in second.finding.message


def test_a_counter_is_quoted_from_its_own_file() -> None:
    folder = "/sys/class/infiniband/mlx5_1/ports/1"
    nic = Nic("mlx5_1", "infiniband", state=k("ACTIVE", f"read {folder}/state"), counters={"link_downed": 255})
    (verdict,) = judge(NAME, of(nic))
    assert verdict.finding is not None
    assert [(one.value, one.source, one.line) for one in verdict.finding.evidence] == [
        ("link_downed 255", f"read {folder}/counters/link_downed", 1)
    ]


def test_an_unknown_state_is_unknown_and_ethernet_is_not_judged() -> None:
    assert states(judge(NAME, of(Nic("mlx5_0", "infiniband")))) == ["unknown"]
    assert states(judge(NAME, of(Nic("eno1", "ethernet", state=k("down"))))) == ["not-applicable"]


def test_only_a_drop_of_this_port_counts() -> None:
    for other in (
        event("infiniband-port-state", device="mlx5_1", port=1, state="ACTIVE"),
        event("infiniband-port-state", device="mlx5_7", port=1, state="DOWN"),
    ):
        machine_ = of(port("mlx5_0", "ACTIVE"), port("mlx5_1", "DOWN"), kernel=Kernel(log=log(other)))
        _, second = judge(NAME, machine_)
        assert second.finding is not None
        assert second.finding.severity == "info"


def test_a_wide_counter_is_exact() -> None:
    (verdict,) = judge(NAME, of(port("mlx5_0", "up", counters={"symbol_error": 300})))
    assert verdict.finding is not None
    assert "symbol_error 300." in verdict.finding.message
