"""Containers: engine, toolkit, and the lines that start one with the GPUs."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.model.facts import DeviceNode, Machine, Nic
from rocdoctor.repair.setup.plan import SetupPlan
from tests.kit import k
from tests.repair.setup.desk import desk, gpu, planned, torch
from tests.repair.setup.kit import commands, ids, plan_of, step_of

_NODES = (
    DeviceNode("/dev/kfd", k(True), k("read-write"), k("0660"), k("render"), gid=k(992)),
    DeviceNode("/dev/dri/renderD128", k(True), k("read-write"), k("0660"), k("render"), gid=k(992)),
)


def _programs(**there: str) -> dict[str, Any]:
    names = ("docker", "podman", "nvidia-ctk", "ibv_devinfo")
    return {name: k(there.get(name.replace("-", "_"))) for name in names}


def _plan(machine: Machine) -> SetupPlan:
    return planned(machine, "container")


def test_no_other_goal_speaks_of_engines() -> None:
    machine = desk(gpu("xtx"), programs=_programs())
    assert "container-engine" in ids(_plan(machine))
    assert not {"container-engine", "container-run"} & {*ids(planned(machine)), *ids(planned(machine, "rocm"))}


@pytest.mark.parametrize("name", ["docker", "podman"])
def test_an_engine_that_is_there_is_done_and_its_line_is_given(name: str) -> None:
    plan = _plan(desk(gpu("xtx"), programs=_programs(**{name: f"/usr/bin/{name}"}), nodes=_NODES))
    engine = step_of(plan, "container-engine")
    assert engine.state == "done" and engine.evidence[0].value == f"/usr/bin/{name}"
    (line,) = commands(step_of(plan, "container-run"))
    assert line.startswith(f"{name} run --rm -it --device=/dev/kfd --device=/dev/dri ")
    assert line.endswith("rocm/pytorch rocminfo") and "--ipc=host" in line


def test_docker_takes_the_number_of_the_group_and_podman_keeps_groups() -> None:
    both = _programs(docker="/usr/bin/docker", podman="/usr/bin/podman")
    docker, podman = commands(step_of(_plan(desk(gpu("xtx"), programs=both, nodes=_NODES)), "container-run"))
    assert "--group-add=992" in docker and "render" not in docker
    assert "--group-add=keep-groups" in podman
    unknown = commands(step_of(_plan(desk(gpu("xtx"), programs=both)), "container-run"))[0]
    assert "--group-add" not in unknown and "{" not in unknown


def test_the_start_is_the_proof_and_not_a_condition() -> None:
    plan = _plan(desk(gpu("xtx"), programs=_programs(podman="/usr/bin/podman"), nodes=_NODES))
    run = step_of(plan, "container-run")
    assert run.optional and run.risk == "manual" and "992" not in run.why
    notes = " ".join(run.notes)
    assert "--shm-size=8g" in notes and "renderD" in notes


@pytest.mark.parametrize(
    ("os", "command"),
    [("ubuntu 24.04", "apt install podman"), ("debian 12", "apt install podman"), ("rhel 9.6", "dnf install podman")],
)
def test_a_missing_engine_comes_from_the_distribution(os: str, command: str) -> None:
    found = step_of(_plan(desk(gpu("xtx"), os=os, programs=_programs())), "container-engine")
    assert commands(found)[-1] == command and found.changes == ("podman",)
    assert commands(found)[:-1] == (["apt update"] if command.startswith("apt") else [])
    assert [one.command for one in found.undo] == [command.replace("install", "remove")]


def test_what_nobody_looked_at_is_unknown() -> None:
    blind = step_of(_plan(desk(gpu("xtx"))), "container-engine")
    assert blind.state == "unknown" and "evidence does not show" in blind.why
    sles = step_of(_plan(desk(gpu("xtx"), os="sles 15.7", programs=_programs())), "container-engine")
    assert sles.state == "unknown" and "do not say which package" in sles.why


def test_nvidia_needs_the_toolkit_and_docker_is_told() -> None:
    found = step_of(_plan(desk(gpu("ada"), programs=_programs(docker="/usr/bin/docker"))), "nvidia-container-toolkit")
    assert found.state == "todo"
    assert commands(found)[-3:] == [
        "apt install nvidia-container-toolkit",
        "nvidia-ctk runtime configure --runtime=docker",
        "systemctl restart docker",
    ]
    gone = {one.words[-1] for one in found.undo}
    assert {"nvidia-container-toolkit", "/etc/apt/sources.list.d/nvidia-container-toolkit.list"} <= gone
    assert "/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg" in gone & set(found.changes)


def test_podman_takes_nvidia_gpus_by_cdi() -> None:
    machine = desk(gpu("ada"), os="rhel 9.6", programs=_programs(podman="/usr/bin/podman"))
    found = step_of(_plan(machine), "nvidia-container-toolkit")
    assert not any("runtime=docker" in command for command in commands(found))
    assert any("cdi" in note for note in found.notes)
    assert "--device=nvidia.com/gpu=all" in commands(step_of(_plan(machine), "container-run"))[0]


@pytest.mark.parametrize(
    ("os", "last", "undone"),
    [
        ("sles 16.0", "zypper install nvidia-container-toolkit", ["zypper", "remove", "nvidia-container-toolkit"]),
        ("arch", "pacman -S nvidia-container-toolkit", ["pacman", "-R", "nvidia-container-toolkit"]),
    ],
)
def test_the_toolkit_comes_from_the_repository_of_its_manager(os: str, last: str, undone: list[str]) -> None:
    machine = desk(gpu("ada"), os=os, programs=_programs(podman="/usr/bin/podman"))
    found = step_of(_plan(machine), "nvidia-container-toolkit")
    assert commands(found)[-1] == last and list(found.undo[0].words) == undone


def test_the_list_for_apt_is_of_any_processor() -> None:
    machine = desk(gpu("ada"), programs=_programs(podman="/usr/bin/podman"))
    (listed,) = [one for one in step_of(_plan(machine), "nvidia-container-toolkit").actions if one.file]
    assert listed.lines[0].endswith("/stable/deb/$(ARCH) /")


def test_amd_gpus_need_no_toolkit_and_a_machine_without_gpu_no_line() -> None:
    programs = _programs(docker="/usr/bin/docker")
    assert "nvidia-container-toolkit" not in ids(_plan(desk(gpu("xtx"), programs=programs)))
    assert ids(_plan(desk(programs=programs)))[:1] == ["container-engine"]
    assert "container-run" not in ids(_plan(desk(programs=programs)))


def test_rdma_between_nodes_asks_for_more() -> None:
    nic = Nic("mlx5_0", "infiniband", state=k("active"))
    machine = desk(gpu("xtx"), programs=_programs(docker="/usr/bin/docker"), network=(nic,))
    assert any("--device=/dev/infiniband" in note for note in step_of(_plan(machine), "container-run").notes)


@pytest.mark.parametrize(("fixture", "words"), [("rx7900xtx-podman", "rootless podman"), ("mi300x-docker", "docker")])
def test_inside_what_arrived_is_shown(fixture: str, words: str) -> None:
    found = step_of(plan_of(fixture, goal="container"), "container-run")
    assert found.state == "done" and words in found.why and "/dev/kfd" in found.why
    assert any(one.value == "/dev/kfd: read-write" for one in found.evidence)


def test_inside_without_devices_it_waits_for_them() -> None:
    closed = (DeviceNode("/dev/kfd", k(True), k("denied"), k("0660"), k("nogroup")),)
    machine = desk(gpu("xtx"), container={"kind": "podman", "rootless": True}, nodes=closed, build=torch())
    plan = _plan(machine)
    assert step_of(plan, "container-run").state == "waiting"
    assert step_of(plan, "device-access").state == "todo"


def test_inside_without_a_gpu_nothing_has_to_arrive() -> None:
    found = step_of(
        _plan(desk(container={"kind": "docker", "rootless": False}, build=torch("2.9.1+cpu"))), "container-run"
    )
    assert found.state == "done" and "needs no devices" in found.why and found.evidence


def test_wsl_is_not_in_the_tables() -> None:
    found = step_of(plan_of("wsl2-rx7900xtx", goal="container"), "container-run")
    assert found.state == "unknown" and not found.actions
