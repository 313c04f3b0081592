"""ROCm releases of package lists (names and version forms of AMD's and the distributions' packages, constructed)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.amd.rocm_packages import classify, rocm_packages, summarise

UBUNTU_6_2 = [
    ("rocm-core", "6.2.0.60200-66~24.04"),
    ("rocblas", "4.2.0.60200-66~24.04"),
    ("hip-runtime-amd", "6.2.41133.60200-66~24.04"),
    ("rccl", "2.20.5.60200-66~24.04"),
    ("half", "1.12.0.60200-66~24.04"),
    ("amdgpu-dkms", "1:6.8.5.60202-2041575.24.04"),
    ("librocksdb8.9", "8.9.1-2"),
    ("hipster", "1.0.60200-1"),
]


def test_one_classic_release() -> None:
    found = rocm_packages(UBUNTU_6_2)
    assert found.mixed is False
    assert [item.name for item in found.packages] == ["rocm-core", "rocblas", "hip-runtime-amd", "rccl", "half"]
    assert found.outsiders == ()


def test_a_half_done_update_is_mixed() -> None:
    found = rocm_packages(
        [*UBUNTU_6_2, ("miopen-hip", "3.3.0.60300-39~24.04"), ("hipblaslt", "0.10.0.60204-139~22.04")]
    )
    assert found.mixed is True
    assert [(item.name, item.release) for item in found.outsiders] == [("miopen-hip", "6.3.0"), ("hipblaslt", "6.2.4")]


def test_packages_named_for_their_release_live_side_by_side() -> None:
    found = rocm_packages(
        [
            ("rocm-core6.2.0", "6.2.0.60200-66~22.04"),
            ("rocblas6.2.0", "4.2.0.60200-66~22.04"),
            ("rocm-core6.4.1", "6.4.1.60401-83~22.04"),
        ]
    )
    assert [item.side_by_side for item in found.packages] == [True, True, True]
    assert found.mixed is None


def test_rpm_versions() -> None:
    found = rocm_packages([("rocm-core", "7.2.0.70200-43.el9"), ("rccl", "2.27.7.70200-43.el9")])
    assert found.mixed is False


def test_new_stream() -> None:
    found = rocm_packages(
        [
            ("amdrocm10.0-gfx942", "10.0.0-12"),
            ("amdrocm-core-sdk7.14", "7.14.0~20260716"),
            ("amdrocm-rccl", "10.0.0-12"),
        ]
    )
    assert [(item.stream, item.release, item.side_by_side) for item in found.packages] == [
        ("core", "10.0.0", True),
        ("core", "7.14.0", True),
        ("core", "10.0.0", False),
    ]
    assert found.mixed is None


def test_distribution_numbers_differ_by_nature() -> None:
    debian = [
        ("libamdhip64-6", "6.4.3-5"),
        ("librccl1", "5.4.3-3+b1"),
        ("rocminfo", "7.2.4-1"),
        ("amd-smi", "10.1-1"),
        ("rocm-llvm", "18.0.0-3"),
    ]
    found = rocm_packages(debian)
    assert [item.release for item in found.packages] == ["6.4.3", "5.4.3", "7.2.4", "10.1", None]
    assert found.mixed is None


def test_wheels() -> None:
    found = rocm_packages(
        [("rocm", "10.0.0"), ("rocm_sdk_core", "10.0.0"), ("rocblas", "1.0"), ("numpy", "2.0")], wheels=True
    )
    assert [(item.name, item.release) for item in found.packages] == [("rocm", "10.0.0"), ("rocm_sdk_core", "10.0.0")]
    placeholder = classify("rocm-sdk-core", "0.1.0", wheels=True)
    assert placeholder is not None
    assert placeholder.release is None


def test_amd_packages_before_4_0() -> None:
    old = classify("rocm-dkms", "3.5.0-30")
    assert old is not None
    assert (old.stream, old.release) == ("classic", "3.5.0")
    same = classify("hsa-rocr-dev", "1.1.9.0-rocm-rel-3.5-30-def83d8")
    assert same is not None
    assert (same.stream, same.release) == ("classic", None)


def test_nothing_is_nothing() -> None:
    found = summarise([])
    assert (found.packages, found.mixed) == ((), None)


@given(st.lists(st.tuples(st.sampled_from(["rocm", "rocm-core6.", "amdrocm"]) | st.text(), st.text())), st.booleans())
def test_any_text_never_raises(pairs: list[tuple[str, str]], wheels: bool) -> None:
    rocm_packages(pairs, wheels)


@given(st.from_regex(r"[0-9.:~+-]{0,40}", fullmatch=True))
def test_any_version_never_raises(version: str) -> None:
    rocm_packages([("rocblas" + version, version), ("amdrocm" + version, version)])
