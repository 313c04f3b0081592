"""The interpreter that torch goes into: the one under test where it is an environment of its own, else a new one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocdoctor.host.base import NEW_ENVIRONMENT
from rocdoctor.judging.check import cite
from rocdoctor.knowledge.software.compat import series
from rocdoctor.model.evidence import Known, Unknown, value_or
from rocdoctor.model.finding import Evidence
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.shell_command import ShellCommand, shell
from rocdoctor.repair.setup.situation import Situation

# Where a new virtual environment is proposed. Not in the current folder: a plan does not know where it is read.
NEW = NEW_ENVIRONMENT
_KINDS = {
    "venv": "a virtual environment",
    "conda": "a conda environment",
    "system": "the system's interpreter",
    "uv": "an interpreter of uv",
    "pyenv": "an interpreter of pyenv",
    "nix": "an interpreter of Nix",
}
# What a path of the evidence may hold to stand in a command (home folders may have any letters).
_PATH = regex(r"(?:/|~/)[\w./+@~ -]{1,400}")
# A product of matrices, compared: it ends with an error where no GPU is seen, and where torch, rocBLAS or cuBLAS has no
# code for it. A sum alone would pass without rocBLAS, which every training step needs.
_GPU_PROOF = (
    "import torch; a = torch.rand(64, 64); b = a.cuda() @ a.cuda(); "
    "print(torch.__version__, torch.cuda.get_device_name()); assert torch.allclose(b.cpu(), a @ a, rtol=1e-3)"
)
_CPU_PROOF = "import torch; a = torch.eye(64); print(torch.__version__); assert torch.equal(a @ a, a)"
_SYSTEMS = ("lxc", "systemd-nspawn")
_SYSTEM = ("/usr/bin/", "/bin/", "/usr/local/bin/", "/run/current-system/")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """``series`` is "3.12"; ``own``: packages may be put in and replaced here without harm to anything else."""

    path: str
    series: str
    kind: str
    own: bool
    managed: bool
    evidence: tuple[Evidence, ...] = ()

    @property
    def words(self) -> str:
        """What it is, in words."""
        return _KINDS.get(self.kind, "an interpreter of its own")

    @property
    def folder(self) -> str:
        """The folder of the environment."""
        return re.sub(r"/bin/python[\d.]*$", "", self.path)

    @property
    def pip(self) -> tuple[str, ...]:
        """The words that start its pip."""
        return (self.path, "-m", "pip")


def under_test(situation: Situation) -> Interpreter | Unknown:
    """The interpreter that was examined; Unknown where the evidence does not show it."""
    torch = situation.machine.torch
    if not isinstance(torch.interpreter, Known):
        return Unknown("no interpreter was examined", torch.interpreter.reason, torch.interpreter.source)
    if not isinstance(torch.python, Known):
        silent = f"the interpreter {torch.interpreter.value} did not report its version of Python"
        return Unknown(silent, torch.python.reason, torch.python.source)
    path, kind = torch.interpreter.value, _kind(situation)
    if not _PATH.fullmatch(path) or "/../" in path or not series(torch.python.value):
        return Unknown(
            "the path or the version of the interpreter is not valid", "unparsable", torch.interpreter.source
        )
    managed = value_or(torch.externally_managed, False)
    # The interpreter of an image serves that image alone, unless its distribution keeps pip away from it; a container
    # that boots a whole system has the system's.
    image = situation.enclosed is not None and not (situation.enclosed in _SYSTEMS and kind == "system")
    own = kind in ("venv", "conda") or (image and not managed)
    evidence = (cite(torch.interpreter, path), cite(torch.python, f"Python {torch.python.value}"))
    return Interpreter(path, series(torch.python.value), kind, own, managed, evidence)


def _kind(situation: Situation) -> str:
    """Who provides it: as the probe said, else by active environments and its place."""
    torch, variables = situation.machine.torch, situation.machine.environment.variables
    path = value_or(torch.interpreter, "")
    if isinstance(torch.environment, Known):
        return torch.environment.value
    for name, kind in (("VIRTUAL_ENV", "venv"), ("CONDA_PREFIX", "conda")):
        if name in variables and path.startswith(f"{variables[name].value.rstrip('/')}/"):
            return kind
    return "system" if path.startswith(_SYSTEM) else "other"


def fresh(situation: Situation, fits: Sequence[str] = ()) -> Interpreter | None:
    """The interpreter of the new environment, where it is known which Python series it will have.

    uv and conda bring any series: then it is one of ``fits``, that of the distribution where it is among them.
    """
    found, here = situation.distribution, under_test(situation)
    python = found.python if found is not None else None
    if situation.choice.maker != "venv" and fits and python not in fits:
        python = fits[-1]
    if python is None and isinstance(here, Interpreter) and here.kind in ("system", "venv"):
        python = here.series  # a distribution without releases: its interpreter is the one that was seen
    return None if python is None else Interpreter(f"{NEW}/bin/python", python, "venv", True, False)


def option(into: Interpreter | None) -> tuple[str, ...]:
    """How a command of ours names an environment that the plan made, which need not be active when it is typed."""
    return ("--python", into.path) if into is not None and into.folder == NEW else ()


def proof(into: Interpreter, gpu: bool, variables: Mapping[str, str]) -> tuple[ShellCommand, tuple[str, ...]]:
    """A command, and its words, that imports torch in this interpreter and lets the GPU (or the CPU) multiply matrices.

    ``variables``: those without which the build has no code for the GPU.
    """
    code = _GPU_PROOF if gpu else _CPU_PROOF
    set_for_it = tuple(f"{name}={value}" for name, value in variables.items())
    if set_for_it:
        typed = shell("env {settings} {python:path} -c {code}", settings=set_for_it, python=into.path, code=code)
        return typed, ("env", *set_for_it, into.path, "-c", code)
    return shell("{python:path} -c {code}", python=into.path, code=code), (into.path, "-c", code)
