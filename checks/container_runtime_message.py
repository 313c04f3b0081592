"""A container engine reports that it cannot give GPUs to the container.

Why
  Docker and podman need the NVIDIA container toolkit (its runtime or a CDI file) before "--gpus" or "nvidia.com/gpu"
  means anything. After an update of systemd or the driver, running containers can lose their devices ("NVML: Unknown
  Error"), and the CDI file must be generated again.

Fix
  Install nvidia-container-toolkit on the host, configure the engine with nvidia-ctk and restart it. A line of
  nvidia-container-cli shows that it is installed: then driver and toolkit (in WSL: Windows too) do not fit. If devices
  were lost, pass the nodes explicitly or set the cgroup driver as the toolkit's page describes, then restart the
  container.

References
  https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
  https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
  NVIDIA/libnvidia-container src/driver.c (driver_init)
"""

from __future__ import annotations

from rocdoctor.insight.software.installing import in_order, wanted
from rocdoctor.insight.texts.pasted import first_value, in_wsl, said, shown, vendors, when_said
from rocdoctor.judging.check import Finding, Fix, Outcome, check, error, warning
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.shell_command import ShellCommand

_RUNTIME = "container-gpu-runtime"
_LIBRARY = "container-driver-library"
_GROUP = "container-group-missing"
_PLUGIN = "device-plugin-without-runtime"


@check(when_said(_RUNTIME, _LIBRARY, _GROUP, _PLUGIN), cause="container-device-access")
def container_runtime_message(machine: Machine) -> Outcome:
    if missing := said(machine, _LIBRARY):
        return _no_driver(machine, missing)
    messages = said(machine, _RUNTIME)
    if not messages and (waiting := said(machine, _PLUGIN)):
        return _plugin(waiting)
    if not messages:
        return _no_group(said(machine, _GROUP))
    if vendors(machine) == {"amd"}:
        return error(
            "The container was asked for NVIDIA GPUs (--gpus), but this machine has an AMD GPU.",
            evidence=shown(messages),
            fix=Fix(
                "Pass the AMD device nodes instead of --gpus, and use an image for ROCm",
                command="docker run --device=/dev/kfd --device=/dev/dri --group-add "
                "$(getent group render | cut -d: -f3) rocm/pytorch",
                safety="safe",
            ),
            confidence="likely",
        )
    if any("cgroup" in one.values for one in messages):
        return error(
            "The container can no longer open the NVIDIA devices (NVML: Unknown Error): a reload of systemd on "
            "the host rewrote the container's device cgroup.",
            evidence=shown(messages),
            fix=Fix(
                "Restart the container; to keep it from happening again, pass the device nodes explicitly (--device "
                "/dev/nvidia0 --device /dev/nvidiactl --device /dev/nvidia-uvm), use CDI, or set no-cgroups = false in "
                "the toolkit's config.toml and the cgroupfs driver in Docker",
                command="docker restart CONTAINER",
                safety="risky",
            ),
            confidence="likely",
            explains=("nvidia-smi-failed",),
        )
    if all("step" in one.values for one in messages):
        return _set_up_failed(machine, messages)
    cdi = any("cdi" in one.values for one in messages)
    what = "no CDI description of the GPUs" if cdi else "no NVIDIA runtime"
    toolkit = wanted(machine, "nvidia-container-toolkit", host=True)
    return error(
        f"The container engine has {what}: nvidia-container-toolkit is not installed or not configured on the host.",
        evidence=shown(messages),
        fix=Fix(
            f"Install {toolkit.words} on the host, configure the engine and restart it"
            + ("; generate the CDI file again after each driver update" if cdi else ""),
            command="sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
            if cdi
            else in_order(
                toolkit.command,
                ShellCommand("sudo nvidia-ctk runtime configure --runtime=docker"),
                ShellCommand("sudo systemctl restart docker"),
            ),
            safety="safe" if cdi else "risky",
            verify="docker run --rm --gpus all ubuntu nvidia-smi",
        ),
        confidence="likely",
        explains=("missing-shared-library",),
    )


def _set_up_failed(machine: Machine, messages: tuple[Message, ...]) -> Finding:
    """What the toolkit itself prints: it is installed, and the engine uses it."""
    why = f"{first_value(messages, 'step')} error: {first_value(messages, 'why')}"
    if in_wsl(machine):
        return error(
            f"The NVIDIA container toolkit is there, but cannot use the driver of Windows from WSL ({why}): Windows, "
            "its NVIDIA driver, WSL and the toolkit (or Docker Desktop) are not compatible with each other.",
            evidence=shown(messages),
            fix=Fix(
                "Update Windows (no preview build), the NVIDIA driver in Windows, WSL (wsl --update, then "
                "wsl --shutdown) and Docker Desktop or the toolkit; the distribution must be WSL 2, and nvidia-smi "
                "has to work in it first",
                command="nvidia-smi; ls -l /dev/dxg /usr/lib/wsl/lib",
                verify="docker run --rm --gpus all ubuntu nvidia-smi",
            ),
            cause="wsl-unsupported",
            confidence="likely",
            explains=("container-device-access", "missing-shared-library"),
        )
    return error(
        f"The NVIDIA container toolkit is installed, but failed to pass the GPU to the container ({why}).",
        evidence=shown(messages),
        fix=Fix(
            "nvidia-smi has to work on the host first: after an update of the driver, reboot. Then update the toolkit "
            "(nvidia-container-toolkit, libnvidia-container1), or use CDI; its log says more (debug= in "
            "/etc/nvidia-container-runtime/config.toml)",
            command="nvidia-smi; ls -l /dev/nvidia*",
            verify="docker run --rm --gpus all ubuntu nvidia-smi",
        ),
        confidence="likely",
        explains=("missing-shared-library",),
    )


def _plugin(messages: tuple[Message, ...]) -> Finding:
    return warning(
        "The device plugin of Kubernetes sees no NVIDIA driver from its container: on a node with GPUs the container "
        "runtime of that node does not use nvidia-container-runtime.",
        evidence=shown(messages),
        fix=Fix(
            "On a node with GPUs install nvidia-container-toolkit, configure containerd or CRI-O with it as the "
            "default runtime (or give the pod runtimeClassName: nvidia) and restart it; "
            "a node without GPUs needs no plugin",
            command="sudo nvidia-ctk runtime configure --runtime=containerd --set-as-default; "
            "sudo systemctl restart containerd",
            verify="kubectl describe node NODE | grep nvidia.com/gpu",
        ),
        confidence="possible",
    )


def _no_group(messages: tuple[Message, ...]) -> Finding:
    group = first_value(messages, "group")
    rootless = any("rootless" in one.values for one in messages)
    if rootless:
        text = "A rootless container cannot be given additional groups by name: it can only keep those of the caller."
    elif group == "keep-groups":
        text = "keep-groups is an option of rootless podman with crun; this engine reads it as a group name."
    else:
        text = f"The image has no group named {group}: --group-add looks for names in the /etc/group of the image."
    return error(
        text,
        evidence=shown(messages),
        fix=Fix(
            "Use --group-add keep-groups alone (podman with crun), and be a member of the node's group on the host"
            if rootless
            else "Give the number that the group has on the host instead of its name",
            command="podman run --group-add keep-groups --device=/dev/kfd --device=/dev/dri ..."
            if rootless
            else "docker run --device=/dev/kfd --device=/dev/dri --group-add $(getent group render | cut -d: -f3) ...",
            safety="safe",
            verify="ls -ln /dev/kfd /dev/dri; id",
        ),
        confidence="certain",
        explains=("device-permission",),
    )


def _no_driver(machine: Machine, messages: tuple[Message, ...]) -> Finding:
    wsl = in_wsl(machine)
    return error(
        "The NVIDIA container toolkit finds no driver library (libnvidia-ml.so.1) on the host: the driver is not "
        "installed there" + (", or Docker cannot see the Windows driver's libraries." if wsl else "."),
        evidence=shown(messages),
        fix=Fix(
            "Install the NVIDIA driver on the host (nvidia-smi must work there first)"
            + ("; inside WSL install the driver in Windows, not in WSL" if wsl else "")
            + "; a Docker from snap or Docker Desktop cannot see the host's driver",
            command="nvidia-smi; ldconfig -p | grep nvidia-ml",
        ),
        cause="kernel-module-not-loaded",
        confidence="likely",
        explains=("missing-shared-library",),
    )
