from __future__ import annotations

import pytest

from rocdoctor.insight.gpus.access import (
    allowed_by_mode,
    enclosure,
    in_job,
    local_ranks,
    opens,
    render_nodes,
    ruled_out,
    several_nodes,
    usable_gpus,
)
from rocdoctor.model.facts import Container, DeviceNode, User
from tests.kit import amd_gpu, environment, k, machine, nvidia_gpu, u

MEMBER = User(uid=k(1000), groups=k(("people", "render")))
STRANGER = User(uid=k(1000), groups=k(("people",)))
ROOT = User(uid=k(0), groups=k(("root",)))


def node(path: str = "/dev/kfd", access: str = "read-write", mode: str = "0660", group: str = "render") -> DeviceNode:
    return DeviceNode(path, k(True), k(access), k(mode), k(group))


def test_an_attempt_to_open_decides() -> None:
    assert opens(node()) is True
    assert opens(node(access="denied")) is False
    assert opens(node(access="not permitted (a device rule of the container)")) is False
    assert opens(node(access="error No such device")) is None
    assert opens(DeviceNode("/dev/kfd", k(True), u())) is None
    assert opens(None) is None


@pytest.mark.parametrize(
    ("mode", "group", "user", "allowed"),
    [
        ("0660", "render", MEMBER, True),
        ("0660", "render", STRANGER, False),
        ("0666", "render", STRANGER, True),
        ("0600", "render", MEMBER, False),
        ("0660", "render", ROOT, True),
        ("0600", "root", ROOT, True),
        ("0660", "nogroup", ROOT, False),  # root of a user namespace that does not map the group
        ("0660", "render", User(), None),
        ("junk", "render", STRANGER, False),
    ],
)
def test_what_mode_and_group_allow(mode: str, group: str, user: User, allowed: bool | None) -> None:
    assert allowed_by_mode(node(mode=mode, group=group), user) is allowed


def test_a_refusal_that_the_permissions_do_not_explain_is_a_device_rule() -> None:
    assert ruled_out(node(access="denied"), MEMBER)
    assert ruled_out(node(access="not permitted (a device rule of the container)"), STRANGER)
    assert not ruled_out(node(access="denied"), STRANGER)
    assert not ruled_out(node(), MEMBER)


def test_render_nodes_belong_to_gpus_by_number_or_address() -> None:
    nodes = (node("/dev/dri/renderD128"), node("/dev/dri/renderD129"), node())
    both = machine(amd_gpu(render_minor=129), nvidia_gpu(), nodes=nodes)
    assert [one.path for one in render_nodes(both, "amd")] == ["/dev/dri/renderD129"]
    assert [one.path for one in render_nodes(machine(amd_gpu(), nodes=nodes), "amd")] == [
        "/dev/dri/renderD128",
        "/dev/dri/renderD129",
    ]
    assert render_nodes(machine(amd_gpu(), nvidia_gpu(), nodes=nodes), "amd") == []


def test_what_encloses_us() -> None:
    assert enclosure(machine(container=Container(kind=k("docker")))) == "docker"
    assert enclosure(machine(container=Container(kind=k("none")))) is None
    assert enclosure(machine(container=Container(kind=k("wsl")))) is None
    assert in_job(machine(environment=environment({"SLURM_JOB_ID": "7"})))
    assert in_job(machine(container=Container(kind=k("kubernetes"))))
    assert not in_job(machine())


def test_usable_gpus_are_those_that_open_and_are_not_hidden() -> None:
    gpus = [amd_gpu(index, render_minor=128 + index) for index in range(4)]
    facts = {"kfd_gpu_nodes": k(4), "kfd_complete": True}
    assert usable_gpus(machine(*gpus, **facts)) == 4
    assert usable_gpus(machine(*gpus, **facts, environment=environment({"HIP_VISIBLE_DEVICES": "0,2"}))) == 2
    shares = tuple(node(f"/dev/dri/renderD{128 + i}", "read-write" if i < 1 else "not permitted") for i in range(4))
    assert usable_gpus(machine(*gpus, **facts, nodes=shares)) == 1
    assert usable_gpus(machine()) is None


def test_ranks_and_nodes_as_launchers_state_them() -> None:
    assert local_ranks(machine(environment=environment({"LOCAL_WORLD_SIZE": "8"}))) == 8
    assert several_nodes(machine()) is None
    for values, several in (
        ({"SLURM_JOB_NUM_NODES": "2"}, True),
        ({"SLURM_NNODES": "1"}, False),
        ({"WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"}, True),
        ({"WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8"}, False),
        ({"WORLD_SIZE": "1"}, False),
        ({"WORLD_SIZE": "$((2*8))"}, None),
        ({"WORLD_SIZE": "16"}, None),
    ):
        assert several_nodes(machine(environment=environment(values))) is several, values
