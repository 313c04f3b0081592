"""Properties are tried on as many examples as the profile says, wherever they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.examples import examples
from tests.kit import ROOT

_MAY = {"tests/conftest.py", "tests/examples.py", "tests/project/test_examples.py"}


def _users() -> Iterator[str]:
    for path in (ROOT / "tests").rglob("*.py"):
        if re.search(
            r"^from hypothesis import .*\bsettings\b|\bhypothesis\.settings\(", path.read_text("utf-8"), re.MULTILINE
        ):
            yield str(path.relative_to(ROOT))


def test_no_property_has_settings_of_its_own() -> None:
    assert set(_users()) == _MAY, "tests.examples has a share of what the profile gives"


def test_a_share_of_the_profile_is_one_example_at_least() -> None:
    whole = settings().max_examples
    assert (examples(3).max_examples, examples(1e-9).max_examples) == (3 * whole, 1)
    assert examples(3).deadline is None


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ({}, "dev"),
        ({"CI": "true"}, "ci"),
        ({"HYPOTHESIS_PROFILE": "heavy", "CI": "true"}, "heavy"),
        ({"HYPOTHESIS_PROFILE": "dev", "CI": "true"}, "dev"),
    ],
)
def test_the_environment_chooses_the_profile(told: dict[str, str], name: str) -> None:
    code = "import tests.conftest, hypothesis; print(hypothesis.settings.get_current_profile_name())"
    kept = {key: value for key, value in os.environ.items() if key not in ("CI", "HYPOTHESIS_PROFILE")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**kept, **told},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=True,
    )
    assert done.stdout.strip() == name
