from __future__ import annotations

from rocdoctor.model.facts import TorchBuild
from tests.kit import amd_gpu, judge, k, machine, states

NAME = "torch-not-installed"


def test_no_torch_is_worth_knowing_and_names_the_index_for_the_gpu() -> None:
    torch = TorchBuild(interpreter=k("/usr/bin/python3"), python=k("3.12.3"), version=k(None))
    (verdict,) = judge(NAME, machine(amd_gpu(), torch=torch))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "(Python 3.12.3)" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert "/whl/rocm" in verdict.finding.fix.command
    (verdict,) = judge(NAME, machine(torch=torch))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert verdict.finding.fix.command == ""


def test_an_installed_torch_passes_and_an_interpreter_that_nobody_asked_is_unknown() -> None:
    assert states(judge(NAME, machine(torch=TorchBuild(version=k("2.9.0+cpu"))))) == ["pass"]
    assert states(judge(NAME, machine())) == ["unknown"]
