"""The user is in the GPU's group, but this session does not have the group yet.

Why
  Groups are given to a session at login. After `usermod -aG render` every running shell, tmux server, notebook server
  and desktop session keeps its old groups, so the GPU stays closed there although /etc/group is right.

Fix
  Log out completely and in again (or reboot). `newgrp render` starts one shell with the group.

References
  https://man7.org/linux/man-pages/man1/newgrp.1.html
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.access import KFD, RENDER, opens, ruled_out
from rocdoctor.judging.check import Fix, Outcome, check, cite, not_applicable, warning, whole_machine
from rocdoctor.model.evidence import Known, known
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import shell


@check(whole_machine, cause="device-permission")
def group_not_active(machine: Machine) -> Outcome:
    nodes = [node for node in machine.nodes if node.path == KFD or node.path.startswith((RENDER, "/dev/nvidia"))]
    closed = [node for node in nodes if opens(node) is False and not ruled_out(node, machine.user)]
    if not closed:
        return not_applicable("no device node is closed to this user")
    active, granted = known(machine.user.groups), known(machine.user.login_groups)
    owners = [node.group for node in closed if isinstance(node.group, Known)]
    late = [group for group in owners if group.value in granted and group.value not in active]
    if not late:
        return None
    name = late[0].value
    return warning(
        f"The user is in the {name} group, but this session was started before that and does not have it.",
        evidence=[cite(machine.user.login_groups, f"next login: {name}"), cite(machine.user.groups, "now: without it")],
        fix=Fix(
            "Log out completely (also tmux, screen and notebook servers) and in again",
            command=shell("newgrp {name:group}", name=name),
            safety="safe",
            effective="new-login",
            verify="id -nG",
        ),
    )
