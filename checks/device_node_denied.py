"""This user is not allowed to open the AMD GPU's device nodes.

Why
  ROCm works through /dev/kfd and a render node (/dev/dri/renderD128 and up). Both belong to a group, usually `render`,
  and are closed to everyone else. A user who is not in that group sees no GPU: `rocminfo` says "Permission denied" or
  HSA_STATUS_ERROR_OUT_OF_RESOURCES, torch.cuda.is_available() is False, while the same command works as root. In a
  container, what counts is the group's number, not its name, and images use different numbers for the same names.

Fix
  Join the group that owns the node and log in again (a running session, tmux or notebook keeps its old groups). For a
  container, pass the host's group by number: `--group-add $(stat -c %g /dev/kfd)`. Rootless podman uses `--group-add
  keep-groups`. If udev gives a node the tag `uaccess`, it is also open to whoever is logged in at the machine's own
  screen and keyboard (its seat); an ssh session, a service or a batch job has no seat, so there only the group helps.
  Do not make the nodes writable for everyone, and do not train as root.

References
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
  https://docs.podman.io/en/latest/markdown/podman-run.1.html
  https://pve.proxmox.com/pve-docs/pct.1.html
  https://documentation.ubuntu.com/lxd/stable-5.0/reference/devices_unix_char/
  https://github.com/systemd/systemd/blob/main/src/login/70-uaccess.rules.in
"""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.gpus.access import (
    KFD,
    OVERFLOW,
    container_words,
    enclosure,
    given_by_seat,
    in_job,
    is_rootless,
    is_there,
    is_wsl,
    joinable,
    node_at,
    opens,
    render_nodes,
    ruled_out,
    session_seat,
)
from rocdoctor.insight.gpus.presence import (
    count_words,
    is_driven,
    is_integrated,
    kfd_path,
    of_vendor,
    wants,
    worst_harm,
)
from rocdoctor.insight.gpus.rocm_packages import trains_nothing
from rocdoctor.insight.software.torch_stack import for_training
from rocdoctor.judging.check import (
    Evidence,
    Fix,
    Outcome,
    Severity,
    check,
    cite,
    finding,
    info,
    not_applicable,
    whole_machine,
)
from rocdoctor.model.change import Change, joining
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import DeviceNode, Machine
from rocdoctor.model.shell_command import ShellCommand, fits, shell

_LXC = "pct set ID -dev0 /dev/kfd,gid=GID -dev1 /dev/dri/renderD128,gid=GID"
_EXPLAINS = ("torch-gpu-count-mismatch", "torch-sees-no-gpu", "group-not-active")


@check(whole_machine, cause="device-permission")
def device_node_denied(machine: Machine) -> Outcome:
    gpus = [gpu for gpu in of_vendor(machine, "amd") if kfd_path(gpu) is not False]
    if is_wsl(machine) or (machine.gpus_complete and not gpus):
        return not_applicable("no AMD GPU that is used through /dev/kfd")
    kfd = node_at(machine, KFD)
    render = [node for node in render_nodes(machine, "amd") if is_there(node)]
    refused = [node for node in (kfd,) if node is not None and opens(node) is False]
    tried = [opens(node) for node in render]
    # A job gets the render nodes of its own GPUs: closed ones matter only where none is open.
    if tried and not any(said is not False for said in tried):
        refused += render
    if not refused:
        if kfd is None:
            return not_applicable("no device node of an AMD GPU in this evidence")
        if not known(kfd.exists):
            return not_applicable("/dev/kfd is not here")
        known(kfd.access)
        return None
    evidence = [cite(node.access, f"{node.path}: {value_or(node.access, '')}") for node in refused[:4]]
    evidence += [
        cite(node.group, f"{node.path} {_owner(node)}") for node in refused[:1] if isinstance(node.group, Known)
    ]
    if all(ruled_out(node, machine.user) for node in refused):
        return _rule(machine, refused, evidence)
    evidence += [
        cite(node.udev.tags, f"udev tags of {node.path}: {', '.join(value_or(node.udev.tags, ()))}")
        for node in refused[:1]
        if given_by_seat(node)
    ]
    driven = [gpu for gpu in gpus if is_driven(gpu) is not False]
    severity: Severity = worst_harm(machine, driven) if driven else "error"
    if severity != "error" and not any(is_driven(gpu) for gpu in of_vendor(machine, "nvidia")):
        if wants(machine, "amd") or any(for_training(gpu) and is_integrated(gpu) for gpu in driven):
            severity = "error"
        elif all(is_integrated(gpu) for gpu in driven):
            severity = "info"
    if driven and all(trains_nothing(gpu) for gpu in driven):
        severity = "info"
    inside = enclosure(machine)
    place = "" if inside is None else f" in this {container_words(inside)}"
    group = _group(refused)
    return finding(
        severity,
        f"This user is not allowed to open {_paths(refused)}{place}, so ROCm and torch see no GPU: "
        f"{_reason(group, len(refused))}.",
        evidence=tuple(evidence),
        fix=_container_fix(machine, inside) if inside else _host_fix(machine, refused, group),
        cause="container-device-access" if inside else "",
        explains=(*_EXPLAINS, "device-permission") if inside else _EXPLAINS,
        confidence="certain" if group else "likely",
    )


def _paths(nodes: Sequence[DeviceNode]) -> str:
    kfd = [node.path for node in nodes if node.path == KFD]
    render = [node.path for node in nodes if node.path != KFD]
    if len(render) > 2:
        render = [f"the {count_words(len(render), 'render node')} of its GPUs"]
    return " and ".join(kfd + render)


def _owner(node: DeviceNode) -> str:
    mode = value_or(node.mode, "")
    return f"{mode} group {value_or(node.group, 'unknown')}".strip()


def _reason(group: str | None, nodes: int) -> str:
    it = "it" if nodes == 1 else "them"
    if group is None:
        return f"the user is not in the group that owns {it} (usually the render group)"
    if group in OVERFLOW:
        return f"the render group that owns {it} is not mapped into the container (it shows as {group})"
    if group in ("root", "0"):
        return f"{'it belongs' if nodes == 1 else 'they belong'} to root only, not to the render group"
    return f"the user is not in {f'group {group}' if group.isdecimal() else f'the {group} group'}, which owns {it}"


def _group(nodes: Sequence[DeviceNode]) -> str | None:
    found = [node.group.value for node in nodes if isinstance(node.group, Known)]
    return found[0] if found else None


def _host_fix(machine: Machine, nodes: Sequence[DeviceNode], group: str | None) -> Fix:
    verify = "id -nG; rocdoctor check device-node-denied"
    if group is not None and group in value_or(machine.user.login_groups, ()):
        return Fix(
            f"You are in the {group} group already, but this session is older: log out completely (also tmux, "
            "screen and notebook servers) and in again",
            command=shell("newgrp {group:group}", group=group),
            safety="safe",
            effective="new-login",
            verify=verify,
        )
    names = list(dict.fromkeys(value_or(node.group, "render") for node in nodes if opens(node) is False))
    mighty = not all(joinable(name) for name in names if not name.isdecimal())
    if mighty or group in ("0", *OVERFLOW):
        rule = 'SUBSYSTEM=="kfd", GROUP="render", MODE="0660"'
        return Fix(
            f"Give the nodes to the render group with a udev rule ({rule}), join that group and log in again",
            command="sudo usermod -aG render $USER",
            joins=("render",),
            effective="new-login",
            verify=verify,
        )
    if group is not None and group.isdecimal():
        return Fix(
            f"Join the group with the number {group} on this machine (it has no name here) and log in "
            "again; on a shared machine ask the administrator",
            effective="new-login",
            verify=verify,
        )
    if value_or(machine.os.id, "") == "nixos":
        return Fix(
            f"Add {', '.join(names)} to users.users.<name>.extraGroups, rebuild the system and log in again",
            command="sudo nixos-rebuild switch",
            effective="new-login",
            verify=verify,
        )
    # The evidence may come out of a container without showing it.
    hint = "" if isinstance(machine.container.kind, Known) else "; in a container pass the group's number (--group-add)"
    owner = f"{' and '.join(names)} group, which owns {nodes[0].path}"
    if group is None:
        owner = f"group that owns {nodes[0].path} (usually render; ls -l shows it)"
    return Fix(
        f"Add the user to the {owner}, then log out and in again{hint}{_seat_words(machine, nodes)}",
        command=shell("sudo usermod -aG {groups:groups} $USER", groups=",".join(names)),
        joins=tuple(names) if all(fits(name, "group") for name in names) else (),
        safety="safe",
        effective="new-login",
        verify=verify,
        changes=_joining(nodes, names),
    )


def _seat_words(machine: Machine, nodes: Sequence[DeviceNode]) -> str:
    """What else opens the nodes: a login at the machine itself, where udev grants that."""
    seats = {value_or(node.udev.seat, "") if given_by_seat(node) else "" for node in nodes}
    if len(seats) != 1 or not all(seats):
        return ""
    (seat,) = seats
    here = session_seat(machine)
    if here == seat:
        return f". udev opens them without the group too, to the active session of {seat}: this one was not active"
    where = "ssh sessions, services and jobs are" if here is None else "this session is"
    return f". Without the group, udev opens them to whoever is logged in at the machine itself ({seat}); {where} not"


def _joining(nodes: Sequence[DeviceNode], names: Sequence[str]) -> tuple[Change, ...]:
    """Joining the groups, where each is known by its name."""
    owners = [node.group for node in nodes if opens(node) is False]
    named = all(isinstance(one, Known) and not one.value.isdecimal() for one in owners)
    return (joining(names),) if named and all(map(joinable, names)) else ()


def _container_fix(machine: Machine, kind: str) -> Fix:
    numbers = ShellCommand("--group-add $(stat -c %g /dev/kfd) --group-add $(stat -c %g /dev/dri/renderD128)")
    devices = ShellCommand("--device=/dev/kfd --device=/dev/dri")
    verify = "rocminfo"
    if kind == "lxc":
        return Fix(
            "On the host, give the nodes to the render group of the container. GID is the number of that group inside "
            "(getent group render). On Proxmox, ID is the container's number, and every render node needs its own "
            "-devN; with Incus or LXD, set the option gid of each node's unix-char device. Then restart the container",
            command=_LXC,
            safety="safe",
            verify=verify,
        )
    if kind == "systemd-nspawn":
        return Fix(
            "Map the number of the host's render group into the container, or give the nodes to one of its groups "
            "(gid= of the container's device entry)",
            verify=verify,
        )
    if is_rootless(machine):
        return Fix(
            "Your groups on the host are not mapped into this rootless container. On the host, join the render group "
            "(sudo usermod -a -G render NAME), log in again, and start the container so that it keeps your groups "
            "(podman with crun; with docker use the root daemon, or map the group with userns)",
            command=shell("podman run {devices} --group-add keep-groups ...", devices=devices),
            safety="safe",
            verify=verify,
        )
    if kind == "kubernetes":
        return Fix(
            "Set securityContext.supplementalGroups of the pod to the number of the host's render group "
            "(stat -c %g /dev/kfd on the node), and request the GPU as amd.com/gpu",
            verify=verify,
        )
    if kind in ("singularity", "apptainer"):
        return Fix(
            "The container runs with your own groups: join the host's render group, log in again and start it "
            "with "
            "--rocm",
            command="sudo usermod -aG render $USER",
            joins=("render",),
            safety="safe",
            effective="new-login",
            verify=verify,
        )
    program = "podman" if kind == "podman" else "docker"
    return Fix(
        "Start the container with the host's group numbers; inside the image, names such as "
        "render have different numbers",
        command=shell("{program} run {devices} {numbers} ...", program=program, devices=devices, numbers=numbers),
        safety="safe",
        verify=verify,
    )


def _rule(machine: Machine, refused: Sequence[DeviceNode], evidence: Sequence[Evidence]) -> Outcome:
    paths, inside = _paths(refused), enclosure(machine)
    if inside is None and (in_job(machine) or value_or(machine.container.kind, None) is None):
        return info(
            f"A device rule (cgroup) keeps this job from {paths}: it was given no AMD GPU.",
            evidence=evidence,
            fix=Fix(
                "If the job should have a GPU, ask the scheduler for one",
                command="srun --gpus=1 --pty bash" if "SLURM_JOB_ID" in machine.environment.variables else "",
                verify="rocminfo",
            ),
        )
    return finding(
        "error" if inside and wants(machine, "amd") else "info" if inside else "warning",
        f"A device rule (cgroup) forbids {paths}, although the file's permissions allow it, so ROCm and torch see no "
        "GPU.",
        evidence=tuple(evidence),
        fix=Fix(
            "Start the container with the devices passed by option: nodes that were made or mounted in by hand stay "
            "closed",
            command="docker run --device=/dev/kfd --device=/dev/dri ...",
            safety="safe",
            verify="rocminfo",
        ),
        cause="container-device-access",
        explains=(*_EXPLAINS, "device-permission"),
    )
