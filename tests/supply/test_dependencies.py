"""Dependencies are few, named with a reason, locked for development, and their lower bounds work."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from importlib import import_module
from importlib.metadata import requires as required_by
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.kit import ROOT


def _project() -> dict[str, Any]:
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "setuptools._vendor.tomli")
    loaded: dict[str, Any] = toml.loads((ROOT / "pyproject.toml").read_text())
    return dict(loaded["project"])


def _names(requirements: list[str]) -> list[str]:
    return [re.split(r"[\[<>=!~; ]", one)[0].lower() for one in requirements]


def test_every_dependency_has_a_reason_in_the_readme() -> None:
    project, readme = _project(), (ROOT / "README.md").read_text().lower()
    extras = project["optional-dependencies"]
    named = _names(project["dependencies"]) + _names(extras["dev"]) + _names(extras["site"])
    words = readme.split("## dependencies")[1]
    for name in named:
        plain = name.removeprefix("types-")
        assert plain in words, name
    assert len(project["dependencies"]) <= 7


def test_every_dependency_has_a_lower_bound_and_the_lock_a_version() -> None:
    project = _project()
    lock = (ROOT / "requirements-dev.lock").read_text().lower()
    assert all(">=" in one.partition(";")[0] for one in project["dependencies"])
    for name in _names(project["dependencies"]) + _names(project["optional-dependencies"]["dev"]):
        assert re.search(rf"^{re.escape(name)}==", lock, re.MULTILINE), name


def _locked() -> dict[str, Requirement]:
    lines = (ROOT / "requirements-dev.lock").read_text().splitlines()
    ours = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(one.name): one for one in ours if one.marker is None or one.marker.evaluate()}


def _needed() -> set[str]:
    """What the development of rocdoctor needs in this environment, and what that needs, and so on."""
    found: set[tuple[str, str]] = set()
    waiting = [("rocdoctor", "dev")]
    while waiting:
        name, extra = waiting.pop()
        for line in required_by(name) or ():
            one = Requirement(line)
            if one.marker is not None and not one.marker.evaluate({"extra": extra}):
                continue
            also = [(str(canonicalize_name(one.name)), each) for each in ("", *one.extras)]
            fresh = [each for each in also if each not in found and not _CUDA.match(one.name)]
            found.update(fresh)
            waiting += fresh
    return {name for name, _ in found}


# What torch brings for CUDA, in versions that it names itself, and only on some machines.
_CUDA = re.compile("nvidia-|cuda-|triton")


def test_this_environment_is_the_one_of_the_lock() -> None:
    locked = _locked()
    needed = _needed()
    assert {"rich", "pygments", "setuptools", "linkify-it-py"} <= needed, "what is needed indirectly counts"
    words = "pip install -c requirements-dev.lock -e '.[dev]' mends it, or the lock has to name what is installed"
    assert needed - locked.keys() == set(), f"not in the lock: {words}"
    # A local part ("+cpu") names a build, not a version.
    differs = {
        name: f"{version(name)} is installed, {locked[name].specifier} is locked"
        for name in needed
        if not locked[name].specifier.contains(Version(version(name)).public, prereleases=True)
    }
    assert differs == {}, words


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
        "tests/cli/commands",
        "tests/tui",
        "tests/lint",
    )
