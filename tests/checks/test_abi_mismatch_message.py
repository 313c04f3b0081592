"""Binaries built for newer systems. The texts are constructed from the formats of the dynamic loader."""

from __future__ import annotations

from tests.kit import judge, states
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
