"""Files under /proc/driver/nvidia; the texts are transcribed from the form of the 470 to 580 drivers."""

from __future__ import annotations

from rocdoctor.parsers.nvidia.nvidia_proc import parse_nvidia_params, parse_nvidia_version

_CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023\nGCC version: 12.2\n"
_OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder)  Sun Jul 27\n"


def test_versions_of_closed_and_open_modules() -> None:
    closed, opened = parse_nvidia_version(_CLOSED), parse_nvidia_version("\n" + _OPEN)
    assert closed is not None and (closed.version, closed.line) == ("535.54.03", 1)
    assert opened is not None and (opened.version, opened.line) == ("580.65.06", 2)
    assert parse_nvidia_version("GCC version:  gcc version 12.2.0\n") is None


def test_parameters() -> None:
    text = 'ModifyDeviceFiles: 1\nRegistryDwords: "PeerMappingOverride=1;"\nnot a parameter\n'
    assert parse_nvidia_params(text) == {"ModifyDeviceFiles": "1", "RegistryDwords": "PeerMappingOverride=1;"}
