"""The Python of the machine beside those that a wheel or an index is for."""

from __future__ import annotations

import pytest

from tests.text_kit import diagnosed

_WHEEL = "ERROR: torch-2.3.0+rocm6.0-cp310-cp310-linux_x86_64.whl is not a supported wheel on this platform.\n"
_ASKED = "$ pip install torch --index-url https://download.pytorch.org/whl/rocm6.0\n"
_NONE = "ERROR: Could not find a version that satisfies the requirement torch (from versions: none)\n"
_PINNED = "ERROR: Could not find a version that satisfies the requirement torch==2.0.1 (from versions: 2.6.0, 2.7.0)\n"


def _python(version: str) -> str:
    return f"$ python3 --version\nPython {version}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (_python("3.12.3") + _WHEEL, "is for cp310, but this Python is 3.12.3, which needs cp312"),
        (_python("3.13.1") + _ASKED + _NONE, "for Python 3.8 to 3.12, but this Python is 3.13.1"),
        (
            _python("3.12.3") + "$ pip install torch==2.0.1\n" + _PINNED,
            "for Python 3.8 to 3.11, but this Python is 3.12.3",
        ),
    ],
)
def test_both_are_named(text: str, words: str) -> None:
    cause = diagnosed(text).causes[0]
    assert cause.cause == "python-package-mismatch"
    assert words in cause.message


@pytest.mark.parametrize(
    "text",
    [
        _python("3.10.12") + _WHEEL,
        _WHEEL,
        _python("3.12.3") + _WHEEL.replace("cp310-cp310", "cp38-abi3"),
        _python("3.11.9") + _ASKED + _NONE,
        _ASKED + _NONE,
    ],
)
def test_a_python_that_fits_or_is_not_known_is_not_accused(text: str) -> None:
    said = " ".join(cause.message for cause in diagnosed(text).causes)
    assert "and this Python is" not in said and said
