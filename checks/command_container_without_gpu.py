"""A container was started without the machine's GPU.

Why
  A container has no GPU unless its command gives it one. For AMD these are the nodes /dev/kfd and /dev/dri, and the
  groups that own them; docker's `--gpus` calls NVIDIA's toolkit and does nothing for AMD GPUs. For NVIDIA it is
  `--gpus`, the runtime or a CDI device. In Apptainer it is `--rocm` or `--nv`, in Kubernetes a resource in the
  container's limits.

Fix
  Start the container again with the options that the finding names. Group names are those of the image, so give the
  number that the group has on the host; rootless podman keeps the caller's groups with `--group-add keep-groups`.

References
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
  https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
  https://apptainer.org/docs/user/latest/gpu.html
  https://apptainer.org/docs/user/main/appendix.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.commands import (
    CONTAINERS,
    NO_GPU,
    meant_for,
    misses_gpu,
    opens_amd,
    opens_nvidia,
    outermost,
    shown_command,
    when_commands,
)
from rocdoctor.insight.texts.pasted import in_wsl, said, shown
from rocdoctor.judging.check import Evidence, Finding, Fix, Outcome, check, error
from rocdoctor.model.facts import CommandLine, Machine
from rocdoctor.model.shell_command import CommandText

_SWITCHES = tuple(f"{name}_{option}" for name in ("APPTAINER", "SINGULARITY") for option in ("NV", "NVCCLI", "ROCM"))
_DENIED = ("kfd-permission", "device-denied-in-container")
_EXPLAINS = (
    "kernel-module-not-loaded",
    "device-permission",
    "wrong-backend-build",
    "driver-too-old",
    "gpu-not-supported",
    "torch-sees-no-gpu-message",
)
_AMD_DOCKER: CommandText = (
    "docker run --device=/dev/kfd --device=/dev/dri --group-add $(getent group render | cut -d: -f3) IMAGE"
)
_AMD_START: dict[str, CommandText] = {
    "apptainer": "apptainer exec --rocm IMAGE rocminfo",
    "kubernetes": "kubectl describe node | grep amd.com/gpu",
    "compose": "ls -ln /dev/kfd /dev/dri",
    "podman": "podman run --group-add keep-groups --device=/dev/kfd --device=/dev/dri IMAGE",
}
_NVIDIA_START: dict[str, CommandText] = {
    "apptainer": "apptainer exec --nv IMAGE nvidia-smi",
    "kubernetes": "kubectl describe node | grep nvidia.com/gpu",
    "podman": "podman run --device nvidia.com/gpu=all IMAGE nvidia-smi",
    "compose": "docker compose config",
}


@check(when_commands(*CONTAINERS), cause="container-device-access")
def command_container_without_gpu(machine: Machine) -> Outcome:
    if in_wsl(machine):
        return None  # there GPUs come by /dev/dxg or through Docker Desktop
    boxes = [box for box in outermost(machine) if _asks(machine, box)]
    found = [one for box in boxes if (one := _of(machine, box)) is not None]
    # A text that shows one container with the GPU and one without compares them.
    return found[:1] if found and len(found) == len(boxes) else None


def _asks(machine: Machine, box: CommandLine) -> bool:
    """Whether the options of this command decide whether a GPU is passed in."""
    if not box.image or box.image.startswith("instance://"):  # the start of an instance decides
        return False
    return box.program == "apptainer" or bool(meant_for(machine, box))


def _by_variable(machine: Machine, box: CommandLine) -> bool:
    """Whether a variable stands for --nv or --rocm: each option of Apptainer can be set so."""
    return any(name in box.environment or name in machine.environment.variables for name in _SWITCHES)


def _of(machine: Machine, box: CommandLine) -> Finding | None:
    if box.program == "apptainer" and (
        _by_variable(machine, box) or (not meant_for(machine, box) and opens_amd(box) != "none")
    ):
        return None
    if meant_for(machine, box) == "amd":
        given = opens_amd(box)
        if box.program not in ("apptainer", "kubernetes") and given == "none" and "gpus" in box.options:
            return _nvidia_option(machine, box)
        if given == "all":
            return _closed(machine, box)
        lacking = box.complete and misses_gpu(machine)
        return _amd(machine, box, given == "part") if lacking else None
    if not opens_nvidia(box) and box.complete and misses_gpu(machine):
        return _nvidia(machine, box) if meant_for(machine, box) else _either(machine, box)
    return None


def _evidence(machine: Machine, box: CommandLine, *kinds: str) -> tuple[Evidence, ...]:
    return (*shown_command(box), *shown(said(machine, *kinds))[:1])


def _nvidia_option(machine: Machine, box: CommandLine) -> Finding:
    return error(
        "The container was started with --gpus, which asks for NVIDIA GPUs, and without /dev/kfd and /dev/dri: it has "
        "no AMD GPU.",
        evidence=_evidence(machine, box, *NO_GPU),
        fix=Fix(
            "Leave --gpus out and pass the AMD device nodes /dev/kfd and /dev/dri with the group that owns them",
            command=_AMD_DOCKER,
            safety="safe",
        ),
        confidence="likely",
        explains=(*_EXPLAINS, "container-runtime-message"),
    )


def _amd(machine: Machine, box: CommandLine, part: bool) -> Finding:
    devices = box.options.get("device", ())
    missing = "/dev/dri" if part and any("kfd" in one for one in devices) else "/dev/kfd" if part else ""
    what = {
        "apptainer": "without --rocm, so it has neither /dev/kfd nor the render nodes",
        "kubernetes": "without an amd.com/gpu in its resource limits, so it has no /dev/kfd",
    }.get(box.program, f"without {missing or '/dev/kfd and /dev/dri'}")
    way = {
        "apptainer": "Start it with --rocm, which passes in /dev/kfd, /dev/dri and the host's ROCm libraries",
        "kubernetes": "Request amd.com/gpu: 1 in the limits of the container, on a cluster with AMD's device plugin",
        "compose": "Give the service devices: [/dev/kfd, /dev/dri] and group_add with the numbers of the groups that "
        "own them on the host",
    }.get(
        box.program,
        "Pass both kinds of nodes, --device=/dev/kfd --device=/dev/dri, and --group-add with the number of the group "
        "that owns them on the host",
    )
    return error(
        f"The container was started {what}: no program in it finds an AMD GPU, whatever the host has.",
        evidence=_evidence(machine, box, *NO_GPU),
        fix=Fix(
            way,
            command=_AMD_START.get(
                box.program,
                _AMD_DOCKER,
            ),
            safety="safe",
            verify="rocminfo",
        ),
        confidence="likely",
        explains=_EXPLAINS,
    )


def _either(machine: Machine, box: CommandLine) -> Finding:
    """Apptainer without both options, where the text does not tell whose GPU it is."""
    return error(
        "The container was started without --nv (NVIDIA) and --rocm (AMD): no GPU is passed in, whatever the host has.",
        evidence=_evidence(machine, box, *NO_GPU),
        fix=Fix(
            "Give the option for the vendor to the command that starts the container (exec, run, shell or instance "
            "start): --nv or --rocm",
            command="apptainer exec --nv IMAGE nvidia-smi; apptainer exec --rocm IMAGE rocminfo",
            safety="safe",
        ),
        confidence="likely",
        explains=_EXPLAINS,
    )


def _closed(machine: Machine, box: CommandLine) -> Finding | None:
    """The nodes are there and may not be opened: the command gives no group, or one by its name in the image."""
    denied = said(machine, *_DENIED)
    if not denied or box.program in ("apptainer", "kubernetes") or "privileged" in box.options:
        return None
    groups = box.options.get("group-add", ())
    if any(one.isdigit() or one == "keep-groups" or "$" in one for one in groups):
        return None
    rootless = box.program == "podman"
    how = f"with --group-add {' '.join(groups)}, a group name from the image" if groups else "without --group-add"
    return error(
        f"The container was given the AMD device nodes {how}: the user in it is not in the group that owns them on the "
        "host and is not allowed to open them.",
        evidence=_evidence(machine, box, *_DENIED),
        fix=Fix(
            "Use --group-add keep-groups (rootless podman with crun), and be a member of the node's group (render) on "
            "the host"
            if rootless
            else "Add the group by the number that ls -ln /dev/kfd /dev/dri shows on the host",
            command=_AMD_START.get(
                box.program,
                _AMD_DOCKER,
            ),
            safety="safe",
            verify="ls -ln /dev/kfd /dev/dri; id",
        ),
        confidence="likely",
        explains=("device-permission",),
    )


def _nvidia(machine: Machine, box: CommandLine) -> Finding:
    what = {
        "apptainer": "without --nv",
        "kubernetes": "without an nvidia.com/gpu in its resource limits",
        "podman": "without --device nvidia.com/gpu=all",
        "compose": "without gpus or a reservation of devices (driver nvidia)",
    }.get(box.program, "without --gpus")
    way = {
        "apptainer": "Start it with --nv, which passes in the host's driver libraries and device nodes",
        "kubernetes": "Request nvidia.com/gpu: 1 in the limits of the container",
        "podman": "Start it with --device nvidia.com/gpu=all (CDI, nvidia-ctk cdi generate)",
        "compose": "Give the service gpus: all, or deploy.resources.reservations.devices with driver nvidia and "
        "capabilities [gpu]",
    }.get(box.program, "Start it with --gpus all (NVIDIA Container Toolkit on the host)")
    return error(
        f"The container was started {what}: it has neither the driver's libraries nor a GPU, whatever the host has.",
        evidence=_evidence(machine, box, *NO_GPU),
        fix=Fix(
            way,
            command=_NVIDIA_START.get(box.program, "docker run --rm --gpus all IMAGE nvidia-smi"),
            safety="safe",
            verify="nvidia-smi",
        ),
        confidence="likely",
        explains=_EXPLAINS,
    )
