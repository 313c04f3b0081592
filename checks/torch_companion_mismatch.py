"""torchvision, torchaudio or another package was built for a different torch than the installed one.

Why
  Packages with compiled code that calls torch fit exactly one torch release and one backend. With another torch their
  operators do not load: "operator torchvision::nms does not exist", "undefined symbol", or a crash at import.

Fix
  Install torch and its companion packages together, in one command and from one index, and build extensions again
  after each change of torch.

References
  https://github.com/pytorch/vision#installation
  https://pytorch.org/audio/stable/installation.html
  https://packaging.python.org/en/latest/specifications/version-specifiers/
"""

from __future__ import annotations

import re

from rocdoctor.insight.software.torch_stack import (
    WORDS,
    installed,
    label_backend,
    local_part,
    needs_torch,
    of_interpreter,
    preliminary,
    reinstall,
    satisfies,
    works,
)
from rocdoctor.judging.check import About, Finding, Outcome, check, cite, error, info, quote, warning, whole_machine
from rocdoctor.knowledge.software.wheel_indexes import wheel_url
from rocdoctor.model.evidence import Known, known
from rocdoctor.model.facts import Machine

_OFFICIAL = ("torchvision", "torchaudio", "torchtext")


def _cuda_major(version: str) -> str | None:
    found = re.match(r"cu(\d{2,3})", local_part(version))
    return found.group(1)[:-1] if found else None


@check(needs_torch(whole_machine), cause="python-package-mismatch")
@of_interpreter
def torch_companion_mismatch(machine: Machine) -> Outcome:
    torch = machine.torch
    version = installed(torch)
    packages = known(torch.packages)
    found: list[Finding] = []
    source = torch.packages.source if isinstance(torch.packages, Known) else torch.interpreter
    for name in sorted({*_OFFICIAL, *torch.requires_torch} & set(packages)):
        own = packages[name]
        evidence = [cite(torch.version, f"torch {version}"), quote(_question(source), f"{name} {own}")]
        fix = reinstall(_index(version))
        demand = torch.requires_torch.get(name)
        if demand is not None and satisfies(version, demand) is False:
            demanded = demand.replace(" ", "").partition(";")[0]
            evidence.append(quote(_question(source), demanded))
            message = f"{name} {own} was built for {demanded}, and torch {version} is installed: they do not match."
            exact = name in _OFFICIAL and not preliminary(version) and _differs_in_release(version, demand)
            found.append(
                (error if exact else warning)(message, evidence=evidence, fix=fix, about=About(packages=(name,)))
            )
            continue
        kind, mine = label_backend(own), label_backend(version)
        if name not in _OFFICIAL or kind is None or mine is None:
            continue
        if kind != mine:
            message = f"{name} {own} is a {WORDS[kind]} build, and torch {version} is a {WORDS[mine]} build."
            found.append(
                (warning if kind == "cpu" else error)(
                    message, evidence=evidence, fix=fix, about=About(packages=(name,))
                )
            )
        elif kind == "cuda" and _cuda_major(own) != _cuda_major(version):
            message = f"{name} {own} and torch {version} are built for different major versions of CUDA."
            found.append(error(message, evidence=evidence, fix=fix, about=About(packages=(name,))))
    for name, demanded in torch.torch_requires.items():
        own = packages.get(name, "")
        if own and satisfies(own, demanded) is False:
            found.append(
                (info if works(machine) and "triton" not in name else warning)(
                    f"torch {version} demands {name}{demanded.removeprefix(name)}, and {name} {own} is installed.",
                    evidence=[cite(torch.version), quote(_question(source), f"{name} {own}")],
                    fix=reinstall(_index(version)),
                    about=About(packages=(name,)),
                )
            )
    return found


def _question(source: object) -> str:
    return str(getattr(source, "question", "python"))


def _index(version: str) -> str | None:
    label = local_part(version)
    return wheel_url(label) if re.fullmatch(r"rocm\d[\d.]*|cu\d{2,3}|cpu", label) else None


def _differs_in_release(version: str, demand: str) -> bool:
    """The releases differ, not only the build labels of one release."""
    return satisfies(version.partition("+")[0], re.sub(r"\+[A-Za-z0-9._-]+", "", demand)) is False
