"""Refused device nodes, from what tools say. The texts are constructed from the tools' formats."""

from __future__ import annotations

from tests.kit import amd_gpu, judge, nvidia_gpu, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "kfd-permission-message"
TEXT = "ROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied\n"


def test_a_user_outside_the_group() -> None:
    found = finding_of(CHECK, TEXT, amd_gpu())
    assert found is not None and found.cause == "device-permission" and found.confidence == "certain"
    assert "render" in found.message and "usermod" in words_of(found)


def test_inside_a_container_the_number_counts() -> None:
    found = finding_of(CHECK, "$ docker run --device=/dev/kfd image\n" + TEXT, amd_gpu())
    assert found is not None and found.cause == "container-device-access"
    assert "--group-add $(getent group render" in words_of(found)


def test_a_device_rule() -> None:
    found = finding_of(CHECK, "Unable to open /dev/kfd read-write: Operation not permitted", amd_gpu())
    assert found is not None and "cgroup" in found.message


def test_what_works_for_root_only() -> None:
    found = finding_of(CHECK, "rocminfo prints nothing for me, but it works with sudo.", amd_gpu())
    assert found is not None and found.confidence == "likely" and "render" in words_of(found)
    assert states(judge(CHECK, pasted("apt install works with sudo"))) == ["not-applicable"]


def test_other_refusals_are_not_meant() -> None:
    assert states(judge(CHECK, pasted("bash: ./train.sh: Permission denied"))) == ["not-applicable"]
    assert states(judge(CHECK, pasted("ROCk module is loaded", amd_gpu()))) == ["not-applicable"]


def test_the_same_tool_fails_for_the_user_and_lists_the_gpu_for_root() -> None:
    failed = "$ rocminfo\nhsa api call failure at: rocminfo.cc:1102\nCall returned HSA_STATUS_ERROR_OUT_OF_RESOURCES\n"
    listed = "$ sudo /opt/rocm/bin/rocminfo\nROCk module is loaded\n====\nHSA System Attributes\n====\n"
    found = finding_of(CHECK, failed + listed, amd_gpu())
    assert found is not None
    assert (found.cause, found.confidence) == ("device-permission", "likely")
    assert finding_of(CHECK, listed, amd_gpu()) is None


def test_the_devices_of_nvidia_in_a_container() -> None:
    text = "$ podman run --device nvidia.com/gpu=all ubuntu nvidia-smi\n"
    text += "Failed to initialize NVML: Insufficient Permissions"
    found = finding_of(CHECK, text, nvidia_gpu())
    assert found is not None and found.cause == "container-device-access"
    assert "label" in found.message and "SELinux" in words_of(found)


def test_the_devices_of_nvidia_on_the_host() -> None:
    found = finding_of(CHECK, "Failed to initialize NVML: Insufficient Permissions", nvidia_gpu())
    assert found is not None and found.cause == "device-permission"
    assert found.message.endswith("it is not in the group that owns the node.")
