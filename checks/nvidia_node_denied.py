"""The NVIDIA device nodes are there but cannot be used.

Why
  CUDA opens /dev/nvidiactl and /dev/nvidia-uvm. They are normally open to everyone; some sites give them to a group.
  A running container can lose them too: when systemd reloads its units on the host, device rules that the toolkit's
  old hook had set are dropped, and `nvidia-smi` says "Failed to initialize NVML: Unknown Error" from then on.

Fix
  Join the group that owns the nodes and log in again. In a container: restart it, and start it with CDI devices or
  with the nodes named by `--device`, which survive a reload.

References
  https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
  https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.access import (
    container_words,
    enclosure,
    in_job,
    is_there,
    joinable,
    node_at,
    opens,
    ruled_out,
)
from rocdoctor.insight.gpus.presence import is_driven, of_vendor
from rocdoctor.judging.check import Fix, Outcome, check, cite, error, info, machine_with_nvidia, not_applicable
from rocdoctor.model.change import joining
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import shell

_EXPLAINS = ("torch-gpu-count-mismatch", "torch-sees-no-gpu")


@check(machine_with_nvidia, cause="device-permission")
def nvidia_node_denied(machine: Machine) -> Outcome:
    if not any(is_driven(gpu) is not False for gpu in of_vendor(machine, "nvidia")):
        return not_applicable("no GPU here runs the NVIDIA driver")
    control, memory = node_at(machine, "/dev/nvidiactl"), node_at(machine, "/dev/nvidia-uvm")
    if control is None or not known(control.exists):
        # On bare metal nvidia-modprobe makes the nodes at the first use.
        return not_applicable("/dev/nvidiactl is not here")
    inside = enclosure(machine)
    refused = [node for node in (control, memory) if node is not None and opens(node) is False]
    if refused:
        names = " and ".join(node.path for node in refused)
        evidence = tuple(cite(node.access, f"{node.path}: {value_or(node.access, '')}") for node in refused)
        if all(ruled_out(node, machine.user) for node in refused):
            if inside is None and in_job(machine):
                return info(
                    f"A device rule (cgroup) keeps this job from {names}: it was given no GPU.",
                    evidence=evidence,
                    fix=Fix("Ask for a GPU when the job is started (Slurm --gres=gpu:1 or --gpus)", safety="manual"),
                )
            by_cdi = "docker run --device nvidia.com/gpu=all ..."
            return error(
                f"A device rule (cgroup) forbids {names}, although the file's permissions allow it: CUDA finds no GPU.",
                evidence=evidence,
                fix=Fix(
                    "Restart the container; start it with CDI devices so that they survive a reload of systemd on "
                    "the host",
                    command=by_cdi,
                    safety="safe",
                    verify="nvidia-smi",
                ),
                cause="container-device-access",
                explains=(*_EXPLAINS, "device-permission"),
            )
        group = value_or(refused[0].group, None)
        named = group is not None and not group.isdecimal() and joinable(group)
        where = "" if inside is None else f" in this {container_words(inside)}"
        return error(
            f"This user is not allowed to open {names}{where}{'' if group is None else f' (group {group})'}: CUDA "
            f"finds no GPU.",
            evidence=evidence,
            fix=Fix(
                f"Join the group that owns the nodes ({group or 'see ls -l /dev/nvidia*'}) and log in again"
                if named or group is None or group.isdecimal()
                else f"Give the nodes a different group than {group} (options nvidia NVreg_DeviceFileGID in "
                f"modprobe.d), "
                "join that one and log in again",
                command=shell("sudo usermod -aG {group:group} $USER", group=group) if named and group else "",
                joins=(group,) if named and group else (),
                safety="safe",
                effective="new-login",
                verify="nvidia-smi",
                changes=(joining((group,)),) if named and group and inside is None else (),
            ),
            cause="container-device-access" if inside else "",
            explains=(*_EXPLAINS, "device-permission") if inside else _EXPLAINS,
        )
    if inside and is_there(memory) is False and known(control.access) == "read-write":
        assert memory is not None
        return error(
            f"This {container_words(inside)} has /dev/nvidiactl but no /dev/nvidia-uvm: nvidia-smi works, CUDA does "
            "not "
            "start.",
            evidence=(cite(memory.exists, "no /dev/nvidia-uvm"), cite(control.exists, "/dev/nvidiactl")),
            fix=Fix(
                "Load nvidia-uvm on the host, then start the container again through the NVIDIA container toolkit",
                command="sudo nvidia-modprobe -u -c=0",
                safety="risky",
                verify="ls -l /dev/nvidia-uvm",
            ),
            cause="container-device-access",
            explains=(*_EXPLAINS, "device-permission"),
        )
    known(control.access)
    return None
