"""The container was started without the AMD GPU's device nodes.

Why
  A container sees the machine's GPUs in /sys, but can use them only through /dev/kfd and the render nodes in
  /dev/dri, which have to be passed in when it starts. Without them `rocminfo` finds no GPU and
  torch.cuda.is_available() is False. /dev/kfd alone is not enough: ROCm opens the render node of each GPU as well.

Fix
  Start the container with `--device=/dev/kfd --device=/dev/dri` (and the group numbers that own them). In Kubernetes,
  request the resource amd.com/gpu; Apptainer and Singularity have `--rocm`.

References
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
  https://github.com/ROCm/k8s-device-plugin
"""

from __future__ import annotations

from rocdoctor.insight.gpus.access import KFD, RENDER, container_words, enclosure, is_there, node_at
from rocdoctor.insight.gpus.presence import is_driven, kfd_path, of_vendor, wants
from rocdoctor.judging.check import Fix, Outcome, Severity, check, cite, finding, machine_with_amd, not_applicable
from rocdoctor.model.evidence import Known, known
from rocdoctor.model.facts import DeviceNode, Machine
from rocdoctor.model.shell_command import ShellCommand, shell

_EXPLAINS = ("device-permission", "kfd-missing", "torch-gpu-count-mismatch", "torch-sees-no-gpu")


@check(machine_with_amd, cause="container-device-access")
def device_node_missing(machine: Machine) -> Outcome:
    if known(machine.container.kind) in ("none", "wsl"):
        return not_applicable("this is not a container")
    gpus = [gpu for gpu in of_vendor(machine, "amd") if kfd_path(gpu) is not False and is_driven(gpu) is not False]
    if not gpus:
        return not_applicable("no AMD GPU here has a driver that ROCm could use")
    kfd = node_at(machine, KFD)
    render = [node for node in machine.nodes if node.path.startswith(RENDER)]
    missing: list[DeviceNode] = [kfd] if kfd is not None and is_there(kfd) is False else []
    if render and all(is_there(node) is False for node in render):
        missing.append(render[0])
    if not missing:
        if kfd is not None:
            known(kfd.exists)
        return None if kfd is not None else not_applicable("no device nodes in this evidence")
    kind = enclosure(machine) or "container"
    # A container that has nothing of ROCm in it may never have been meant for the GPU.
    severity: Severity = "error" if wants(machine, "amd") else "info"
    nodes = [KFD] if is_there(kfd) is False else []
    nodes += ["render nodes in /dev/dri"] if len(missing) > len(nodes) else []
    whose = "an AMD GPU" if len(gpus) == 1 else f"{len(gpus)} AMD GPUs"
    return finding(
        severity,
        f"This {container_words(kind)} has no {' and no '.join(nodes)}, so ROCm and torch see no GPU; the machine has "
        f"{whose}.",
        evidence=tuple(cite(node.exists, f"no {node.path}") for node in missing)
        + tuple(cite(gpus[0].driver) for _ in (0,) if isinstance(gpus[0].driver, Known)),
        fix=_fix(kind),
        explains=_EXPLAINS,
    )


def _fix(kind: str) -> Fix:
    if kind == "kubernetes":
        return Fix(
            "Request a GPU in the pod (resources.limits amd.com/gpu: 1) on a cluster with AMD's device plugin",
            verify="ls -l /dev/kfd /dev/dri",
        )
    if kind in ("singularity", "apptainer"):
        return Fix(
            "Start the container with the GPU option",
            command=shell("{kind} exec --rocm ...", kind=kind),
            safety="safe",
            verify="ls -l /dev/kfd /dev/dri",
        )
    if kind in ("lxc", "systemd-nspawn"):
        return Fix(
            "Pass /dev/kfd and /dev/dri into the container in its configuration on the host",
            verify="ls -l /dev/kfd /dev/dri",
        )
    program = "podman" if kind == "podman" else "docker"
    groups = ShellCommand("--group-add keep-groups" if program == "podman" else "--group-add $(stat -c %g /dev/kfd)")
    return Fix(
        "Start the container with the GPU's device nodes",
        command=shell("{program} run --device=/dev/kfd --device=/dev/dri {groups} ...", program=program, groups=groups),
        safety="safe",
        verify="ls -l /dev/kfd /dev/dri",
    )
