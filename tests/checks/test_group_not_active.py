from __future__ import annotations

from rocdoctor.model.evidence import Fact
from rocdoctor.model.facts import DeviceNode, Machine, User
from tests.kit import amd_gpu, judge, k, machine, severities, states, u

NAME = "group-not-active"


def host(access: str, active: tuple[str, ...], granted: Fact[tuple[str, ...]]) -> Machine:
    kfd = DeviceNode("/dev/kfd", k(True), k(access), k("0660"), k("render"))
    return machine(amd_gpu(), nodes=(kfd,), user=User(uid=k(1000), groups=k(active), login_groups=granted))


def test_a_session_older_than_its_groups_needs_a_new_login() -> None:
    (verdict,) = judge(NAME, host("denied", ("people",), k(("people", "render"))))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "render group" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert verdict.finding.fix.effective == "new-login"


def test_a_user_who_is_in_no_such_group_passes_here() -> None:
    assert states(judge(NAME, host("denied", ("people",), k(("people",))))) == ["pass"]


def test_an_open_node_needs_no_group() -> None:
    assert severities(judge(NAME, host("read-write", ("people",), k(("people", "render"))))) == []
    assert states(judge(NAME, host("read-write", ("people",), k(("people", "render"))))) == ["not-applicable"]


def test_a_device_rule_is_no_matter_of_groups() -> None:
    assert states(judge(NAME, host("not permitted", ("people",), k(("people", "render"))))) == ["not-applicable"]


def test_groups_of_a_directory_service_are_unknown() -> None:
    assert states(judge(NAME, host("denied", ("people",), u()))) == ["unknown"]
