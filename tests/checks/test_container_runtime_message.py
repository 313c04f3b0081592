"""Container engines without GPUs. The texts are constructed from the formats of docker and the toolkit."""

from __future__ import annotations

from tests.kit import amd_gpu, judge, nvidia_gpu, states
from tests.message_kit import finding_of, pasted, words_of
from tests.text_kit import diagnosed

CHECK = "container-runtime-message"
NO_DRIVER = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'


def test_the_toolkit_is_missing() -> None:
    found = finding_of(CHECK, NO_DRIVER, nvidia_gpu())
    assert found is not None and found.cause == "container-device-access"
    assert "nvidia-container-toolkit" in words_of(found)


def test_an_amd_gpu_needs_other_flags() -> None:
    assert "--device=/dev/kfd" in words_of(finding_of(CHECK, NO_DRIVER, amd_gpu()))


def test_cdi_and_lost_devices() -> None:
    cdi = finding_of(CHECK, "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all")
    lost = finding_of(CHECK, "$ nvidia-smi\nFailed to initialize NVML: Unknown Error")
    assert "cdi generate" in words_of(cdi) and "cgroup" in words_of(lost)


def test_no_driver_on_the_host() -> None:
    text = (
        "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object "
        "file: no such file or directory: unknown."
    )
    found = finding_of(CHECK, text)
    assert found is not None and found.cause == "kernel-module-not-loaded"


_HOOK = "docker: OCI runtime create failed: nvidia-container-cli: initialization error: {}: unknown."


def test_a_line_of_the_toolkit_shows_that_it_is_installed() -> None:
    found = finding_of(CHECK, _HOOK.format("driver error: failed to process request"), nvidia_gpu())
    assert found is not None and found.cause == "container-device-access"
    assert "is installed, but failed" in found.message and "driver error: failed to process request" in found.message
    assert "no NVIDIA runtime" not in found.message and "nvidia-ctk runtime configure" not in words_of(found)


def test_in_wsl_driver_and_windows_do_not_fit() -> None:
    text = "Docker on WSL 2:\n" + _HOOK.format("driver error: failed to process request")
    assert [one.cause for one in diagnosed(text).causes] == ["wsl-unsupported"]
    found = finding_of(CHECK, text, nvidia_gpu())
    assert found is not None and "wsl --update" in words_of(found)


def test_where_the_engine_lacks_the_runtime_too_that_counts() -> None:
    text = f"{NO_DRIVER}\nAfter I installed it:\n{_HOOK.format('driver error: failed to process request')}"
    found = finding_of(CHECK, text, nvidia_gpu())
    assert found is not None and "no NVIDIA runtime" in found.message


def test_other_errors_of_docker_are_silent() -> None:
    text = "docker: Error response from daemon: pull access denied for image."
    assert states(judge(CHECK, pasted(text))) == ["not-applicable"]


def test_a_group_that_the_image_does_not_have() -> None:
    text = "docker: Error response from daemon: Unable to find group render: no matching entries in group file."
    found = finding_of(CHECK, text, amd_gpu())
    assert found is not None and found.cause == "container-device-access" and "named render" in found.message
    assert "getent group render" in words_of(found)
    keep = finding_of(CHECK, text.replace("render", "keep-groups"))
    assert keep is not None and "podman" in keep.message
    rootless = finding_of(CHECK, "runc run failed: cannot set any additional groups in a rootless container")
    assert "--group-add keep-groups alone" in words_of(rootless)


def test_a_device_plugin_without_driver_is_possibly_the_runtime_of_its_node() -> None:
    text = "E0101 1 factory.go:88] If this is a GPU node, did you configure the NVIDIA Container Toolkit?"
    found = finding_of("container-runtime-message", text)
    assert found is not None
    assert (found.severity, found.confidence) == ("warning", "possible")
    assert "default runtime" in words_of(found)


def test_lost_devices_explain_why_nvidia_smi_fails() -> None:
    text = (
        'Running "systemctl daemon-reload" makes all containers lose their GPUs:\n\n$ nvidia-smi -L\n'
        "Failed to initialize NVML: Unknown Error\n\nOn the host all is well."
    )
    assert [one.cause for one in diagnosed(text).causes][:1] == ["container-device-access"]
