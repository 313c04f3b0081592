"""The NVIDIA driver on Arm servers, on NixOS and of what a hypervisor lends, and the torch that follows from it."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.knowledge.gpus.nvidia_vgpus import runs_no_cuda
from rocdoctor.model.facts import Machine
from tests.kit import k, nvidia_gpu
from tests.repair.setup.desk import desk, planned, torch
from tests.repair.setup.kit import commands, ids, step_of

_BARE = torch(None, environment="system", path="/usr/bin/python3")
_CUDA = "https://developer.download.nvidia.com/compute/cuda/repos"


def _grace(os: str, kernel: str, capability: str = "9.0") -> Machine:
    gpu = nvidia_gpu(0, name="NVIDIA GH200 480GB", compute_capability=capability, driver=None)
    return desk(gpu, os=os, arch="aarch64", kernel={"release": kernel}, build=_BARE)


def _lent(kind: str, **changes: Any) -> Machine:
    told = {"name": f"NVIDIA {kind}", "compute_capability": "8.9", "vgpu": True, "driver": None} | changes
    return desk(nvidia_gpu(0, **told), build=_BARE)


def test_an_arm_server_takes_the_packages_of_its_own_architecture() -> None:
    debian = planned(_grace("debian 13", "6.12.41+deb13-arm64"))
    typed = commands(step_of(debian, "driver-nvidia"))
    assert f"curl -fsSL -o /root/cuda-keyring.deb {_CUDA}/debian13/sbsa/cuda-keyring_1.1-1_all.deb" in typed
    assert typed[-1] == "apt install nvidia-open" and "apt install linux-image-arm64 linux-headers-arm64" in typed
    assert commands(step_of(debian, "torch"))[-1].endswith("/cu130")
    typed = commands(step_of(planned(_grace("rhel 9.6", "5.14.0-570.32.1.el9_6.aarch64")), "driver-nvidia"))
    assert f"curl -fsSL -o /etc/yum.repos.d/cuda-rhel9.repo {_CUDA}/rhel9/sbsa/cuda-rhel9.repo" in typed
    assert "subscription-manager repos --enable codeready-builder-for-rhel-9-aarch64-rpms" in typed
    assert "dnf install kernel-devel-5.14.0-570.32.1.el9_6.aarch64 kernel-headers" in typed


@pytest.mark.parametrize(
    ("os", "headers"),
    [
        ("rhel 9.6", "dnf install kernel-64k-devel-5.14.0-570.32.1.el9_6.aarch64 kernel-headers"),
        ("rocky 9.6", "dnf install kernel-64k kernel-headers kernel-64k-devel"),
    ],
)
def test_a_kernel_of_large_pages_has_packages_of_its_own(os: str, headers: str) -> None:
    found = step_of(planned(_grace(os, "5.14.0-570.32.1.el9_6.aarch64+64k")), "driver-nvidia")
    assert headers in commands(found)


@pytest.mark.parametrize(("capability", "open_module"), [("9.0", True), ("6.1", False)])
def test_the_archive_of_debian_has_both_modules_for_arm(capability: str, open_module: bool) -> None:
    """Grace Hopper runs the open one alone; GPUs before Turing the other."""
    typed = commands(step_of(planned(_grace("debian 12", "6.1.0-56-arm64", capability)), "driver-nvidia"))
    assert ("apt install nvidia-open-kernel-dkms nvidia-driver" in typed) is open_module
    assert ("apt install nvidia-driver" in typed) is not open_module


@pytest.mark.parametrize(("capability", "module"), [("8.9", "true"), ("6.1", "false")])
def test_nixos_has_its_driver_in_its_configuration(capability: str, module: str) -> None:
    gpu = nvidia_gpu(0, name="GPU", compute_capability=capability, driver=None)
    found = step_of(planned(desk(gpu, os="nixos 26.05")), "driver-nvidia")
    assert (found.state, found.risk, found.actions) == ("todo", "manual", ())
    assert f"hardware.nvidia.open = {module};" in found.notes[0] and "nixos-rebuild switch" in found.notes[1]
    assert any("580" in note for note in found.notes) is (module == "false")


@pytest.mark.parametrize(
    ("kind", "without"),
    [
        ("L40S-12C", False),
        ("A16-4Q", False),
        ("L40S-12A", True),
        ("M60-2B4", True),
        ("H100-1-10CME", False),
        ("", False),
    ],
)
def test_a_vgpu_for_desktops_runs_no_cuda(kind: str, without: bool) -> None:
    assert runs_no_cuda(kind) is without


def test_who_has_a_vgpu_without_cuda_hears_it_first() -> None:
    assert "does not support CUDA" in step_of(planned(_lent("L40S-12A")), "driver-nvidia").notes[0]
    running = step_of(planned(_lent("L40S-12A", driver="nvidia")), "driver-nvidia")
    assert running.state == "done" and "does not support CUDA" in running.support
    assert "CUDA:" not in " ".join(step_of(planned(_lent("L40S-12C")), "driver-nvidia").notes)


def test_before_its_guest_driver_a_vgpu_takes_a_torch_that_each_of_them_runs() -> None:
    """The release of that driver follows the host's, and may be one of CUDA 12."""
    assert commands(step_of(planned(_lent("L40S-12C")), "torch"))[-1].endswith("/cu128")
    assert commands(step_of(planned(_lent("L40S-12C", vgpu=False)), "torch"))[-1].endswith("/cu130")


def test_a_licence_that_is_missing_is_called_by_its_name() -> None:
    plan = planned(_lent("L40S-12C", driver="nvidia", vgpu_license="Unlicensed (Restricted)"))
    assert "no licence" in step_of(plan, "found-vgpu-unlicensed").title


def test_no_environment_is_made_where_no_torch_goes_into_it() -> None:
    plan = planned(desk(nvidia_gpu(0, compute_capability="7.0"), os="rhel 8.10", arch="ppc64le", build=_BARE))
    assert "python-environment" not in ids(plan)
    assert step_of(plan, "torch").state == "unknown" and "ppc64le" in step_of(plan, "torch").why


@pytest.mark.parametrize(("capability", "state"), [("3.7", "done"), ("7.0", "todo")])
def test_an_old_driver_stays_where_no_newer_one_runs_the_gpu(capability: str, state: str) -> None:
    old = {"nvidia": {"version": k("470.82.01"), "cuda": k("11.4")}}
    found = step_of(planned(desk(nvidia_gpu(0, compute_capability=capability), drivers=old)), "driver-nvidia")
    assert found.state == state
