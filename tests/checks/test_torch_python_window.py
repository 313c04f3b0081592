from __future__ import annotations

import pytest

from rocdoctor.model.facts import TorchBuild
from tests.kit import judge, k, machine, severities, states
from tests.text_kit import diagnosed

NAME = "torch-python-window"


def test_a_listed_python_passes() -> None:
    assert states(judge(NAME, machine(torch=TorchBuild(python=k("3.12.3"), version=k("2.9.1+rocm6.4"))))) == ["pass"]


def test_another_python_is_worth_knowing_and_a_warning_when_torch_does_not_load() -> None:
    torch = TorchBuild(python=k("3.8.10"), version=k("2.9.1+rocm6.4"))
    (verdict,) = judge(NAME, machine(torch=torch))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "Python 3.10 to 3.14" in verdict.finding.message
    failing = TorchBuild(python=k("3.8.10"), version=k("2.9.1"), import_error=k("ImportError: odd"))
    assert severities(judge(NAME, machine(torch=failing))) == ["warning"]


def test_a_build_that_imports_is_right_for_its_python() -> None:
    torch = TorchBuild(python=k("3.8.10"), version=k("2.9.1"), import_error=k(None))
    assert states(judge(NAME, machine(torch=torch))) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine())) == ["unknown"]
    assert states(judge(NAME, machine(torch=TorchBuild(version=k("2.9.1"))))) == ["unknown"]
    nightly = TorchBuild(python=k("3.8.10"), version=k("2.10.0a0+git1234567"))
    assert states(judge(NAME, machine(torch=nightly))) == ["not-applicable"]
    assert states(judge(NAME, machine(torch=TorchBuild(version=k(None))))) == ["not-applicable"]


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("Python 3.14 and pip install torch==2.4.0: nothing is found for it.\n", "warning"),
        ("Python 3.13 and torch 2.3.0: pip install finds no version.\n", "warning"),
        ("Python 3.14 and torch 2.4.0: my script fails with KeyError: 'x'\n", None),
        ("Python 3.12 and pip install torch==2.4.0: nothing is found for it.\n", None),
        ("pip refused torch 2.1.2 on Python 3.12, so I made an environment with Python 3.11.\n", None),
        ("Python 3.14 and torch 2.4.0: pip found nothing. I took Python 3.12, now it works.\n", None),
    ],
)
def test_a_text_in_which_pip_finds_nothing(text: str, severity: str | None) -> None:
    found = [one.severity for one in diagnosed(text).causes if one.check == NAME]
    assert found == ([severity] if severity else [])
