from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rocdoctor.model.facts import Container, DeviceNode, Machine, TorchBuild, UdevRecord, User
from rocdoctor.model.finding import Finding
from tests.kit import amd_gpu, environment, judge, k, machine, nvidia_gpu, severities, states, u

NAME = "device-node-denied"
STRANGER = User(uid=k(1000), groups=k(("people",)))
BARE = Container(kind=k("none"))
RULE = "not permitted (a device rule of the container)"


def node(path: str = "/dev/kfd", access: str = "denied", mode: str = "0660", group: str = "render") -> DeviceNode:
    return DeviceNode(path, k(True), k(access), k(mode), k(group))


def closed(**changes: Any) -> Machine:
    """A desktop or server with one AMD GPU whose nodes this user may not open."""
    facts: dict[str, Any] = {
        "nodes": (node(), node("/dev/dri/renderD128")),
        "user": STRANGER,
        "container": BARE,
    }
    return machine(amd_gpu(render_minor=128), **(facts | changes))


def found(of: Machine) -> Finding:
    (verdict,) = judge(NAME, of)
    assert verdict.finding is not None, verdict
    return verdict.finding


def test_open_nodes_pass() -> None:
    assert states(judge(NAME, closed(nodes=(node(access="read-write"),)))) == ["pass"]


def test_a_missing_group_is_an_error_that_names_node_and_group() -> None:
    finding = found(closed())
    assert finding.severity == "error"
    assert "/dev/kfd and /dev/dri/renderD128" in finding.message
    assert "not in the render group" in finding.message
    assert finding.cause == "device-permission"
    assert finding.fix is not None
    assert finding.fix.command == "sudo usermod -aG render $USER"
    assert finding.fix.effective == "new-login"


def test_the_group_is_read_from_the_node() -> None:
    finding = found(closed(nodes=(node(group="video"),)))
    assert "video group" in finding.message
    assert "render" not in finding.message
    assert found(closed(nodes=(node(group="root", mode="0600"),))).message.endswith("not to the render group.")
    assert "group 992" in found(closed(nodes=(node(group="992"),))).message


@pytest.mark.parametrize("group", ["docker", "sudo", "disk", "root", "render,sudo", "render;touch x", "-G", "a b"])
def test_nobody_is_told_to_join_a_group_of_more_power_or_of_no_plain_name(group: str) -> None:
    for nodes in ((node(group=group),), (node(), node("/dev/dri/renderD128", group=group))):
        fix = found(closed(nodes=nodes)).fix
        assert fix is not None
        assert (fix.command, fix.safety, fix.changes) == ("sudo usermod -aG render $USER", "manual", ())
        assert "udev rule" in fix.text


def seated(path: str = "/dev/kfd", *tags: str) -> DeviceNode:
    return replace(node(path), udev=UdevRecord(tags=k(tags), seat=k("seat0")))


SEATED = (seated("/dev/kfd", "seat", "uaccess"), seated("/dev/dri/renderD128", "seat", "uaccess"))


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"SSH_CONNECTION": "<dropped>", "XDG_SEAT": "seat0"}, "machine itself (seat0); this session is not"),
        ({"XDG_SESSION_TYPE": "tty"}, "machine itself (seat0); this session is not"),
        ({"XDG_SEAT": "seat7"}, "machine itself (seat0); this session is not"),
        ({"XDG_SEAT": "seat0"}, "to the active session of seat0: this one was not active"),
        ({"PATH": "/bin"}, "machine itself (seat0); ssh sessions, services and jobs are not"),
    ],
)
def test_a_login_at_the_machine_is_the_other_way_in(variables: dict[str, str], words: str) -> None:
    finding = found(closed(nodes=SEATED, environment=environment(variables)))
    assert finding.fix is not None
    assert finding.fix.text.endswith(words)
    assert finding.fix.command == "sudo usermod -aG render $USER"
    assert any("uaccess" in one.value for one in finding.evidence)


@pytest.mark.parametrize("kfd", [seated("/dev/kfd", "seat"), seated("/dev/kfd"), node()])
def test_the_seat_is_no_way_in_where_it_does_not_open_all_nodes(kfd: DeviceNode) -> None:
    fix = found(closed(nodes=(kfd, SEATED[1]))).fix
    assert fix is not None and "seat0" not in fix.text


def test_nodes_of_different_groups_are_both_named_in_the_command() -> None:
    fix = found(closed(nodes=(node(), node("/dev/dri/renderD128", group="video")))).fix
    assert fix is not None
    assert "render,video" in fix.command


def test_a_refusal_that_only_rocminfo_tells_of_counts_without_any_gpu_in_the_evidence() -> None:
    said = DeviceNode("/dev/kfd", k(True, "run rocminfo", 2), k("denied", "run rocminfo", 2))
    finding = found(machine(gpus_complete=False, nodes=(said,)))
    assert finding.severity == "error"
    assert "/dev/kfd" in finding.message
    assert "render group" in finding.message
    assert finding.confidence == "likely"
    assert finding.fix is not None
    assert "--group-add" in finding.fix.text


def test_a_session_older_than_the_membership_needs_a_new_login_only() -> None:
    fix = found(closed(user=replace(STRANGER, login_groups=k(("people", "render"))))).fix
    assert fix is not None
    assert "usermod" not in fix.command
    assert "log out" in fix.text


def test_in_a_container_the_number_of_the_group_counts() -> None:
    finding = found(closed(container=Container(kind=k("docker"), rootless=k(False)), nodes=(node(group="109"),)))
    assert finding.cause == "container-device-access"
    assert "docker container" in finding.message
    assert finding.fix is not None
    assert "--group-add $(stat -c %g /dev/kfd)" in finding.fix.command


@pytest.mark.parametrize("kind", ["lxc", "systemd-nspawn"])
def test_a_container_with_a_system_of_its_own_is_configured_on_its_host(kind: str) -> None:
    fix = found(closed(container=Container(kind=k(kind), rootless=k(True)), nodes=(node(group="65534"),))).fix
    assert fix is not None
    assert "podman" not in fix.command and "docker" not in fix.command, "neither starts it"
    assert "gid" in fix.text


def test_an_lxc_container_gets_the_line_of_its_host() -> None:
    closed_nodes = (node(group="65534"),)
    fix = found(closed(container=Container(kind=k("lxc"), rootless=k(True)), nodes=closed_nodes)).fix
    assert fix is not None
    assert fix.command == "pct set ID -dev0 /dev/kfd,gid=GID -dev1 /dev/dri/renderD128,gid=GID"
    assert "unix-char" in fix.text and "restart the container" in fix.text


@pytest.mark.parametrize("changes", [{"rootless": k(True)}, {}])
def test_a_rootless_container_keeps_its_groups(changes: dict[str, Any]) -> None:
    user = User(uid=k(0), groups=k(("root", "65534")), overflow_groups=k(True))
    finding = found(closed(container=Container(kind=k("podman"), **changes), user=user, nodes=(node(group="65534"),)))
    assert finding.fix is not None
    assert "--group-add keep-groups" in finding.fix.command
    assert "not mapped" in finding.message
    assert "render group" in finding.message


def test_a_pod_gets_advice_for_a_pod() -> None:
    fix = found(closed(container=Container(kind=k("kubernetes")))).fix
    assert fix is not None
    assert "supplementalGroups" in fix.text


def test_nixos_declares_groups() -> None:
    fix = found(closed(os=replace(machine().os, id=k("nixos")))).fix
    assert fix is not None
    assert "extraGroups" in fix.text


def test_a_device_rule_in_a_container_is_not_a_matter_of_groups() -> None:
    torch = TorchBuild(hip=k("6.4.0"))
    inside = closed(container=Container(kind=k("docker")), nodes=(node(access=RULE),), torch=torch)
    finding = found(inside)
    assert (finding.severity, finding.cause) == ("error", "container-device-access")
    assert "device rule" in finding.message
    assert finding.fix is not None
    assert "--device=/dev/kfd" in finding.fix.command


def test_a_container_without_rocm_was_not_meant_for_the_gpu() -> None:
    assert severities(judge(NAME, closed(container=Container(kind=k("docker")), nodes=(node(access=RULE),)))) == [
        "info"
    ]


def test_a_device_rule_outside_of_containers_and_jobs_is_a_risk() -> None:
    assert severities(judge(NAME, closed(nodes=(node(access=RULE),)))) == ["warning"]


def test_a_job_without_a_gpu_is_worth_a_note_only() -> None:
    nodes = (node(access="read-write"), node("/dev/dri/renderD128", access=RULE))
    job = environment({"SLURM_JOB_ID": "17"})
    assert severities(judge(NAME, closed(nodes=nodes, environment=job))) == ["info"]


def test_a_job_with_a_share_of_the_gpus_is_healthy() -> None:
    gpus = [amd_gpu(index, render_minor=128 + index) for index in range(8)]
    nodes = [node(f"/dev/dri/renderD{128 + index}", access=RULE if index else "read-write") for index in range(8)]
    job = machine(*gpus, nodes=(node(access="read-write"), *nodes), container=BARE, user=STRANGER)
    assert states(judge(NAME, job)) == ["pass"]


def test_access_by_an_access_list_is_healthy_although_the_group_is_missing() -> None:
    seat = closed(nodes=(node(access="read-write"), node("/dev/dri/renderD128", access="read-write")))
    assert states(judge(NAME, seat)) == ["pass"]


def test_root_in_a_container_is_healthy() -> None:
    user = User(uid=k(0), groups=k(("root",)))
    nodes = (node(access="read-write", group="109"),)
    assert states(judge(NAME, closed(container=Container(kind=k("docker")), user=user, nodes=nodes))) == ["pass"]


def test_an_integrated_gpu_that_nobody_computes_on_is_a_note() -> None:
    apu = replace(closed(), gpus=(amd_gpu(integrated=True, gfx="gfx1103", pci_id="1002:15bf", render_minor=128),))
    assert severities(judge(NAME, apu)) == ["info"]
    assert severities(judge(NAME, replace(apu, torch=TorchBuild(hip=k("6.4.0"))))) == ["error"]


def test_an_mi300a_is_integrated_and_computes() -> None:
    apu = replace(closed(), gpus=(amd_gpu(integrated=True, gfx="gfx942", pci_id="1002:74a0", render_minor=128),))
    assert severities(judge(NAME, apu)) == ["error"]


def test_a_gpu_that_no_release_has_packages_for_is_a_note() -> None:
    assert found(closed(gpus=(amd_gpu(gfx="gfx803", render_minor=128),))).severity == "info"
    for gfx in ("gfx1100", "gfx906", "gfx1031"):  # listed, in wheels, run as a relative
        assert found(closed(gpus=(amd_gpu(gfx=gfx, render_minor=128),))).severity == "error", gfx
    both = (amd_gpu(gfx="gfx803", render_minor=128), amd_gpu(1, gfx="gfx1100", render_minor=129))
    assert found(closed(gpus=both)).severity == "error"


def test_a_sleeping_gpu_is_not_opened_and_not_accused() -> None:
    asleep = DeviceNode("/dev/dri/renderD128", k(True), u(), k("0660"), k("render"))
    assert states(judge(NAME, closed(nodes=(node(access="read-write"), asleep)))) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    untried = DeviceNode("/dev/kfd", k(True), u())
    assert states(judge(NAME, closed(nodes=(untried,)))) == ["unknown"]
    assert states(judge(NAME, closed(nodes=(DeviceNode("/dev/kfd", u()),)))) == ["unknown"]
    for none in (
        closed(nodes=()),
        closed(nodes=(DeviceNode("/dev/kfd", k(False)),)),
        closed(container=Container(kind=k("wsl"))),
        machine(nvidia_gpu(), nodes=(node(),)),
        machine(nodes=(node(),)),
    ):
        assert states(judge(NAME, none)) == ["not-applicable"]
