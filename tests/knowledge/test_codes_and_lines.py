"""What error numbers, exit codes and lines of runtimes, containers and packages lead to, also beside other lines."""

from __future__ import annotations

import pytest

from tests.text_kit import causes_of, diagnosed


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        ("2", "out-of-memory"),
        ("35", "driver-too-old"),
        ("98", "gpu-arch-not-built"),
        ("100", "device-permission"),
        ("101", "visible-devices-conflict"),
        ("214", "gpu-hardware-fault"),
        ("217", "iommu-acs-p2p"),
        ("700", "not-environment"),
        ("999", "not-environment"),
    ],
)
@pytest.mark.parametrize(
    "line", ["HIP error {} at main.cpp:41", "hipSetDevice failed: {}", "hip error code: {} at a.cpp:8"]
)
def test_a_number_of_hip_says_what_its_name_says(number: str, cause: str, line: str) -> None:
    assert causes_of(line.format(number))[:1] == [cause]


def test_a_number_that_hip_does_not_have_says_nothing() -> None:
    assert causes_of("HIP error 4242 at main.cpp:41") == []
    assert causes_of("hipGetDeviceCount returned 0") == []


def test_no_device_in_a_container_is_the_container() -> None:
    found = causes_of("$ docker run --rm rocm/pytorch ./a.out\nhipGetDeviceCount failed: 100")
    assert found[0] == "container-device-access" and "device-permission" not in found


@pytest.mark.parametrize(
    ("status", "cause"),
    [("4104", "kernel-module-not-loaded"), ("4111", "gpu-arch-not-built"), ("4097", "not-environment")],
)
def test_a_number_of_hsa_says_what_its_name_says(status: str, cause: str) -> None:
    assert causes_of(f"hsa_init failed: {status}")[:1] == [cause]


@pytest.mark.parametrize(
    ("code", "cause", "word"),
    [
        ("126", "not-environment", "could not be executed"),
        ("127", "not-environment", "was not found"),
        ("132", "not-environment", "AVX"),
        ("134", "not-environment", "abort"),
        ("135", "shm-too-small", "/dev/shm"),
        ("139", "not-environment", "SIGSEGV"),
        ("143", "not-environment", "SIGTERM"),
        ("152", "not-environment", "limit"),
    ],
)
def test_an_exit_code_alone_says_how_the_process_ended(code: str, cause: str, word: str) -> None:
    found = diagnosed(f"Container train exited with code {code}").causes
    assert found[0].cause == cause and found[0].confidence == "possible"
    assert word in found[0].message


@pytest.mark.parametrize("code", ["1", "2", "0", "12", "1390"])
def test_other_exit_codes_say_nothing(code: str) -> None:
    assert causes_of(f"Container train exited with code {code}") == []


def test_a_reason_that_is_printed_stands_above_the_exit_code() -> None:
    text = (
        "ImportError: libamdhip64.so.6: cannot open shared object file: No such file or directory\nexited with code 134"
    )
    assert causes_of(text) == ["missing-shared-library"]


@pytest.mark.parametrize("node", ["/dev/dri/renderD128", "/dev/dri/card0", "/dev/nvidia3", "/dev/kfd"])
def test_a_refused_node_is_recognised_whatever_its_number_is(node: str) -> None:
    assert causes_of(f"Failed to open {node}: Permission denied")[:1] == ["device-permission"]
    assert causes_of(f"Failed to open {node}: Operation not permitted")[:1] == ["container-device-access"]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("bash: /opt/rocm/bin/rocminfo: cannot execute binary file: Exec format error", "wrong-backend-build"),
        ("comgr 2.6 cannot support commpressed mode which need comgr 2.8+", "mixed-rocm-installs"),
        ("KFD file descriptor not valid in this process", "not-environment"),
        ("gres.conf: In-line AutoDetect requires NodeName to take effect", "not-environment"),
        ("slurmd: error: /dev/dri is not a valid character or block device, fix your gres.conf", "not-environment"),
        (
            "slurmd: error: /dev/nvidia7 is not a valid character or block device, fix your gres.conf",
            "kernel-module-not-loaded",
        ),
        ("Exception: Please install hipCUB and retry", "missing-shared-library"),
        ("/dev/dxg missing -- WSL GPU paravirtualization not present.", "wsl-unsupported"),
        ("Failed to import from vllm._rocm_C with ImportError('undefined')", "python-package-mismatch"),
        ("Failed to import from vllm._rocm_C with ModuleNotFoundError('none')", "wrong-backend-build"),
    ],
)
def test_a_line_has_its_cause(text: str, cause: str) -> None:
    assert causes_of(text)[:1] == [cause]


def test_amd_smi_on_a_machine_of_another_vendor_blames_nothing() -> None:
    line = "Unable to detect any GPU devices, check amdgpu version and module status (sudo modprobe amdgpu)"
    assert causes_of(line) == ["kernel-module-not-loaded"]
    assert causes_of(f"My laptop has an RTX 3070.\n{line}") == []
