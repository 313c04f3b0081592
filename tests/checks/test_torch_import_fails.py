from __future__ import annotations

import pytest

from rocdoctor.model.facts import TorchBuild
from tests.kit import environment, judge, k, machine, states

NAME = "torch-import-fails"


def failing(problem: str) -> TorchBuild:
    return TorchBuild(version=k("2.9.0+rocm6.4"), import_error=k(problem))


@pytest.mark.parametrize(
    ("problem", "cause", "words"),
    [
        (
            "ImportError: librccl.so.1: cannot open shared object file: No such file or directory",
            "missing-shared-library",
            "librccl.so.1 is missing",
        ),
        ("ImportError: libcuda.so.1: cannot open shared object file", "missing-shared-library", "libcuda.so.1"),
        (
            "OSError: /lib64/libc.so.6: version `GLIBC_2.14' not found (required by libshm.so)",
            "libc-or-abi-mismatch",
            "GLIBC_2.14",
        ),
        ("ImportError: libstdc++.so.6: version `GLIBCXX_3.4.30' not found", "libc-or-abi-mismatch", "GLIBCXX_3.4.30"),
        (
            "ImportError: libtorch_hip.so: undefined symbol: ncclMemAlloc",
            "python-package-mismatch",
            "ncclMemAlloc is undefined in libtorch_hip.so",
        ),
        ("ModuleNotFoundError: No module named 'sympy'", "python-package-mismatch", "module sympy is missing"),
        ("the interpreter ended: Illegal instruction", "libc-or-abi-mismatch", "newer processor"),
        ("RuntimeError: odd", "python-package-mismatch", "could not be loaded"),
    ],
)
def test_each_kind_of_failure_is_an_error_with_its_cause(problem: str, cause: str, words: str) -> None:
    (verdict,) = judge(NAME, machine(torch=failing(problem)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert verdict.finding.cause == cause
    assert words in verdict.finding.message
    assert problem[:40] in verdict.finding.evidence[0].value


def test_an_undefined_symbol_under_a_loader_path_is_answered_by_unsetting_it() -> None:
    of = machine(
        torch=failing("ImportError: libtorch_hip.so: undefined symbol: ncclMemAlloc"),
        environment=environment({"LD_LIBRARY_PATH": "/opt/rocm-6.0.0/lib"}),
    )
    (verdict,) = judge(NAME, of)
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert verdict.finding.fix.command == "unset LD_LIBRARY_PATH"
    assert any("/opt/rocm-6.0.0/lib" in one.value for one in verdict.finding.evidence)


def test_a_torch_that_imports_passes_and_one_that_nobody_imported_is_unknown() -> None:
    torch = TorchBuild(version=k("2.9.0"), import_error=k(None))
    assert states(judge(NAME, machine(torch=torch))) == ["pass"]
    assert states(judge(NAME, machine(torch=TorchBuild(version=k("2.9.0"))))) == ["unknown"]
    assert states(judge(NAME, machine(torch=TorchBuild(version=k(None))))) == ["not-applicable"]
