from __future__ import annotations

from dataclasses import replace
from typing import Any

from rocdoctor.model.facts import Container, DeviceNode, Machine, UdevRecord, User
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states, u

NAME = "device-open-by-seat"


def node(path: str, *tags: str, group: str = "render", access: str = "read-write") -> DeviceNode:
    record = UdevRecord(tags=k(tags), seat=k("seat0"))
    return DeviceNode(path, k(True), k(access), k("0660"), k(group), udev=record)


KFD, RENDER = node("/dev/kfd", "uaccess"), node("/dev/dri/renderD128", "seat", "uaccess")


def desktop(*nodes: DeviceNode, **changes: Any) -> Machine:
    """A desktop with one Radeon, whose user is in no group of the nodes."""
    facts = {"nodes": nodes, "user": User(uid=k(1000), groups=k(("people",))), "container": Container(kind=k("none"))}
    return machine(amd_gpu(render_minor=128), **(facts | changes))


def test_access_by_the_seat_alone_is_a_note_that_names_group_and_seat() -> None:
    (verdict,) = judge(NAME, desktop(KFD, RENDER))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("info", "device-permission")
    assert (
        "/dev/kfd and /dev/dri/renderD128 only through a login at the machine itself (seat0)" in verdict.finding.message
    )
    assert verdict.finding.fix.command == "sudo usermod -aG render $USER"
    assert len(verdict.finding.fix.changes) == 1


def test_a_member_of_the_group_root_and_an_open_mode_pass() -> None:
    assert states(judge(NAME, desktop(KFD, RENDER, user=User(uid=k(1000), groups=k(("render",)))))) == ["pass"]
    assert states(judge(NAME, desktop(KFD, RENDER, user=User(uid=k(0), groups=k(("root",)))))) == ["pass"]
    assert states(judge(NAME, desktop(replace(KFD, mode=k("0666")), replace(RENDER, mode=k("0666"))))) == ["pass"]


def test_an_access_list_that_somebody_set_by_hand_holds_for_every_session() -> None:
    assert states(judge(NAME, desktop(node("/dev/kfd"), node("/dev/dri/renderD128", "seat")))) == ["pass"]


def test_closed_nodes_other_vendors_and_containers_are_not_judged() -> None:
    assert states(judge(NAME, desktop(node("/dev/kfd", access="denied"), RENDER))) == ["not-applicable"]
    assert states(judge(NAME, desktop(KFD, RENDER, container=Container(kind=k("docker"))))) == ["not-applicable"]
    nvidia = replace(desktop(RENDER), gpus=(nvidia_gpu(),))
    assert states(judge(NAME, nvidia)) == ["not-applicable"], "the render node may be an integrated GPU's"
    assert states(judge(NAME, desktop())) == ["not-applicable"]


def test_unknown_groups_or_no_record_of_udev_are_unknown() -> None:
    assert states(judge(NAME, desktop(KFD, RENDER, user=User(uid=k(1000), groups=u())))) == ["unknown"]
    bare = [replace(one, udev=UdevRecord()) for one in (KFD, RENDER)]
    assert states(judge(NAME, desktop(*bare))) == ["unknown"]


def test_nobody_is_told_to_join_a_group_of_more_power() -> None:
    (verdict,) = judge(NAME, desktop(node("/dev/kfd", "uaccess", group="root")))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert (verdict.finding.fix.command, verdict.finding.fix.changes) == ("", ())
    assert severities([verdict]) == ["info"]
