"""Runs rocdoctor on a sick machine, and counts what is left of the run.

The tools are real programs on PATH; the kernel's files are those of a machine of ``tests/machines``, written to a
folder that stands in for ``/sys`` in a mount namespace (``machine``), or this machine's own. Every process of a run
carries a mark in its environment, by which those that outlive it are found.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pwd
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.kit import ROOT
from tests.machines import catalogue
from tests.sick.ill import CANNOT
from tests.waiting import until

MARK = "ROCDOCTOR_SICK_TEST"
ILL = Path(__file__).with_name("ill.py")
# Not how long anything may take, but when a test gives up: the machine may be loaded several times over.
GIVE_UP_S = 120.0
# What a run may take beyond deadlines of questions before it counts as hung; it takes 0.7 s on an idle machine.
MARGIN_S = 45.0
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended. ``left``: command lines of processes that outlived it."""

    code: int
    out: str
    err: str
    seconds: float
    left: tuple[str, ...]


def tool(folder: Path, name: str, text: str) -> Path:
    """A program for /bin/sh on the PATH of the runs."""
    path = folder / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


@dataclass(slots=True)
class Place:
    """A folder with tools and a home; ``words`` are those of ``ill.py``, such as another machine's ``/sys``."""

    folder: Path
    words: tuple[str, ...] = ()
    program: tuple[str, ...] = (sys.executable, "-m", "rocdoctor")

    @property
    def tools(self) -> Path:
        return self.folder / "tools"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def tool(self, name: str, text: str) -> Path:
        return tool(self.tools, name, text)

    def environment(self, **more: str) -> dict[str, str]:
        kept = {
            name: os.environ[name]
            for name in ("TMPDIR", "LD_LIBRARY_PATH", "COVERAGE_PROCESS_START")
            if name in os.environ
        }
        return {
            **kept,
            "PATH": f"{self.tools}:{_SYSTEM_PATH}",
            "HOME": str(self.folder / "home"),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            **more,
        }

    def command(self, arguments: Sequence[str], words: Sequence[str] = ()) -> list[str]:
        words = [*words[:1], *self.words, *words[1:]]
        ill = [sys.executable, "-S", str(ILL), *words, "--"] if words else []
        return [*ill, *self.program, *arguments]

    def start(self, *arguments: str, words: Sequence[str] = (), **options: Any) -> Running:
        """A run that goes on; it is ended with everything of it when the context is left."""
        return Running(self, arguments, words, dict(options))

    def run(
        self, *arguments: str, words: Sequence[str] = (), env: Mapping[str, str] | None = None, text: str = ""
    ) -> Result:
        """A whole run; skips the test where this system cannot be ill that way."""
        with Running(
            self, arguments, words, {"env": dict(env or {}), "stdin": subprocess.PIPE if text else None}
        ) as one:
            return one.result(text)


class Running:
    """One run of rocdoctor and its mark."""

    def __init__(self, place: Place, arguments: Sequence[str], words: Sequence[str], options: dict[str, Any]) -> None:
        self.mark = uuid.uuid4().hex
        more = options.pop("env", {})
        ill = bool(place.words or words)
        environment = {name: value for name, value in place.environment(**more).items() if value != UNSET}
        if not ill:
            environment[MARK] = self.mark
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        streams.setdefault("preexec_fn", as_in_the_foreground)
        ends, self._ends = os.pipe()
        fuse = any(word.startswith("fuse=") for word in [*place.words, *words])
        first = [f"mark={MARK}:{self.mark}"] if ill else []
        command = place.command(arguments, [*([f"ends={ends}"] if fuse else []), *first, *words])
        self.began = time.monotonic()
        started: Any = subprocess.Popen(
            command, env=environment, cwd=place.work, pass_fds=[ends] if fuse else [], **streams
        )
        self.process: subprocess.Popen[bytes] = started
        os.close(ends)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.heal()
        for pid in marked(self.mark):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait(GIVE_UP_S)
        for stream in (self.process.stdout, self.process.stderr, self.process.stdin):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def heal(self) -> None:
        """End what hangs in the kernel."""
        if self._ends >= 0:
            os.close(self._ends)
            self._ends = -1

    def skip_where_it_cannot_be_ill(self, why: str = "this system or this user cannot be ill that way") -> None:
        """Skip the test where the run has ended because of that."""
        if self.process.poll() == CANNOT:
            pytest.skip(why)

    def result(self, text: str = "", wait_for_left_s: float = 5.0) -> Result:
        """Wait for the end, and for the last processes to be gone."""
        try:
            out, err = self.process.communicate(text.encode() or None, timeout=GIVE_UP_S)
        except subprocess.TimeoutExpired:
            pytest.fail("the run does not end")
        seconds = time.monotonic() - self.began
        words = (err or b"").decode(errors="replace")
        self.skip_where_it_cannot_be_ill(words.strip())
        until(lambda: not marked(self.mark), wait_for_left_s)
        names = tuple(filter(None, (_command_line(pid) for pid in marked(self.mark))))
        return Result(self.process.returncode, (out or b"").decode(errors="replace"), words, seconds, names)


def as_shown(words: object) -> str:
    """A path as reports show it to whoever runs the tests: pytest puts the account's name into its folders."""
    account = pwd.getpwuid(os.geteuid()).pw_name if os.geteuid() else ""
    return str(words).replace(account, "user-1") if account else str(words)


def usual(ways: Iterable[Any], *chosen: Any) -> list[Any]:
    """All ways, of which the chosen ones belong to every run of the suite and the others to the heavy stage."""
    return [
        one if one in chosen else pytest.param(*(one if isinstance(one, tuple) else [one]), marks=pytest.mark.heavy)
        for one in ways
    ]


UNSET = "\0unset"


def as_in_the_foreground() -> None:
    """What a shell starts in the background inherits these ignored."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def marked(mark: str) -> list[int]:
    """Processes that carry the mark and live."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError):
                if wanted in Path("/proc", name, "environ").read_bytes().split(b"\0"):
                    found.append(int(name))
    return found


def _command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def wait_until(ready: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait for something that a run does; fails where the run ends before."""
    assert until(lambda: ready() or (process is not None and process.poll() is not None), GIVE_UP_S), "it never came"
    if process is not None and process.poll() is not None and not ready():  # else it was so, for a moment
        pytest.fail(f"the run ended first, with status {process.returncode}")


def place(folder: Path, machine: str = "") -> Place:
    """Where runs happen. With ``machine``, ``/sys`` and the tools are those of a built machine."""
    for name in ("tools", "home", "work"):
        (folder / name).mkdir()
    made = Place(folder)
    made.tool("dmesg", "exit 0\n")
    made.tool("python3", "echo '{}'\n")
    if machine:
        sys_folder, tools = _written(machine)
        for name, text in tools.items():
            made.tool(name, text)
        made.words = (f"bind={sys_folder}:/sys",)
    return made


@cache
def _written(name: str) -> tuple[Path, dict[str, str]]:
    """The ``/sys`` of a built machine as a folder that nobody changes, and the texts of its tools by name."""
    folder = Path(tempfile.mkdtemp(prefix="sick-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    files = next(one for build in catalogue.MACHINES if (one := build()).name == name)
    for parts, data in files.texts.items():
        if parts[0] == "sys":
            path = folder.joinpath(*parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    for parts, target in files.links.items():
        if parts[0] == "sys":
            path = folder.joinpath(*parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(target)
    by_program: dict[str, list[str]] = {}
    for number, (question, program) in enumerate(files.programs.items()):
        output = folder / f"output-{number}"
        output.write_text(program.output)
        verb, _, rest = question.partition(" ")
        name = "python3" if verb == "python" else shlex.split(rest)[0]
        when = "*" if verb == "python" else " ".join(shlex.split(rest)[1:])
        case = f'"{when}") cat {shlex.quote(str(output))}; exit {program.exit_code};;\n'
        by_program.setdefault(name, []).append(case if when != "*" else case.replace('"*"', "*"))
    texts = {name: 'case "$*" in\n' + "".join(cases) + "esac\nexit 1\n" for name, cases in by_program.items()}
    return folder / "sys", texts


def gpus_of(text: str) -> int:
    """How many GPUs the head of a text report counts."""
    lines = re.findall(r"^(?:GPU|gpu [0-9,-]+) +(.*)", text, re.MULTILINE)
    assert lines, text
    counts = [re.match(r"(\d+) x ", line) for line in lines]
    return sum(int(count[1]) if count else 1 for count in counts) if lines != ["none"] else 0


@contextlib.contextmanager
def nothing_new(folder: Path) -> Iterator[None]:
    """The folder holds at the end what it held before."""
    before = sorted(folder.iterdir())
    yield
    assert sorted(folder.iterdir()) == before
