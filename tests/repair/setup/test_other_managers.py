"""Scripts for machines without apt are run to their end, and their managers are told what the plan says."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from rocdoctor.repair.setup.command_lines import is_ready
from rocdoctor.repair.setup.plan import Step
from rocdoctor.repair.setup.script_guards import of_kernel, unattended
from tests.repair.setup.other_managers import machines, of_apt, played, written
from tests.repair.setup.test_script import needs_bash
from tests.train.emit.readers.venvs import READERS

_MANAGERS = ("dnf", "zypper", "pacman", "subscription-manager", "SUSEConnect", "crb")
_KERNEL = "5.14.0-0.el9.x86_64"
# What AMD's pages give these two, which no archive of a distribution has here to be asked (100-prerequisites.rst,
# package-manager-sles.rst, read 2026-11-24).
_AS_ON_THE_PAGES = {
    "subscription-manager": (("repos", "--enable"),),
    "SUSEConnect": (("-p",),),
    "crb": (("enable",),),
}


def _wanted(step: Step) -> list[tuple[str, ...]]:
    """The calls that a step makes of managers, as a script makes them."""
    found = [unattended(one.words) for one in step.actions if one.words and one.words[0] in _MANAGERS]
    return [tuple(_of_this_kernel(word) for word in one) for one in found]


def _of_this_kernel(word: str) -> str:
    shown = of_kernel(word)
    return shown.replace('"$(uname -r)"', _KERNEL) if shown else word


@needs_bash
def test_each_script_runs_to_its_end_and_calls_what_the_plan_has(tmp_path: Path) -> None:
    wrong: dict[str, object] = {}
    for name, case in machines().items():
        one = written(case)
        (tmp_path / name).mkdir()
        statuses, calls = played(tmp_path / name, one)
        todo = [step for step in one.plan.steps if step.state in ("todo", "waiting") and step.risk != "manual"]
        wanted = {call for step in todo if all(map(is_ready, step.actions)) for call in _wanted(step)}
        made = {call for call in calls if call[0] in _MANAGERS}
        assert [call for call in made if call[:2] == ("dnf", "module")] == [], "it would ask"
        if statuses[-1] not in (0, 1) or not wanted or made != wanted:
            wrong[name] = (statuses, sorted(wanted - made), sorted(made - wanted))
        for program, first in _AS_ON_THE_PAGES.items():
            odd = [call for call in made if call[0] == program and call[1 : 1 + len(first[0])] not in first]
            assert odd == [], name
    assert wrong == {}


@needs_bash
def test_no_script_asks_for_the_same_restart_again_and_again(tmp_path: Path) -> None:
    """Where nothing tells of a command whether it is done, the next run would do it again, and restart again."""
    ends = {}
    for name, case in {**of_apt(), **machines()}.items():
        (tmp_path / name).mkdir()
        statuses, _ = played(tmp_path / name, written(case))
        if statuses.count(10) > 1 or statuses[-1] in (10, 11):
            ends[name] = statuses
    assert ends == {}


@needs_bash
@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck here")
def test_bash_and_shellcheck_read_each_of_them(tmp_path: Path) -> None:
    files = []
    for name, case in machines().items():
        files.append(tmp_path / f"{name}.sh")
        files[-1].write_text(written(case).script)
        assert subprocess.run(["bash", "-n", str(files[-1])], capture_output=True, check=False).returncode == 0, name
    done = subprocess.run(["shellcheck", *map(str, files)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[:2000]


# -- the managers themselves, of Debian's archive, unpacked and not installed

# What each says of words that it does not take; anything else (no repository, no root) comes after the words are read.
_REFUSALS = {
    "dnf": ("unrecognized arguments", "argument ", "No such command", "usage: dnf"),
    "zypper": ("is not known", "Unknown command", "Missing argument", "Too many arguments", "Usage:"),
    "pacman": ("invalid option", "unrecognized option", "no operation specified", "requires an argument"),
}


@cache
def _real() -> Path:
    """The folder of the unpacked packages with what they need."""
    folder = READERS / "package-managers"
    root = folder / "root"
    if (root / "usr/bin/zypper").exists():
        return root
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        pytest.skip("the package managers are taken from packages of Debian")
    (folder / "cache/archives/partial").mkdir(parents=True, exist_ok=True)
    names = ("dnf", "zypper", "pacman-package-manager")
    options = (f"-oDir::Cache={folder}/cache", "-oDebug::NoLocking=1", "-oAPT::Sandbox::User=root")
    words = ["apt-get", "-qy", "--download-only", "--no-install-recommends", *options, "install", *names]
    if subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("the packages of the managers could not be had")
    # The plug-ins may not be installed beside zypper; here nothing is installed.
    plugins = ["apt-get", "-q", "download", "dnf-plugins-core"]
    subprocess.run(plugins, cwd=folder / "cache/archives", capture_output=True, check=True)
    for package in sorted((folder / "cache/archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    return root


def _said(call: tuple[str, ...], empty: Path) -> str:
    """What the program says of its words in an empty root, where it has no repositories and installs nothing."""
    real = _real()
    inside = {
        "dnf": (
            "/usr/bin/python3",
            f"{real}/usr/bin/dnf",
            f"--installroot={empty}",
            f"--setopt=pluginpath={_plugins()}",
        ),
        "zypper": (f"{real}/usr/bin/zypper", "--root", str(empty)),
        "pacman": (f"{real}/usr/bin/pacman",),
    }[call[0]]
    behind = ("--root", str(empty), "--dbpath", str(empty), "--config", f"{real}/etc/pacman.conf")
    rpm = (f"{real}/usr/lib/rpm", "/usr/lib/rpm")  # what is installed already was not downloaded
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(empty),
        "LC_ALL": "C.UTF-8",
        "LD_LIBRARY_PATH": f"{real}/usr/lib/x86_64-linux-gnu:{real}/usr/lib",
        "PYTHONPATH": f"{real}/usr/lib/python3/dist-packages",
        "RPM_CONFIGDIR": next(one for one in rpm if (Path(one) / "macros").exists()),
    }
    words = [*inside, *call[1:], *(behind if call[0] == "pacman" else ())]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=120)
    return done.stdout + done.stderr


def _plugins() -> str:
    return f"{_real()}/usr/lib/python3/dist-packages/dnf-plugins"


def _refused(call: tuple[str, ...], empty: Path) -> str:
    said = _said(call, empty)
    return said if any(one in said for one in _REFUSALS[call[0]]) else ""


def _calls() -> Iterator[tuple[str, ...]]:
    """Each call of a manager in the plans and their undo, unlike ones once."""
    seen = set()
    for case in machines().values():
        for step in written(case).plan.steps:
            for action in (*step.actions, *step.undo):
                call = unattended(action.words) if action.words else ()
                if call and call[0] in _REFUSALS and call not in seen:
                    seen.add(call)
                    yield call


@pytest.mark.reader
def test_each_manager_takes_the_words_that_it_is_given(tmp_path: Path) -> None:
    calls = list(_calls())
    assert {call[0] for call in calls} == set(_REFUSALS)
    for wrong in (("dnf", "-y", "--bogus", "install", "x"), ("zypper", "--bogus", "refresh"), ("pacman", "-Sz", "x")):
        assert _refused(wrong, tmp_path), wrong
    assert {call: said[:300] for call in calls if (said := _refused(call, tmp_path))} == {}
