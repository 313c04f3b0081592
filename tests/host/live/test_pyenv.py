"""Which Python a shim of pyenv starts, told without running the shim."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from rocdoctor.host.live.interpreter import PROBE, ChosenInterpreter, Identity, chosen
from rocdoctor.host.live.pyenv import behind_shim

# As pyenv-rehash writes them (pyenv/pyenv, libexec/pyenv-rehash, 2026-11-29).
SHIM = """#!/usr/bin/env bash
set -e
[ -n "$PYENV_DEBUG" ] && set -x

program="${0##*/}"

export PYENV_ROOT="@root"
exec "@root/libexec/pyenv" exec "$program" "$@"
"""
PLAIN = {"PATH": "/usr/bin", "HOME": "/nonexistent"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A pyenv with two versions, of which one is the usual one."""
    for version in ("3.11.7", "3.12.1"):
        program = tmp_path / "versions" / version / "bin" / "python3"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    (tmp_path / "version").write_text("3.11.7\n")
    shim = tmp_path / "shims" / "python3"
    shim.parent.mkdir()
    shim.write_text(SHIM.replace("@root", str(tmp_path)))
    shim.chmod(0o755)
    return tmp_path


def started(root: Path, environment: Mapping[str, str]) -> str | None:
    found = behind_shim(str(root / "shims" / "python3"), environment)
    return None if found is None else found[0]


def test_the_usual_version_is_started(root: Path) -> None:
    found = behind_shim(str(root / "shims" / "python3"), PLAIN)
    assert found is not None
    program, environment = found
    assert program == str(root / "versions/3.11.7/bin/python3")
    assert environment["PATH"] == f"{root}/versions/3.11.7/bin:/usr/bin"
    assert (environment["PYENV_ROOT"], environment["PYENV_VERSION"]) == (str(root), "3.11.7")
    assert environment["HOME"] == "/nonexistent"


def test_the_version_of_the_environment_goes_before(root: Path) -> None:
    assert started(root, {**PLAIN, "PYENV_VERSION": "3.12.1"}) == str(root / "versions/3.12.1/bin/python3")


@pytest.mark.parametrize("version", ["3.12", "3.12.1:3.11.7", "system", "..", "../versions/3.11.7", "3.12.1\n3.11.7"])
def test_what_is_no_single_version_is_left_to_the_shim(root: Path, version: str) -> None:
    assert started(root, {**PLAIN, "PYENV_VERSION": version}) is None
    (root / "version").write_text(version + "\n")
    assert started(root, PLAIN) is None


@pytest.mark.parametrize("variable", ["PYENV_DIR", "PYENV_HOOK_PATH"])
def test_what_has_rules_of_its_own_is_left_to_the_shim(root: Path, variable: str) -> None:
    assert started(root, {**PLAIN, variable: str(root)}) is None


def test_the_version_of_a_folder_or_hooks_are_left_to_the_shim(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = root / ".python-version"
    monkeypatch.setattr("rocdoctor.host.live.pyenv._FOLDER", str(own))
    assert started(root, PLAIN) is not None
    own.write_text("3.12.1\n")
    assert started(root, PLAIN) is None
    own.unlink()
    monkeypatch.setattr("rocdoctor.host.live.pyenv._HOOKS", (str(root),))
    assert started(root, PLAIN) is None


def test_other_scripts_are_run_themselves(root: Path) -> None:
    shim = root / "shims" / "python3"
    for other in ("", "#!/bin/sh\nexec python3.9\n", SHIM.replace("@root", "/elsewhere"), "x" * 5000):
        shim.write_text(other)
        assert started(root, PLAIN) is None
    assert behind_shim(str(root / "versions/3.11.7/bin/python3"), PLAIN) is None


def test_an_interpreter_is_asked_without_its_shim(root: Path) -> None:
    shim = str(root / "shims" / "python3")
    argv, environment = ChosenInterpreter(shim, environment=PLAIN).command(["--import"])
    assert argv == [str(root / "versions/3.11.7/bin/python3"), "-B", str(PROBE), "--import"]
    assert environment is not None
    assert environment["PYENV_VERSION"] == "3.11.7"
    other = Identity(1000, 1000, (1000,), "somebody", "/home/somebody")  # whose version may be another
    argv, environment = ChosenInterpreter(shim, who=other, environment=PLAIN).command([])
    assert (argv[0], environment) == (shim, PLAIN)
    assert ChosenInterpreter("/usr/bin/python3").command([]) == (["/usr/bin/python3", "-B", str(PROBE)], None)


@pytest.mark.live
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize(
    ("other", "started"),
    [
        ("versions/3.12.1/lib/python3.12/os.py", True),  # of a Python that does not run
        ("versions/3.11.7/lib/python3.11/os.py", False),
        ("versions/3.11.7/lib/python3.11/encodings/utf_8.py", False),
        ("versions/3.11.7/bin/python3", False),
        ("versions", False),
    ],
)
def test_root_judges_what_a_shim_starts_and_starts_what_it_judged(root: Path, other: str, started: bool) -> None:
    for version in ("3.11.7", "3.12.1"):
        library = root / "versions" / version / "lib" / f"python{version[:4]}"
        (library / "encodings").mkdir(parents=True)
        for file in (library / "os.py", library / "encodings" / "utf_8.py"):
            file.write_text("")
    os.chown(root / other, 65534, 65534)
    shim = str(root / "shims" / "python3")
    how = chosen(shim, "start", PLAIN)
    assert (how.behind is not None) == started
    if started:
        assert (how.who, how.refused) == (None, "")
        (root / "version").write_text("3.12.1\n")  # too late: that one was not judged
        assert how.command([])[0][0] == str(root / "versions/3.11.7/bin/python3")
    else:
        assert how.refused.startswith("root does not run")


@pytest.mark.live
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("other", [None, "versions/3.12.1/bin/python3", "versions/3.12.1/bin"])
def test_a_shim_of_several_versions_may_start_any(root: Path, other: str | None) -> None:
    if other:
        os.chown(root / other, 65534, 65534)
    how = chosen(str(root / "shims" / "python3"), "start", {**PLAIN, "PYENV_VERSION": "3.12"})
    assert how.behind is None
    assert how.refused.startswith("root does not run") == (other is not None)
