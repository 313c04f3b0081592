"""Lines that stand behind the path of their file, as ``grep . FILE`` and ``head FILE FILE`` print them."""

from __future__ import annotations

import pytest

from rocdoctor.paste import recognise
from tests.text_kit import diagnosed

_LINK = "/sys/bus/pci/devices/0000:03:00.0/current_link_speed"


def answers(text: str) -> dict[str, str]:
    return {one.question: one.text for one in recognise(text) if one.question.startswith("read ")}


def test_a_path_with_colons_and_its_value() -> None:
    assert answers(f"{_LINK}:16.0 GT/s PCIe\n") == {f"read {_LINK}": "16.0 GT/s PCIe"}


def test_lines_of_one_file_stay_together() -> None:
    text = "/proc/meminfo:MemTotal: 32 kB\n/proc/version: Linux version 6.1\n/proc/meminfo:MemFree: 1 kB\n"
    assert answers(text)["read /proc/meminfo"] == "MemTotal: 32 kB\nMemFree: 1 kB"


def test_headings_of_head() -> None:
    text = "==> /sys/module/amdgpu/version <==\n6.7.0\n\n==> /sys/class/kfd/kfd/topology/system_properties <==\nx 1\n"
    assert answers(text)["read /sys/module/amdgpu/version"] == "6.7.0"


@pytest.mark.parametrize(
    "text",
    [
        "/sys/module/amdgpu/version: No such file or directory\n",
        "cat: /sys/module/amdgpu/version: Permission denied\n",
        "It reads /sys/module/amdgpu/version: is that right?\n",
        "/proc/../etc/passwd:x\n",
        "/etc/hosts:127.0.0.1 localhost\n",
    ],
)
def test_what_is_no_content_of_such_a_file(text: str) -> None:
    assert answers(text) == {}


def test_the_version_of_the_module_reaches_the_diagnosis() -> None:
    text = (
        "nvidia-smi says\nFailed to initialize NVML: Driver/library version mismatch\n\n"
        "ii nvidia-driver-550 550.107.02-0ubuntu0.24.04.1 amd64\n"
        "/proc/driver/nvidia/version:NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 2024\n"
    )
    message = diagnosed(text).causes[0].message
    assert "550.107.02" in message and "550.90.07" in message
