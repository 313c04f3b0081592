"""Access to the GPU: groups of the machine, logins, containers."""

from __future__ import annotations

import pytest

from rocdoctor.repair.setup.plan import Verify
from tests.golden.edits import Broken
from tests.machines.files import Files
from tests.repair.setup.kit import commands, plan_in, plan_of, states, step_of


def test_open_nodes_are_done_with_each_node() -> None:
    found = step_of(plan_of("mi300x-8gpu"), "device-access")
    assert found.state == "done"
    assert "/dev/kfd: read-write" in [one.value for one in found.evidence]


def test_closed_nodes_give_the_group_that_owns_them_and_its_undo() -> None:
    found = step_of(plan_in("xtx-ubuntu2404-fresh"), "device-access")
    assert (found.state, found.effective, found.risk) == ("todo", "new-login", "safe")
    assert commands(found) == ["usermod -a -G render user"]
    assert found.actions[0].root
    assert [action.command for action in found.undo] == ["gpasswd -d user render"]
    assert found.verify == Verify("device-node-denied")
    assert found.changes == ("/etc/group",)


def test_a_group_of_the_next_login_is_waited_for_and_nothing_else_is_to_do() -> None:
    found = plan_in("xtx-ubuntu2404-groups-not-in-session")
    access = step_of(found, "device-access")
    assert (access.state, access.actions) == ("waiting", ())
    assert "Log out" in access.notes[0]
    assert states(found)["checks"] == "waiting"


def test_groups_before_the_driver_save_a_login() -> None:
    found = step_of(plan_in("xtx-ubuntu2204-fresh"), "device-access")
    assert commands(found) == ["usermod -a -G render,video user"]
    member = step_of(plan_in("xtx-ubuntu2204-fresh", member=frozenset({"render", "video", "sudo"})), "device-access")
    assert (member.state, member.actions) == ("waiting", ())
    half = step_of(plan_in("xtx-ubuntu2204-fresh", member=frozenset({"video", "sudo"})), "device-access")
    assert commands(half) == ["usermod -a -G render user"]


@pytest.mark.parametrize("name", ["", "<dropped>", "user-1"], ids=["not there", "dropped", "masked"])
def test_the_shell_knows_a_name_that_the_evidence_does_not_tell(name: str) -> None:
    def nameless(files: Files) -> None:
        for variable in ("USER", "LOGNAME"):
            files.env.pop(variable, None)
            files.env |= {variable: name} if name else {}

    found = step_of(plan_in("xtx-ubuntu2404-fresh", files=nameless), "device-access")
    assert found.actions[0].words == ("usermod", "-a", "-G", "render", "$USER")


def test_the_shell_of_root_does_not_know_the_person() -> None:
    def root(files: Files) -> None:
        files.env |= {"USER": "root", "LOGNAME": "root"}
        status = files.texts[("proc", "self", "status")].decode()
        files.put("/proc/self/status", status.replace("1000\t1000\t1000\t1000", "0\t0\t0\t0"))

    found = step_of(plan_in("xtx-ubuntu2204-fresh", files=root), "device-access")
    assert (found.state, found.actions) == ("waiting", ())


def test_a_container_without_devices_is_started_again_with_them() -> None:
    def without(machine: Broken) -> None:
        machine.remove("stat /dev/kfd")
        for number in range(128, 136):
            machine.remove(f"stat /dev/dri/renderD{number}")
        machine.set("list /dev/dri/renderD*", "")

    found = step_of(plan_of("mi300x-docker", without), "device-access")
    assert (found.state, found.risk, found.actions) == ("todo", "manual", ())
    assert any("--device=/dev/kfd" in note for note in found.notes)


def test_a_rootless_container_keeps_the_groups_of_its_host() -> None:
    def closed(machine: Broken) -> None:
        machine.set("open /dev/kfd", "denied")
        machine.set("open /dev/dri/renderD128", "denied")

    found = step_of(plan_of("rx7900xtx-podman", closed), "device-access")
    assert (found.state, found.risk, found.actions) == ("todo", "manual", ())
    assert any("keep-groups" in note for note in found.notes)
    assert "sudo usermod -a -G render NAME" in found.notes[0]

    def other(machine: Broken) -> None:
        closed(machine)
        machine.set("read /proc/sys/kernel/osrelease", "6.14.0-29-generic\n")

    # the policy is that of the host, whose kernel runs here: one of Fedora
    assert any("container_use_devices" in note for note in found.notes)
    assert not any("SELinux" in note for note in step_of(plan_of("rx7900xtx-podman", other), "device-access").notes)


def test_a_group_that_has_no_name_here_is_left_to_the_person() -> None:
    def closed(machine: Broken) -> None:
        for node in ("/dev/kfd", "/dev/dri/renderD128", "/dev/dri/renderD129"):
            machine.set(f"open {node}", "denied")
        machine.replace("read /etc/group", "render:x:992:user", "render:x:992:")
        machine.replace("read /proc/self/status", "Groups:\t27 44 992 1000", "Groups:\t27 44 1000")
        machine.replace("stat /dev/dri/renderD128", " 992 ", " 4455 ")

    found = step_of(plan_of("rx7900xtx-2gpu", closed), "device-access")
    assert (found.state, found.risk, found.actions) == ("todo", "manual", ())


def test_an_account_of_a_directory_gets_the_rule_of_amd_and_no_usermod() -> None:
    found = step_of(plan_in("xtx-ubuntu2404-fresh", directory=True), "device-access")
    assert found.risk == "risky", "nobody opens the nodes to every account without having read it"
    assert (found.state, found.effective) == ("todo", "now")
    assert found.actions[0].file == "/etc/udev/rules.d/70-amdgpu.rules"
    assert found.actions[0].lines[0] == 'KERNEL=="kfd", GROUP="render", MODE="0666"'
    assert commands(found) == ["udevadm control --reload-rules", "udevadm trigger"]
    assert found.undo[0].command == "rm -f /etc/udev/rules.d/70-amdgpu.rules"
    assert "Every user" in found.notes[0] and "usermod" not in " ".join(commands(found))


def test_before_the_driver_a_directory_account_waits_for_the_nodes() -> None:
    found = step_of(plan_in("xtx-ubuntu2204-fresh", directory=True), "device-access")
    assert (found.state, found.actions) == ("waiting", ())


def test_where_the_account_may_be_of_either_kind_the_other_way_is_named() -> None:
    def elsewhere(files: Files) -> None:
        files.env |= {"USER": "user-9", "LOGNAME": "user-9"}

    either = step_of(plan_in("xtx-ubuntu2404-fresh", files=elsewhere), "device-access")
    assert any("70-amdgpu.rules" in note for note in either.notes)
    assert not any(
        "70-amdgpu.rules" in note for note in step_of(plan_in("xtx-ubuntu2404-fresh"), "device-access").notes
    )
