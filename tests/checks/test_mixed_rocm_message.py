"""ROCm from two sources. The texts are constructed from the formats of apt, dpkg and the loader."""

from __future__ import annotations

from tests.kit import judge, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "mixed-rocm-message"


def test_apt_would_take_the_package_of_the_distribution() -> None:
    text = " rocm-hip-runtime : Depends: rocminfo (= 1.0.0.60100-82~22.04) but 5.0.0-1 is to be installed"
    found = finding_of(CHECK, text)
    assert found is not None and found.cause == "mixed-rocm-installs"
    assert "rocminfo" in found.message and "5.0.0-1" in found.message and "Pin-Priority" in words_of(found)


def test_two_packages_own_a_file() -> None:
    text = "dpkg: error: trying to overwrite '/usr/bin/rocm-smi', which is also in package rocm-smi 5.7.0-1"
    assert "/usr/bin/rocm-smi" in words_of(finding_of(CHECK, text))


def test_two_packages_of_the_kernel_driver() -> None:
    """As of the file that rock-dkms and amdgpu-dkms both had; the names of the packages are what helps."""
    path = "/usr/share/dkms/modules_to_force_install/amdgpu"
    text = f"dpkg: error: trying to overwrite '{path}', which is also in package amdgpu-dkms 18.30-641594"
    found = finding_of(CHECK, text)
    assert found is not None and found.cause == "mixed-rocm-installs" and "amdgpu-dkms 18.30-641594" in found.message
    assert "amdgpu-pro-uninstall" in words_of(found) and "Pin-Priority" not in words_of(found)


def test_packages_of_others_that_collide_are_no_rocm() -> None:
    """ROCm has no part in what dpkg says of an NVIDIA library or of another program."""
    for path, package in (
        ("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "libnvidia-compute-470 470.82.00"),
        ("/usr/bin/crun", "podman 4.3.1"),
    ):
        text = f"dpkg: error: trying to overwrite '{path}', which is also in package {package}"
        assert states(judge(CHECK, pasted(text))) == ["not-applicable"]


def test_the_loader_mixes_releases() -> None:
    text = "/opt/rocm/lib/libamdhip64.so.6: version `hip_6.4' not found (required by /x/libtorch_hip.so)"
    found = finding_of(CHECK, text)
    assert found is not None and "libamdhip64.so.6" in found.message and "hip_6.4" in found.message


def test_both_releases_are_named() -> None:
    text = '  File "/opt/rocm-6.3.2/bin/x.py"\n/opt/rocm-6.1.0/lib/librocblas.so.4: undefined symbol: rocblas_new_call'
    said = words_of(finding_of(CHECK, text))
    assert "6.3.2" in said and "6.1.0" in said


def test_a_repository_for_another_release() -> None:
    text = " rocm-llvm : Depends: libstdc++-5-dev but it is not installable"
    assert "distribution release" in words_of(finding_of(CHECK, text))


def test_a_clean_installation_is_silent() -> None:
    text = "The following NEW packages will be installed: rocm-hip-sdk rocminfo\nSetting up rocminfo (1.0.0.60100) ..."
    assert states(judge(CHECK, pasted(text))) == ["not-applicable"]
