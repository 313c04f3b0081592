"""This Python version is not among those that the installed torch release was published for.

Why
  A torch wheel is built for one Python version. With an interpreter that is too old or too new for the release, pip
  installs another release, an old build or none at all, and sometimes silently a CPU-only one.

Fix
  Make an environment with a Python version that the release lists, and install torch there.

References
  https://github.com/pytorch/pytorch/blob/main/RELEASE.md
  https://pypi.org/project/torch/
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_stack import installed, needs_torch
from rocdoctor.insight.texts.own_trouble import names_several, trouble
from rocdoctor.insight.texts.pasted import shown
from rocdoctor.judging.check import Fix, Outcome, check, cite, info, not_applicable, warning, whole_machine
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.lookup import torch_release
from rocdoctor.model.evidence import Known, known
from rocdoctor.model.facts import Machine
from rocdoctor.model.lazy_re import regex

_INSTALLING = regex(r"(?i)\bpip\b|\bwheels?\b|\b(?:version|distribution) (?:is )?(?:not )?found\b")


@check(needs_torch(whole_machine), cause="python-package-mismatch")
def torch_python_window(machine: Machine) -> Outcome:
    version = installed(machine.torch)
    python = known(machine.torch.python)
    have = numbers(python)[:2]
    row = torch_release(version)
    if row is None or not row.python or len(have) < 2:
        return not_applicable("the tables do not list the Python versions of this torch release")
    listed = {numbers(one.removesuffix("t")) for one in row.python}
    if have in listed:
        return None
    imported = machine.torch.import_error
    if isinstance(imported, Known) and imported.value is None:
        return None  # somebody built it for this Python, and it works
    ends = f"{row.python[0]} to {[one for one in row.python if not one.endswith('t')][-1]}"
    message = f"torch {version} was published for Python {ends}, but this interpreter is {python}."
    evidence = [cite(machine.torch.python), cite(machine.torch.version)]
    fix = Fix(
        f"Make an environment with one of the Python versions {ends} and install torch there",
        safety="safe",
        verify='python3 -c "import torch"',
    )
    if isinstance(imported, Known):
        return warning(message, evidence=[*evidence, cite(imported)], fix=fix, confidence="likely")
    refused = trouble(machine, _INSTALLING, "packages-refused")
    if refused and not names_several(machine, "python", "torch"):
        return warning(message, evidence=[*evidence, *shown(refused)[:1]], fix=fix, confidence="likely")
    return info(message, evidence=evidence, fix=fix)
