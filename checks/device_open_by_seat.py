"""The GPU is open to this user only while logged in at the machine itself.

Why
  udev gives some device nodes the tag `uaccess`: systemd-logind then opens them, by an access list, to whoever is
  active at the machine's own screen and keyboard (its seat), and takes that back at logout or when another user's
  session becomes active. A job that was started over ssh, by cron, a service or a batch scheduler has no seat: it sees
  no GPU, or loses it in the middle of a run, although the same command works on the desktop.

Fix
  Join the group that owns the node (usually `render`): that applies to every session.

References
  https://github.com/systemd/systemd/blob/main/src/login/70-uaccess.rules.in
  https://www.freedesktop.org/software/systemd/man/latest/sd-login.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.access import (
    KFD,
    allowed_by_mode,
    enclosure,
    given_by_seat,
    joinable,
    node_at,
    opens,
    render_nodes,
)
from rocdoctor.insight.gpus.presence import kfd_path, of_vendor
from rocdoctor.judging.check import Fix, Outcome, check, cite, info, not_applicable, whole_machine
from rocdoctor.model.change import joining
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import shell


@check(whole_machine, cause="device-permission")
def device_open_by_seat(machine: Machine) -> Outcome:
    kfd = node_at(machine, KFD)
    nodes = [*([kfd] if kfd is not None else []), *render_nodes(machine, "amd")]
    gpus = [gpu for gpu in of_vendor(machine, "amd") if kfd_path(gpu) is not False]
    if not gpus or enclosure(machine) is not None or not any(opens(node) for node in nodes):
        return not_applicable("no AMD GPU whose device nodes this user opens on the machine itself")
    if any(opens(node) is False for node in nodes):
        return not_applicable("some of its device nodes are closed to this user now")
    known(machine.user.groups)
    without_group = [node for node in nodes if opens(node) and allowed_by_mode(node, machine.user) is False]
    for node in without_group:
        known(node.udev.tags)
    seated = [node for node in without_group if given_by_seat(node)]
    if not seated:
        return None
    first = seated[0]
    group, seat = value_or(first.group, ""), value_or(first.udev.seat, "its seat")
    paths = " and ".join(node.path for node in seated[:2])
    return info(
        f"This user can open {paths} only through a login at the machine itself ({seat}): "
        "over ssh, from cron, in services and in batch jobs the GPU is closed to the same user.",
        evidence=[
            cite(first.udev.tags, f"udev tags of {first.path}: {', '.join(value_or(first.udev.tags, ()))}"),
            cite(first.group, f"{value_or(first.mode, '')} group {group}".strip()),
            cite(machine.user.groups, "this user is not in that group"),
        ],
        fix=_fix(list(dict.fromkeys(known(node.group) for node in seated))),
    )


def _fix(groups: list[str]) -> Fix:
    verify = "id -nG; rocdoctor check device-open-by-seat"
    if any(group.isdecimal() or not joinable(group) for group in groups):
        return Fix(
            "Give the node to the render group with a udev rule, join that group and log in again",
            effective="new-login",
            verify=verify,
        )
    return Fix(
        f"Add the user to the group that owns the node ({', '.join(groups)}), then log out and in again",
        command=shell("sudo usermod -aG {groups:groups} $USER", groups=",".join(groups)),
        safety="safe",
        effective="new-login",
        verify=verify,
        changes=(joining(groups),),
        joins=tuple(groups),
    )
