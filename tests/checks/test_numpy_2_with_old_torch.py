from __future__ import annotations

from rocdoctor.model.facts import TorchBuild
from tests.kit import judge, k, machine, severities, states

NAME = "numpy-2-with-old-torch"


def test_numpy_2_beside_an_old_torch_is_worth_knowing() -> None:
    torch = TorchBuild(version=k("2.2.2+rocm5.7"), packages=k({"numpy": "2.1.3"}))
    (verdict,) = judge(NAME, machine(torch=torch))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "NumPy 2.1.3" in verdict.finding.message and "torch 2.2.2+rocm5.7" in verdict.finding.message


def test_where_the_import_says_so_it_is_a_warning() -> None:
    torch = TorchBuild(
        version=k("2.2.2"), packages=k({"numpy": "2.1.3"}), import_error=k("AttributeError: _ARRAY_API not found")
    )
    assert severities(judge(NAME, machine(torch=torch))) == ["warning"]


def test_pairs_that_fit_pass() -> None:
    for torch, numpy in (("2.3.0", "2.1.3"), ("2.10.0", "2.3.0"), ("2.2.2", "1.26.4")):
        of = machine(torch=TorchBuild(version=k(torch), packages=k({"numpy": numpy})))
        assert states(judge(NAME, of)) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine())) == ["unknown"]
    assert states(judge(NAME, machine(torch=TorchBuild(version=k("2.2.2"))))) == ["unknown"]
    assert states(judge(NAME, machine(torch=TorchBuild(version=k("2.2.2"), packages=k({}))))) == ["not-applicable"]
    assert states(judge(NAME, machine(torch=TorchBuild(version=k(None))))) == ["not-applicable"]
