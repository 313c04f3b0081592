"""Failed DKMS builds. The texts are constructed from the formats of dkms and dpkg."""

from __future__ import annotations

from tests.kit import judge, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "dkms-build-failed"
BUILD = (
    "Setting up amdgpu-dkms (1:6.8.5.60202-2041575.22.04) ...\n"
    "Building initial module for 6.11.0-26-generic\n"
    "Error! Bad return status for module build on kernel: 6.11.0-26-generic (x86_64)\n"
)


def test_kernel_and_package_are_named() -> None:
    found = finding_of(CHECK, BUILD)
    assert found is not None and found.severity == "error"
    assert "6.11.0-26-generic" in found.message and "amdgpu-dkms 6.8.5" in found.message
    assert "older kernel" in words_of(found)


def test_missing_headers() -> None:
    text = "Error! Your kernel headers for kernel 6.1.0-18-amd64 cannot be found at /lib/modules/6.1.0-18-amd64/build"
    found = finding_of(CHECK, text)
    assert found is not None and "linux-headers-6.1.0-18-amd64" in words_of(found)


def test_a_good_build_is_silent() -> None:
    good = "Setting up amdgpu-dkms (1:6.8.5) ...\nBuilding initial module for 6.8.0-45-generic\nDone.\ndepmod...\n"
    assert states(judge(CHECK, pasted(good))) == ["not-applicable"]


def test_the_kernel_of_the_drivers_source_and_its_release_are_named() -> None:
    words = words_of(finding_of(CHECK, BUILD))
    assert "amdgpu-dkms 6.8.5.60202 is that of Linux 6.8; kernel 6.11 is newer" in words and "ROCm 6.2.2" in words
    older = BUILD.replace("6.11.0-26-generic", "5.15.0-91-generic")
    assert "is newer" not in words_of(finding_of(CHECK, older))
    numbered_by_rocm = BUILD.replace("1:6.8.5.60202-2041575.22.04", "4.0-23")
    assert "is newer" not in words_of(finding_of(CHECK, numbered_by_rocm))


def test_the_file_that_does_not_compile_is_named() -> None:
    error = "/tmp/amd.aK3f9QzX/amd/amdkcl/kcl_drm_fb.c:21:10: error: too few arguments to function 'fill'\n"
    assert "amd/amdkcl/kcl_drm_fb.c" in words_of(finding_of(CHECK, error + BUILD))
