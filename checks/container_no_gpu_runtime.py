"""The container was started without the NVIDIA container runtime.

Why
  A container sees the machine's GPUs in /sys, but the device nodes (/dev/nvidiactl, /dev/nvidia0, /dev/nvidia-uvm)
  and the driver's libraries are added by the NVIDIA container toolkit when the container starts. Without it
  `nvidia-smi` is not found and torch.cuda.is_available() is False, although the host works.

Fix
  Install the toolkit on the host, and start the container with `--gpus all` (docker), `--device nvidia.com/gpu=all`
  (podman, CDI) or `--nv` (Apptainer). In Kubernetes, request nvidia.com/gpu. After a driver update, generate the CDI
  file again.

References
  https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
  https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.access import container_words, enclosure, is_there, node_at
from rocdoctor.insight.gpus.presence import is_driven, of_vendor, wants
from rocdoctor.judging.check import Fix, Outcome, check, cite, finding, machine_with_nvidia, not_applicable
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import CommandText

_START: dict[str, CommandText] = {
    "podman": "podman run --device nvidia.com/gpu=all ...",
    "singularity": "singularity exec --nv ...",
    "apptainer": "apptainer exec --nv ...",
}


@check(machine_with_nvidia, cause="container-device-access")
def container_no_gpu_runtime(machine: Machine) -> Outcome:
    if known(machine.container.kind) in ("none", "wsl"):
        return not_applicable("this is not a container")
    gpus = [gpu for gpu in of_vendor(machine, "nvidia") if is_driven(gpu) is not False]
    control = node_at(machine, "/dev/nvidiactl")
    if not gpus or control is None:
        return not_applicable("no NVIDIA driver or no device nodes in this evidence")
    if known(control.exists):
        return None
    kind = enclosure(machine) or "container"
    numbered = [node for node in machine.nodes if node.path.startswith("/dev/nvidia") and is_there(node)]
    if numbered:
        return not_applicable("some NVIDIA nodes are here")
    whose = "an NVIDIA GPU" if len(gpus) == 1 else f"{len(gpus)} NVIDIA GPUs"
    if kind == "kubernetes":
        fix = Fix(
            "Request a GPU in the pod (resources.limits nvidia.com/gpu: 1) on a cluster with the NVIDIA device plugin",
            verify="nvidia-smi",
        )
    else:
        fix = Fix(
            "Start the container through the NVIDIA container toolkit of the host",
            command=_START.get(kind, "docker run --gpus all ..."),
            safety="safe",
            verify="nvidia-smi",
        )
    # A container without CUDA in it may never have been meant for the GPU.
    return finding(
        "error" if wants(machine, "nvidia") else "info",
        f"This {container_words(kind)} has no /dev/nvidiactl, so CUDA and torch see no GPU; the machine has {whose}.",
        evidence=(cite(control.exists, "no /dev/nvidiactl"), cite(gpus[0].driver)),
        fix=fix,
        explains=("device-permission", "torch-gpu-count-mismatch", "torch-sees-no-gpu"),
    )
