"""Binaries built for newer systems. The texts are constructed from the formats of the dynamic loader."""

from __future__ import annotations

from dataclasses import replace

from tests.kit import judge, k, machine, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "abi-mismatch-message"


def test_glibc() -> None:
    text = "ImportError: /lib64/libm.so.6: version `GLIBC_2.29' not found (required by /x/torch/lib/libtorch_cpu.so)"
    found = finding_of(CHECK, text)
    assert found is not None and found.confidence == "certain"
    assert "glibc" in found.message and "GLIBC_2.29" in found.message and "container" in words_of(found)


def test_libstdcxx_of_conda() -> None:
    text = (
        "ImportError: /opt/miniconda3/envs/a/bin/../lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found "
        "(required by "
        "/usr/lib/libfoo.so)"
    )
    found = finding_of(CHECK, text)
    assert found is not None and "libstdcxx-ng" in words_of(found) and "GLIBCXX_3.4.30" in found.message


def test_the_string_abi() -> None:
    text = "ImportError: /x/fused.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringE"
    assert "cxx11" in words_of(finding_of(CHECK, text))


def test_silence() -> None:
    assert states(judge(CHECK, pasted("ldd (GNU libc) 2.35\nPython 3.10"))) == ["not-applicable"]


def _of_system(text: str, distribution: str, version: str) -> str:
    system = replace(
        machine().os, id=k(distribution), version_id=k(version), pretty_name=k(f"{distribution} {version}")
    )
    return words_of(finding_of(CHECK, text, os=system))


_WANTS_C = "./server: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by ./server)"
_WANTS_CXX = "/c/lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by /opt/rocm/bin/flang)"


def test_both_versions_are_named_where_the_system_is() -> None:
    words = _of_system(_WANTS_C, "ubuntu", "22.04")
    assert "Ubuntu 22.04 has GLIBC_2.35 at most" in words and "Ubuntu 24.04, Debian 13, RHEL 10" in words
    assert "RHEL 9 has GLIBC_2.34 at most" in _of_system(_WANTS_C, "rocky", "9.4")
    assert "at most" not in _of_system(_WANTS_C, "nixos", "25.05")


def test_a_system_that_has_it_points_to_an_older_copy() -> None:
    words = _of_system(_WANTS_CXX, "ubuntu", "24.10")
    assert "Ubuntu 24.10 itself has GLIBCXX_3.4.33" in words and "conda" in words
    assert "at most" in _of_system(_WANTS_CXX, "ubuntu", "20.04")


def test_the_linker_and_the_loader_name_symbols_of_the_library() -> None:
    linker = "/usr/bin/ld: libtorch/lib/libtorch_cpu.so: undefined reference to `hypot@GLIBC_2.35'"
    words = _of_system(linker, "rocky", "9.1")
    assert "GLIBC_2.35, which libtorch_cpu.so needs" in words and "RHEL 9 has GLIBC_2.34 at most" in words
    loader = "/a/libfoo.so: symbol __isoc23_strtol, version GLIBC_2.38 not defined in file libc.so.6 "
    loader += "with link time reference"
    assert "GLIBC_2.38" in words_of(finding_of(CHECK, loader))
    assert finding_of(CHECK, "/usr/bin/ld: main.o: undefined reference to `hipMalloc@hip_4.2'") is None
