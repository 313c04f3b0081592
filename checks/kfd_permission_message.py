"""A tool reports that this user is not allowed to open the GPU's device nodes.

Why
  /dev/kfd and /dev/dri/renderD* belong to the group render (older systems: video). A user who is not in it gets
  "Permission denied" while root works. In a container, what counts is the host's numeric group id, not the group's
  name.

Fix
  Add the user to the group that owns the node and log in again. For a container, pass the host's numeric group id with
  --group-add. On shared machines, ask the administrator. The NVIDIA nodes are open to everyone unless a module option
  says otherwise; in a podman container usually SELinux's label blocks them, as in containers/ramalama#619.

References
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html
  https://docs.docker.com/reference/cli/docker/container/run/
"""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.texts.pasted import first_value, in_container, in_wsl, said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error, not_applicable
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.shell_command import shell

_KIND, _ROOT = "kfd-permission", "works-as-root"
_LISTED, _FAILED = "tool-lists-gpu-as-root", ("runtime-init-failed", "no-hip-device", "kfd-absent")


@check(when_said(_KIND, _ROOT, _LISTED), cause="device-permission")
def kfd_permission_message(machine: Machine) -> Outcome:
    messages = said(machine, _KIND)
    if not messages and (listed := said(machine, _LISTED)) and (failed := said(machine, *_FAILED)):
        messages = (*failed[:1], *listed)
    if not messages:
        if not said(machine, _ROOT):
            return not_applicable("a tool that root started, and no failure as the user")
        if not said(machine, "mentions-gpu-tool"):
            return not_applicable("what works for root only is not a GPU tool")
        messages = said(machine, _ROOT)
    node = first_value(messages, "node") or "/dev/kfd"
    stated = next((one for one in machine.nodes if one.path == node), None)
    group = (value_or(stated.group, None) if stated is not None else None) or first_value(messages, "group", "group2")
    nvidia = "nvidia" in node
    group = group or ("" if nvidia else "render")
    denied = next((word for one in messages if (word := str(one.values.get("why", "")))), "Permission denied")
    if denied == "Operation not permitted" or in_container(machine):
        return _in_container(messages, node, denied, group)
    return error(
        f"This user is not allowed to open {node}: it is not in the group that owns the node"
        + (f" ({group}, on older systems video)." if not nvidia else f" ({group})." if group else "."),
        evidence=shown(messages),
        fix=Fix(
            f"Add the user to the group {group or 'of the node'} (also to video, if /dev/dri belongs to it) and log in "
            "again completely; do not make the node writable for everyone",
            command="" if nvidia else "sudo usermod -aG render,video $USER",
            joins=() if nvidia else ("render", "video"),
            safety="safe",
            effective="new-login",
            verify=shell("ls -l {node:path}; id; rocminfo | head", node=node),
        ),
        confidence="likely" if in_wsl(machine) or messages[0].kind != _KIND else "certain",
        explains=("hip-sees-no-gpu",),
    )


def _in_container(messages: Sequence[Message], node: str, denied: str, group: str) -> Outcome:
    nvidia = "nvidia" in node
    if denied == "Operation not permitted":
        own = "the device cgroup of the container refuses it"
    elif nvidia:
        own = "the label or the device cgroup of the container keeps it away, or its mode was changed"
    else:
        own = (
            f"the user inside the container is not in the host's {group} group, which owns it (the name inside the "
            "image may have another number)"
        )
    how = (
        "Pass the NVIDIA devices with --gpus all (podman: --device nvidia.com/gpu=all); where SELinux is enforcing add "
        "--security-opt=label=disable, or setsebool -P container_use_devices=true; rootless: no-cgroups = true in "
        "/etc/nvidia-container-runtime/config.toml"
        if nvidia
        else "Start the container with --device=/dev/kfd --device=/dev/dri and the host's numeric id of the group "
        "render: --group-add $(getent group render | cut -d: -f3), or for rootless podman --group-add keep-groups"
    )
    passed = "docker run --device=/dev/kfd --device=/dev/dri --group-add $(getent group render | cut -d: -f3) ..."
    return error(
        f"The process in the container is not allowed to open {node}: {own}.",
        evidence=shown(messages),
        fix=Fix(how, "" if nvidia else passed, "safe", verify=shell("ls -ln {node:path}; id", node=node)),
        cause="container-device-access",
        confidence="likely",
        explains=("device-permission", "device-node-denied", "hip-sees-no-gpu"),
    )
