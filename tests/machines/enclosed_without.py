"""Machines seen from inside something that was not given the GPU, or has nothing of training in it yet."""

from __future__ import annotations

from tests.machines import enclosed
from tests.machines.files import Files
from tests.machines.python import ROCM7_TORCH, python


def docker_8_without_devices() -> Files:
    """Docker without ``--device``: the buses of the host are seen, no node of a GPU is."""
    files = enclosed.docker_8()
    for path in [path for path in files.nodes if path.startswith(("/dev/kfd", "/dev/dri"))]:
        files.remove(path)
    _without_tools(files)
    python(files, ROCM7_TORCH, [], "3.12.3", "/opt/venv")
    return files


def podman_without_groups() -> Files:
    """Rootless Podman with the devices and without ``--group-add keep-groups``."""
    files = enclosed.podman_rootless()
    for node in files.nodes.values():
        node.access = "denied"
    _without_tools(files)
    python(files, ROCM7_TORCH, [], "3.12.3", "/opt/venv")
    return files


def lxc_without_groups() -> Files:
    """An unprivileged LXC container with a system of its own, into which the host's render group is not mapped."""
    files = podman_without_groups()
    files.remove("/run/.containerenv")
    files.env["container"] = "lxc"
    files.put("/proc/self/mountinfo", "874 702 0:68 / / rw,relatime - zfs rpool/data/subvol-101-disk-0 rw,xattr")
    _system_python(files, "3.13.7")
    return files


def slurm_without_torch() -> Files:
    """A job with two of eight GPUs, and the interpreter of the cluster's system."""
    files = enclosed.slurm_2_of_8()
    _system_python(files, "3.10.12")
    return files


def wsl2_without_torch() -> Files:
    """WSL with the ROCm packages: rocminfo reaches the GPU of Windows."""
    files = enclosed.wsl2()
    _system_python(files, "3.12.3")
    return files


def _system_python(files: Files, release: str) -> None:
    python(files, None, [], release, "/usr")
    files.env.pop("VIRTUAL_ENV", None)


def _without_tools(files: Files) -> None:
    """Tools of the driver that say nothing without its nodes."""
    for question in [question for question in files.programs if question.startswith(("run rocminfo", "run amd-smi"))]:
        del files.programs[question]
