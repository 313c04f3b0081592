"""Dependencies are few, named with a reason, locked for development, and their lower bounds work."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.kit import ROOT


def _project() -> dict[str, Any]:
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "setuptools._vendor.tomli")
    loaded: dict[str, Any] = toml.loads((ROOT / "pyproject.toml").read_text())
    return dict(loaded["project"])


def _names(requirements: list[str]) -> list[str]:
    return [re.split(r"[\[<>=!~; ]", one)[0].lower() for one in requirements]


def test_every_dependency_has_a_reason_in_the_readme() -> None:
    project, readme = _project(), (ROOT / "README.md").read_text().lower()
    named = _names(project["dependencies"]) + _names(project["optional-dependencies"]["dev"])
    words = readme.split("## dependencies")[1]
    for name in named:
        plain = name.removeprefix("types-")
        assert plain in words, name
    assert len(project["dependencies"]) <= 4


def test_every_dependency_has_a_lower_bound_and_the_lock_a_version() -> None:
    project = _project()
    lock = (ROOT / "requirements-dev.lock").read_text().lower()
    assert all(">=" in one for one in project["dependencies"])
    for name in _names(project["dependencies"]) + _names(project["optional-dependencies"]["dev"]):
        assert re.search(rf"^{re.escape(name)}==", lock, re.MULTILINE), name


@pytest.mark.heavy
def test_the_lowest_versions_work(tmp_path: Path) -> None:
    folder = tmp_path / "lowest"
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    lowest = [one.replace(">=", "==") for one in _project()["dependencies"]]

    def run(*arguments: str) -> None:
        done = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT, timeout=900, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]

    run(python, "-m", "pip", "install", "-q", *lowest)
    run(python, "-m", "pip", "install", "-q", "--no-deps", str(ROOT))
    run(python, "-m", "pip", "install", "-q", "pytest", "pytest-xdist", "hypothesis")
    run(
        python,
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "tests/golden/test_golden.py",
        "tests/commands",
        "tests/tui",
        "tests/lint",
    )
