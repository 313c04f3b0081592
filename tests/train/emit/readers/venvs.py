"""Environments of the real readers: each in a virtual environment of its own, made once and kept.

They lie under ``.venv-readers/`` of the checkout, which git ignores. What several need is installed once: a ``.pth``
file shows an environment the packages of the one below it, so pip finds them there and leaves them alone. torch itself
is the one of these tests, where it has the version: links in a folder of their own show it, which pip never changes.
"""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil
import pytest
from packaging.requirements import Requirement

from tests.kit import ROOT

READERS = ROOT / ".venv-readers"
_MARK = "made-from.txt"
_PIP_DEADLINE_S = 1800.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """The words after ``pip install``, one command after the other, and the environment whose packages are shared.

    ``lent`` is taken with all that it requires from the interpreter of the tests, where that has it.
    """

    commands: tuple[tuple[str, ...], ...]
    base: str | None = None
    lent: str = ""


_DATA = ("pyarrow", "pandas", "aiohttp", "multiprocess", "xxhash", "tokenizers", "safetensors", "huggingface-hub")
RECIPES: Mapping[str, Recipe] = {
    "torch": Recipe((("torch==2.13.0", "numpy>=1.26", "setuptools>=77,<82"),), lent="torch==2.13.0"),
    # What data sets need, whichever release.
    "data": Recipe(((*_DATA,),), "torch"),
    "accelerate": Recipe((("accelerate==1.15.0",),), "data"),
    # Its setup imports torch, so it is built among the packages that are there.
    "deepspeed": Recipe((("ninja", "wheel"), ("--no-build-isolation", "deepspeed==0.19.8")), "torch"),
    "trainer": Recipe((("transformers==5.23.0", "peft", "bitsandbytes"),), "accelerate"),
    "trl": Recipe((("trl==1.16.0",),), "trainer"),
    # Its parser needs few of the packages that it names.
    "llamafactory": Recipe(
        (
            ("--no-deps", "llamafactory==0.9.5"),
            ("transformers==5.6.0", "accelerate==1.11.0", "peft==0.18.1", "datasets==4.0.0"),
            ("omegaconf", "sentencepiece"),
        ),
        "data",
    ),
    # Its checker needs few of the packages that it names.
    "axolotl": Recipe(
        (
            ("--no-deps", "axolotl==0.19.0"),
            ("transformers==5.16.1", "accelerate==1.13.0", "peft==0.20.0", "datasets==4.8.4", "pydantic==2.12.5"),
            ("addict", "fire", "colorama", "einops", "python-dotenv", "posthog==6.7.11", "bitsandbytes", "pillow"),
        ),
        "data",
    ),
    # Without triton, which is 1 GB and never called: stand_in.py gives its name to what imports it.
    "torchtitan": Recipe(
        (
            ("--no-deps", "torchtitan==0.3.0"),
            ("tyro", "einops", "pillow", "safetensors", "tensorboard", "tokenizers", "datasets>=3.6,<4.8"),
            ("spmd_types==0.2.3", "torchdata>=0.8", "torch_checkpointing>=0.1"),
        ),
        "data",
    ),
    # It asks for Python 3.12 and its wheels, the argument parser included, also work on older ones (stand_in.py).
    "megatron": Recipe(
        (("--no-deps", "--ignore-requires-python", "megatron-core==0.19.2"), ("packaging", "einops", "tensorboard")),
        "torch",
    ),
    "kubernetes": Recipe((("kubernetes-validate==1.37.0",),)),
    "ansible": Recipe((("ansible-core>=2.17",),)),  # each Python has its own newest
    "grafana": Recipe((("grafana-foundation-sdk==1769699998!10.1.0",),)),
    "dockerfile": Recipe((("dockerfile==3.4.0",),)),  # Docker's own parser
    "site": Recipe((("mkdocs-material==9.8.2",),)),
    # What the program of Debian's package imports; the package itself is only unpacked.
    "cloud-init": Recipe((("PyYAML", "Jinja2", "jsonschema", "jsonpatch", "configobj", "oauthlib", "requests"),)),
}


def reader(name: str) -> Path:
    """The python of an environment, made where it is not there yet; skips the test with pip's reason where it fails."""
    python, reason = _made(name)
    if reason:
        pytest.skip(reason)
    return python


@cache
def _made(name: str) -> tuple[Path, str]:
    """The python of an environment and why it could not be made, asked once a process."""
    recipe = RECIPES[name]
    folder = READERS / name
    python = folder / "bin" / "python"
    if recipe.base is not None:
        _, reason = _made(recipe.base)
        if reason:
            return python, reason
    READERS.mkdir(exist_ok=True)
    with _lock(name):
        mark = folder / _MARK
        wanted = f"{sys.version}\n{recipe}\n{_version_lent(recipe)}\n"
        if mark.is_file() and mark.read_text() == wanted and python.exists():
            return python, ""
        shutil.rmtree(folder, ignore_errors=True)
        reason = _make(folder, recipe)
        if reason:
            return python, f"no environment for {name}: {reason}"
        mark.write_text(wanted)
    return python, ""


@contextmanager
def _lock(name: str) -> Iterator[None]:
    """One process at a time makes an environment; the others wait and find it made."""
    with (READERS / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(folder: Path, recipe: Recipe) -> str:
    """Makes an environment; the reason why not, or nothing.

    It has no pip of its own: this interpreter's installs into it. Byte code is made of what is imported, when it is.
    """
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(folder / "bin" / "python"),
        "install",
        "--no-input",
        "--no-compile",
    ]
    commands = [[sys.executable, "-m", "venv", "--without-pip", str(folder)]]
    commands += [[*pip, *words] for words in recipe.commands]
    for number, command in enumerate(commands):
        try:
            done = run(command, deadline_s=_PIP_DEADLINE_S)
        except OSError as problem:
            return str(problem)
        except subprocess.TimeoutExpired:
            return f"not done after {_PIP_DEADLINE_S:.0f} s: {' '.join(command[1:])}"
        if done.returncode:
            lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
            errors = [line for line in lines if "error" in line.lower()] or lines
            return f"{' '.join(command[1:])}: {errors[-1] if errors else f'exit {done.returncode}'}"
        if number == 0:
            shown = [*_below(recipe), *_lend(recipe, folder)]
            (_packages(folder) / "shared.pth").write_text("".join(f"{one}\n" for one in shown))
    return ""


def _below(recipe: Recipe) -> Iterator[Path]:
    """Folders of packages of the environments below one, the nearest first: a ``.pth`` file in them is not read."""
    while recipe.base is not None:
        folder, recipe = READERS / recipe.base, RECIPES[recipe.base]
        yield _packages(folder)
        if recipe.lent:
            yield folder / "lent"


def _version_lent(recipe: Recipe) -> str:
    """The version that this interpreter has of what it may lend."""
    try:
        return importlib.metadata.version(Requirement(recipe.lent).name) if recipe.lent else ""
    except importlib.metadata.PackageNotFoundError:
        return ""


def _lend(recipe: Recipe, folder: Path) -> list[Path]:
    """Links to what this interpreter has of a recipe, in a folder of their own, and programs that start it."""
    if not recipe.lent:
        return []
    wanted, seen = [Requirement(recipe.lent)], set[str]()
    place = folder / "lent"
    place.mkdir()
    while wanted:
        one = wanted.pop()
        if one.name in seen or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        seen.add(one.name)
        try:
            found = importlib.metadata.distribution(one.name)
        except importlib.metadata.PackageNotFoundError:
            continue  # pip installs it
        if not one.specifier.contains(found.version, prereleases=True):
            continue
        for top in {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}:
            if not (place / top).exists():
                (place / top).symlink_to(Path(str(found.locate_file(top))))
        for start in found.entry_points:
            if start.group == "console_scripts":
                program = folder / "bin" / start.name
                program.write_text(f"#!{folder}/bin/python\nfrom {start.module} import {start.attr}\n{start.attr}()\n")
                program.chmod(0o755)
        wanted += map(Requirement, found.requires or ())
    return [place]


def _packages(folder: Path) -> Path:
    return folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def run(
    command: Sequence[str | Path],
    deadline_s: float = 300.0,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end; subprocess.TimeoutExpired with what it printed when it takes longer.

    Nothing that it started outlives it: a launcher's workers have sessions of their own, so besides its process group
    every descendant is ended. ``environment`` is added to this process's, less what belongs to another run.
    """
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=cwd,
        env=_environment(environment or {}),
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=deadline_s)
    finally:
        _end(process)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """No network and one thread a process; ranks, ports and paths of a run around this one are left out.

    Operators are compiled once, beside the environments: in the folder that all of a user's programs share, the lock of
    a run that was killed lets the next one wait for ever.
    """
    left_out = {
        "PYTHONPATH",
        "PYTHONHOME",
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "GROUP_RANK",
        "MASTER_ADDR",
        "MASTER_PORT",
    }
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in left_out and not name.startswith(("ACCELERATE_", "FSDP_", "DS_", "TORCHELASTIC_", "PYTEST_"))
    }
    ours = {"PYTHONNOUSERSITE": "1", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    ours["TORCH_EXTENSIONS_DIR"] = str(READERS / "ops")
    return kept | ours | dict(more)


def _end(process: subprocess.Popen[str]) -> None:
    """Ends a process with all that it started, politely first: torchrun then ends its workers by itself."""
    family: list[psutil.Process] = []
    if process.poll() is None:
        try:
            family = psutil.Process(process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            family = []
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for one in family:
        with suppress(psutil.NoSuchProcess):
            one.kill()
    process.wait()
