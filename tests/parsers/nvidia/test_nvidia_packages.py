"""Versions of NVIDIA's libraries. The rows are constructed from what the package managers print."""

from __future__ import annotations

import pytest

from rocdoctor.parsers.nvidia.nvidia_packages import DriverLibraries, parse_driver_libraries


@pytest.mark.parametrize(
    ("text", "version", "line"),
    [
        ("||/ Name\nii  libnvidia-compute-550:amd64  550.127.05-0ubuntu1  amd64  NVIDIA library", "550.127.05", 2),
        ("ii  libcuda1:amd64  525.147.05-7~deb12u1 amd64 NVIDIA CUDA Driver Library", "525.147.05", 1),
        ("nvidia-driver-cuda-libs-3:565.57.01-1.el9.x86_64", "565.57.01", 1),
        ("xorg-x11-drv-nvidia-cuda-libs-560.35.03-5.fc41.x86_64", "560.35.03", 1),
        ("nvidia-utils 570.86.16-2", "570.86.16", 1),
        ("Installed package:  nvidia-driver-550:amd64 550.107.02-0ubuntu0.24.04.1", "550.107.02", 1),
        ("ii  nvidia-driver-570-open  570.86.15-0ubuntu1  amd64  NVIDIA driver (open kernel)", "570.86.15", 1),
        ("[2025-01-30T08:00:01+0100] [ALPM] upgraded nvidia-utils (565.77-3 -> 570.86.16-2)", "570.86.16", 1),
        (
            "Upgrade: libc6:amd64 (2.35-0ubuntu3.8, 2.35-0ubuntu3.9), nvidia-utils-550:amd64 (550.90.07-0ubuntu1, "
            "550.120-0ubuntu1), tzdata:amd64 (2024a, 2024b)",
            "550.120",
            1,
        ),
        ("2024-12-01 06:12:13 upgrade libnvidia-compute-550:amd64 550.90.07-0ubuntu1 550.120-0ubuntu1", "550.120", 1),
        ("-rw-r--r-- 1 root root 29453200 Nov 5 10:00 /usr/lib64/libcuda.so.550.120", "550.120", 1),
        ("rc  libnvidia-compute-535:amd64 535.1.2-0\nii  libnvidia-compute-550:amd64 550.120-0 amd64 x", "550.120", 2),
        (
            "filename:       /lib/modules/6.8.0-45-generic/updates/dkms/nvidia.ko\nalias: a\nversion:  550.120\n",
            "550.120",
            3,
        ),
    ],
)
def test_installed_version(text: str, version: str, line: int) -> None:
    assert parse_driver_libraries(text) == DriverLibraries(version, line)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nvidia-cublas-cu12 12.1.3.1",
        "Remove: libnvidia-compute-535:amd64 (535.183.01-0ubuntu1)",
        "ii  nvidia-container-toolkit 1.17.0-1 amd64",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01",
        "libcuda.so.1: cannot open shared object file",
        "nvidia-utils is not installed",
    ],
)
def test_what_names_no_library_of_the_driver(text: str) -> None:
    assert parse_driver_libraries(text) is None
