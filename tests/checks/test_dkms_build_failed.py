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
