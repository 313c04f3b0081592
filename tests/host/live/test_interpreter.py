"""Which interpreter is meant, as whom it is run, and with which variables; users and disks are made up."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocdoctor.host.base import Answer
from rocdoctor.host.live import interpreter, memory_tracing, programs
from rocdoctor.host.live.interpreter import Identity, chosen, interpreter_of_root
from rocdoctor.host.live.live_host import LiveHost
from rocdoctor.host.live.programs import find_interpreter
from rocdoctor.host.live.trust import Weakness
from rocdoctor.train.smoke.run import processes

SUDO = {"SUDO_USER": "alice", "SUDO_UID": "1000", "SUDO_GID": "1000"}
ALICE = Identity(1000, 1000, (1000, 44), "alice", "/home/alice")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with an environment, as the current one; PATH leads to another one."""
    for folder in ("venv/bin", "path"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("venv/bin/python", "path/python3", "path/mypython", "mypython", "here"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/path:/usr/bin:/bin")
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", *SUDO):
        monkeypatch.delenv(name, raising=False)
    _forget()
    yield tmp_path
    _forget()


def _forget() -> None:
    for one in (programs.find_program, programs._directories, programs.child_environment, programs.dead):
        one.cache_clear()


@pytest.mark.parametrize(
    ("which", "found"),
    [
        ("venv", "venv/bin/python"),
        ("venv/bin/python", "venv/bin/python"),
        ("./venv/bin/python", "./venv/bin/python"),
        ("mypython", "path/mypython"),  # as a shell: PATH first
        ("here", "here"),
        (None, "path/python3"),
    ],
)
def test_an_interpreter_has_an_absolute_path(place: Path, which: str | None, found: str) -> None:
    path = find_interpreter(which)
    assert path is not None and os.path.isabs(path)
    assert os.path.samefile(path, place / found)


def test_what_is_no_interpreter_is_none(place: Path) -> None:
    (place / "text").write_text("")
    assert find_interpreter("text") is None
    assert find_interpreter("none/python") is None
    assert find_interpreter("path") is None


def test_the_active_environment_may_be_named_relatively(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", "venv")
    assert find_interpreter(None) == str(place / "venv/bin/python")


def test_without_an_active_environment_that_of_set_up_is_taken(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(place / "home"))
    assert find_interpreter(None) == str(place / "path/python3")
    made = place / "home/torch-venv/bin/python"
    made.parent.mkdir(parents=True)
    made.write_text("#!/bin/sh\n")
    assert find_interpreter(None) == str(place / "path/python3"), "it cannot be run"
    made.chmod(0o755)
    assert find_interpreter(None) == str(made)
    monkeypatch.setenv("VIRTUAL_ENV", str(place / "venv"))
    assert find_interpreter(None) == str(place / "venv/bin/python")


@pytest.mark.live
def test_a_relative_interpreter_is_asked(place: Path) -> None:
    marker = place / "ran"
    (place / "venv/bin/python").write_text(f"#!/bin/sh\ntouch {marker}\n")
    LiveHost(python="venv/bin/python").ask("python default")
    assert marker.exists()


# -- as whom


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> list[Weakness]:
    """We are root; what is weak is what a test puts into the list."""
    weak: list[Weakness] = []
    monkeypatch.setattr(interpreter, "privileged", lambda: True)
    monkeypatch.setattr(programs, "privileged", lambda: True)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(interpreter, "weak_interpreter", lambda path, use="build", most=0, step=None: weak)
    monkeypatch.setattr(interpreter, "identity", lambda uid, gid=None: ALICE if uid == 1000 else _unknown(uid))
    monkeypatch.setattr(interpreter, "may", lambda path, who: True)
    return weak


def _unknown(uid: int) -> Identity:
    return Identity(uid, uid, (uid,), str(uid), "/")


def _sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SUDO.items():
        monkeypatch.setenv(name, value)


OWNED = Weakness("/home/alice/venv", 1000, "belongs to user 1000")
BOB = Weakness("/home/bob", 1001, "belongs to user 1001")
GROUP = Weakness("/opt/conda", None, "can be changed by group 500")


@pytest.mark.parametrize(
    ("weak", "sudo", "uid", "imports", "refused"),
    [
        ([], False, None, True, ""),
        ([], True, 1000, True, ""),
        ([OWNED], True, 1000, True, ""),
        ([BOB], True, 1000, True, ""),  # what the caller would run without sudo
        ([GROUP], True, 1000, True, ""),
        ([OWNED], False, 1000, False, ""),  # a root shell, a container: GPUs are asked with the rights of root
        ([OWNED, BOB], False, None, True, "a user who may, or add --trust-interpreter"),
        ([GROUP], False, None, True, "group 500"),
    ],
)
def test_as_whom_root_asks_an_interpreter(
    place: Path,
    root: list[Weakness],
    monkeypatch: pytest.MonkeyPatch,
    weak: list[Weakness],
    sudo: bool,
    uid: int | None,
    imports: bool,
    refused: str,
) -> None:
    root += weak
    if sudo:
        _sudo(monkeypatch)
    how = chosen("/x/bin/python", "import")
    assert (how.who and how.who.uid, not how.not_imported) == (uid, imports)
    assert refused in how.refused and bool(refused) == bool(how.refused)


@pytest.mark.parametrize("sudo", [True, False])
def test_root_runs_no_smoke_tests_in_an_interpreter_of_others(
    place: Path, root: list[Weakness], monkeypatch: pytest.MonkeyPatch, sudo: bool
) -> None:
    assert interpreter_of_root("venv") == (str(place / "venv/bin/python"), "")
    root.append(OWNED)
    if sudo:
        _sudo(monkeypatch)
    path, why = interpreter_of_root("venv")
    assert path is None
    assert "/home/alice/venv belongs to user 1000; run " in why
    assert ("without sudo" if sudo else "--trust-interpreter") in why
    assert interpreter_of_root("venv", trust=True)[0] is not None


def test_who_cannot_reach_the_interpreter_is_not_used(
    place: Path, root: list[Weakness], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreter, "may", lambda path, who: False)
    _sudo(monkeypatch)
    assert chosen("/root/venv/bin/python", "import").who is None, "of root alone: root itself"
    root.append(OWNED)
    assert "is not allowed to read" in chosen("/x/bin/python", "import").refused


def test_a_trace_of_memory_is_made_as_the_same_user(
    place: Path, root: list[Weakness], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []

    def run(question: str, argv: object, limit_s: float, environment: object, who: object) -> Answer:
        seen.extend((environment, who))
        return Answer(question, "ok")

    monkeypatch.setattr(memory_tracing, "run_bounded", run)
    monkeypatch.setenv("SECRET", "x")
    root.append(OWNED)
    memory_tracing.trace_memory("venv", {}, 1.0)
    environment, who = seen
    assert who == ALICE
    assert isinstance(environment, dict) and "SECRET" not in environment and environment["HOME"] == "/home/alice"
    root.append(BOB)
    assert "root does not run" in memory_tracing.trace_memory("venv", {}, 1.0).note


# -- with which variables


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies below /good is root's alone."""
    monkeypatch.setattr(programs, "privileged", lambda: True)
    monkeypatch.setattr(
        programs,
        "_weak_place",
        lambda path, *_: not f"{path}/".startswith(("/good/", "/usr/", "/root/", "//x.example/")),
    )
    monkeypatch.setattr(programs, "_directories", lambda: ("/usr/bin",))
    monkeypatch.setattr(programs, "root_home", lambda: "/root")


def test_an_interpreter_of_root_gets_no_paths_and_no_code_of_others(disk: None) -> None:
    base = {
        "PATH": "/home/u/bin:/usr/bin:relative:",
        "LD_LIBRARY_PATH": "/good/lib:/home/u/lib",
        "PYTHONPATH": "/home/u/lib",
        "MODULEPATH": "home/u/modules::/good/modules",  # children start in /
        "CMAKE_PREFIX_PATH": "home/u/lib",
        "LD_PRELOAD": "x.so",
        "LD_AUDIT": "/usr/lib/x.so",
        "PERL5OPT": "-Mx",
        "BASH_ENV": "x",
        "PYTHONSTARTUP": "x",
        "BASH_FUNC_ls%%": "() { id; }",
        "HOME": "/home/u",
        "HSA_TOOLS_LIB": "/home/u/x.so",
        "TMPDIR": "/home/u/tmp",
        "NCCL_CONF": "a=1,b=/home/u/x",
        "LESSOPEN": "|/home/u/x %s",
        "LESSCLOSE": "'/home/u/x' %s",
        "CC": "gcc -B/home/u/x",
        "CFLAGS": "-O2 -I/home/u/x",
        "LESSFILTER": "||-/home/u/x %s",
        "LIST": "[/home/u/x]",
        "BRACES": "{/home/u/x}",
        "PLACE": "a@/home/u/x",
        "CXXFLAGS": "-I/good",
        "NCCL_DEBUG": "INFO",
        "HF_TOKEN": "hf_x",
        "ROCM_PATH": "/good/rocm",
        "URL": "http://x.example/y",
        "PS4": "$(id)",
        "TRITON_CACHE_DIR": "/good/cache",
    }
    assert programs.interpreter_environment(base) == {
        "PATH": "/usr/bin",
        "LD_LIBRARY_PATH": "/good/lib",
        "MODULEPATH": "/good/modules",
        "HOME": "/root",
        "NCCL_DEBUG": "INFO",
        "HF_TOKEN": "hf_x",
        "ROCM_PATH": "/good/rocm",
        "TRITON_CACHE_DIR": "/good/cache",
        "URL": "http://x.example/y",
        "CXXFLAGS": "-I/good",
    }


def test_programs_of_root_get_an_environment_from_scratch(disk: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    given = {
        "PATH": "/home/u/bin",
        "HOME": "/home/u",
        "LD_PRELOAD": "/good/x.so",
        "PYTHONPATH": "/good",
        "SECRET": "x",
        "ROCDOCTOR_SMOKE_KEY": "0123456789abcdef0123456789abcdef",
        "HIP_VISIBLE_DEVICES": "0,1",
        "HSA_OVERRIDE_GFX_VERSION": "10.3.0",
        "HSA_ENABLE_SDMA": "$(id)",
        "ROCM_PATH": "/good/rocm",
        "SLURM_CONF": "/home/u/slurm.conf",
        "TZ": "Europe/Berlin",
        "LD_LIBRARY_PATH": "relative:/good/lib::/home/u",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert programs.child_environment.__wrapped__() == {
        "PATH": "/usr/bin",
        "HOME": "/nonexistent",
        "USER": "root",
        "LOGNAME": "root",
        "HIP_VISIBLE_DEVICES": "0,1",
        "HSA_OVERRIDE_GFX_VERSION": "10.3.0",
        "ROCM_PATH": "/good/rocm",
        "LD_LIBRARY_PATH": "/good/lib",
        "TZ": "Europe/Berlin",
        "LC_ALL": "C",
        "LANG": "C",
        "NO_COLOR": "1",
        "PAGER": "cat",
        "SYSTEMD_PAGER": "cat",
    }


def test_the_key_of_a_run_over_nodes_is_told_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCDOCTOR_SMOKE_KEY", "0123456789abcdef0123456789abcdef")
    monkeypatch.setattr(programs, "_directories", lambda: ("/usr/bin",))
    assert "ROCDOCTOR_SMOKE_KEY" not in programs.environment_of("alice", "/home/alice")
    assert "ROCDOCTOR_SMOKE_KEY" not in processes.environment(os.environ, "mark")


def test_without_rights_of_root_the_environment_is_the_user_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "privileged", lambda: False)
    monkeypatch.setenv("LD_PRELOAD", "/x.so")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    usual = programs.child_environment.__wrapped__()
    assert usual == {**os.environ, **programs._PLAIN}
    assert usual["LD_PRELOAD"] == "/x.so"
    assert programs.interpreter_environment({"A": "/home/u"}) == {"A": "/home/u"}


def test_a_working_folder_that_is_gone_hides_no_interpreter_with_an_absolute_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def gone() -> str:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(os, "getcwd", gone)
    assert find_interpreter(sys.executable) == sys.executable
    assert find_interpreter("no-such-folder/python") is None
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    assert find_interpreter(None) == f"{sys.prefix}/bin/python"
