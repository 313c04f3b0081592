"""Wheels of extensions against torch and Python. The texts are constructed from the names of such wheels."""

from __future__ import annotations

import pytest

from rocdoctor.insight.software.torch_stack import wheel_abi
from rocdoctor.model.facts import TorchBuild
from tests.kit import judge, k, states
from tests.message_kit import finding_of, pasted
from tests.text_kit import diagnosed

CHECK = "extension-wheel-message"
WHEEL = "pip install flash_attn-2.5.5+cu118torch2.2cxx11abi{}-cp38-cp38-linux_x86_64.whl"
BROKEN = "\nImportError: x/flash_attn_2_cuda.cpython-38-x86_64-linux-gnu.so: undefined symbol"


def _found(wheel: str, version: str = "", python: str = "3.8.18", broken: str = BROKEN):  # type: ignore[no-untyped-def]
    torch = TorchBuild(version=k(version), python=k(python)) if version else TorchBuild()
    return finding_of(CHECK, wheel + broken, torch=torch)


def test_the_abi_differs() -> None:
    found = _found(WHEEL.format("TRUE"), "2.2.0")
    assert found is not None and (found.severity, found.confidence) == ("error", "likely")
    assert "C++11 ABI FALSE" in found.message and "cxx11abi" in found.message


def test_the_torch_or_the_python_differs() -> None:
    found = _found(WHEEL.format("FALSE"), "2.4.1")
    assert found is not None and "torch 2.4.1 is installed" in found.message
    found = _found(WHEEL.format("FALSE"), "2.2.0", "3.11.4")
    assert found is not None and "Python is 3.11.4" in found.message


def test_the_names_of_pyg() -> None:
    found = _found("pip install torch_scatter-2.1.2+pt22cu118-cp38-cp38-linux_x86_64.whl", "2.3.0")
    assert found is not None and "torch 2.2" in found.message


def test_a_wheel_that_fits() -> None:
    assert _found(WHEEL.format("FALSE"), "2.2.0") is None


def test_nothing_is_broken() -> None:
    assert _found(WHEEL.format("TRUE"), "2.2.0", broken="") is None


def test_without_a_known_torch_it_is_possible() -> None:
    found = _found(WHEEL.format("TRUE"))
    assert found is not None and (found.severity, found.confidence) == ("warning", "possible")


@pytest.mark.parametrize(
    ("version", "abi"),
    [
        ("2.5.1+cu124", "FALSE"),
        ("2.6.0+cu124", "FALSE"),
        ("2.6.0+cu126", "TRUE"),
        ("2.6.0", ""),
        ("2.7.0+cu128", "TRUE"),
        ("2.4.0a0+07cecf4168.nv24.05", ""),
        ("2.2.1+git1234", ""),
        ("none", ""),
    ],
)
def test_the_abi_of_the_wheels_of_torch(version: str, abi: str) -> None:
    assert wheel_abi(version) == abi


def test_not_applicable_without_a_wheel() -> None:
    assert states(judge(CHECK, pasted("all is well"))) == ["not-applicable"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "pip install flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE-cp312-cp312-linux_x86_64.whl with torch "
            "2.7.0+cu128: import fails.\n",
            True,
        ),
        (
            "mamba_ssm-2.2.4+cu12torch2.4cxx11abiFALSE-cp310-cp310-linux_x86_64.whl beside torch 2.6.0. "
            "The import crashes.\n",
            True,
        ),
        (
            "flash_attn-2.7.4+cu12torch2.6cxx11abiFALSE-cp312-cp312-linux_x86_64.whl, Python 3.11: pip refuses it.\n",
            True,
        ),
        # it fits; another failure; it is over
        (
            "flash_attn-2.7.4+cu12torch2.6cxx11abiFALSE-cp312-cp312-linux_x86_64.whl with torch 2.6.0 and Python 3.12: "
            "import fails.\n",
            False,
        ),
        (
            "flash_attn-2.7.4+cu12torch2.6cxx11abiFALSE-cp312-cp312-linux_x86_64.whl with torch 2.7.0. Loading my data "
            "fails with KeyError: 'x'\n",
            False,
        ),
        (
            "flash_attn-2.7.4+cu12torch2.6cxx11abiFALSE-cp312-cp312-linux_x86_64.whl with torch 2.7.0: import fails. "
            "I took the other wheel, now it works.\n",
            False,
        ),
    ],
)
def test_an_import_that_fails_in_words(text: str, found: bool) -> None:
    assert (CHECK in {one.check for one in diagnosed(text).causes}) is found
