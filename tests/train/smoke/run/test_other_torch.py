"""Where the interpreter under test has no torch, and the environment that rocdoctor runs in has."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rocdoctor.host.live import programs
from rocdoctor.train.smoke.run import answer
from rocdoctor.train.smoke.run.pool import PoolError

_NONE = PoolError("torch is not installed", missing_torch=True)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A virtual environment of rocdoctor's own, in a folder with a blank in its name."""
    prefix = tmp_path / "an environment"
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(prefix / "lib" / name))
    return prefix


def _with_torch(own: Path) -> None:
    (own / "lib/platlib/torch").mkdir(parents=True)
    (own / "lib/platlib/torch/__init__.py").touch()


def test_it_is_named_where_it_has_torch(own: Path) -> None:
    assert programs.own_environment_with_torch() == ""
    assert "another interpreter" in answer._advice(_NONE, None, "/usr/bin/python3")
    _with_torch(own)
    assert answer._advice(_NONE, None, "/usr/bin/python3").endswith(f"add --python '{own}'")


def test_it_is_not_named_where_it_was_tried_or_another_was_meant(own: Path) -> None:
    _with_torch(own)
    for named, interpreter in (("/usr/bin/python3", "/usr/bin/python3"), (None, str(own / "bin/python"))):
        assert "another interpreter" in answer._advice(_NONE, named, interpreter)
    assert answer._advice(PoolError("no memory", machine=True), None, "/usr/bin/python3") == ""


def test_an_interpreter_without_an_environment_is_the_systems(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_torch(own)
    monkeypatch.setattr(sys, "base_prefix", sys.prefix)
    assert programs.own_environment_with_torch() == ""
