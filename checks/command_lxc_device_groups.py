"""An LXC container's configuration gives the nodes of one AMD GPU to different groups.

Why
  A ROCm program opens /dev/kfd and the render nodes; inside the container its user has to be in the groups that own
  them there. Proxmox gives each node the group of its line (devN: /dev/kfd,gid=N). If only one of the two kinds has
  the number of the container's render group, Vulkan (which opens only render nodes) works and HIP does not, or neither
  works.

Fix
  Give /dev/kfd and every /dev/dri/renderD* the number of the render group inside the container (getent group render);
  the card* nodes belong to video.

References
  https://pve.proxmox.com/pve-docs/pct.1.html
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.commands import shown_command, when_commands
from rocdoctor.judging.check import Finding, Fix, Outcome, check, error
from rocdoctor.model.facts import CommandLine, Machine
from rocdoctor.model.shell_command import shell


@check(when_commands("lxc"), cause="container-device-access")
def command_lxc_device_groups(machine: Machine) -> Outcome:
    found = [_of(box) for box in machine.commands if box.program == "lxc"]
    return next((one for one in found if one is not None), None)


def _of(box: CommandLine) -> Finding | None:
    pairs = [one.rpartition("=") for one in box.options.get("gid", ())]
    groups = {node: gid for node, _, gid in pairs}
    rendering = sorted({gid for node, gid in groups.items() if node.startswith("/dev/dri/renderD")})
    if len(rendering) != 1 or not any(node == "/dev/kfd" for node in box.options.get("device", ())):
        return None
    (wanted,) = rendering
    kfd = groups.get("/dev/kfd")
    if kfd == wanted:
        return None
    has = f"the group {kfd}" if kfd is not None else "no group of the container (root only)"
    return error(
        f"The configuration gives /dev/kfd to {has} and the render nodes to the group {wanted}: a user of the render "
        "group may open the render nodes, but not /dev/kfd, which ROCm needs.",
        evidence=shown_command(box),
        fix=Fix(
            f"Give /dev/kfd the number of the container's render group, as for the render nodes: devN: "
            f"/dev/kfd,gid={wanted} (getent group render, inside), and restart the container; card* nodes belong to "
            "video",
            command=shell("getent group render video; ls -ln /dev/kfd /dev/dri; id"),
            safety="safe",
        ),
        confidence="likely",
        explains=("device-permission",),
    )
