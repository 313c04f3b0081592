"""Properties are tried on as many examples as the profile says, wherever they stand."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.examples import examples, rows
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


def test_all_rows_of_a_table_are_tried_and_each_that_fails_is_named(tmp_path: Path) -> None:
    tried = []

    @rows("number, word", [(1, "one"), (2, "two"), (3, "three"), (4, "four")], ids=lambda row: f"<{row[1]}>")
    def check(number: int, tmp_path: Path, word: str) -> None:
        tried.append((number, tmp_path))
        if number == 3:
            pytest.skip("a row is not left out in silence")
        assert number % 2, word

    assert list(inspect.signature(check).parameters) == ["tmp_path"]  # what pytest is to give
    with pytest.raises(AssertionError) as told:
        check(tmp_path=tmp_path)
    assert tried == [(number, tmp_path) for number in (1, 2, 3, 4)]
    first, *lines = [line for line in str(told.value).splitlines() if line.startswith(("<", "3 of"))]
    assert first == "3 of 4 rows fail:"
    assert [line.split(": ")[:2] for line in lines] == [
        ["<two>", "AssertionError"],
        ["<three>", "Skipped"],
        ["<four>", "AssertionError"],
    ]


def test_a_table_without_rows_is_no_table() -> None:
    with pytest.raises(AssertionError, match="without rows"):
        rows("one", [])
