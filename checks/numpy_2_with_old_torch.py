"""NumPy 2 is installed with a torch that was built for NumPy 1.

Why
  NumPy 2.0 changed its binary interface. Modules that were compiled with NumPy 1 do not work with it: torch releases
  before 2.3 then say "Failed to initialize NumPy: _ARRAY_API not found", and `torch.from_numpy` and `tensor.numpy()`
  fail with "Numpy is not available". Everything else in torch works.

Fix
  Install NumPy 1 (`numpy<2`) alongside an old torch, or a newer torch.

References
  https://numpy.org/doc/stable/numpy_2_0_migration_guide.html
  https://github.com/pytorch/pytorch/issues/107302
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_stack import installed, needs_torch
from rocdoctor.judging.check import Fix, Outcome, check, cite, info, not_applicable, warning, whole_machine
from rocdoctor.knowledge.load import numbers
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Machine


@check(needs_torch(whole_machine), cause="python-package-mismatch")
def numpy_2_with_old_torch(machine: Machine) -> Outcome:
    torch = machine.torch
    version = installed(torch)
    numpy = known(torch.packages).get("numpy")
    if numpy is None:
        return not_applicable("NumPy is not among the packages that are known")
    if numbers(numpy) < (2,) or not numbers(version) or numbers(version) >= (2, 3):
        return None
    message = f"NumPy {numpy} is installed, and torch {version} was built for NumPy 1: conversions between them fail."
    fix = Fix(
        "Install NumPy 1 in this environment, or a newer torch",
        command='python3 -m pip install "numpy<2"',
        safety="risky",
        verify='python3 -c "import torch; print(torch.ones(1).numpy())"',
    )
    evidence = [cite(torch.packages, f"numpy {numpy}"), cite(torch.version)]
    problem = value_or(torch.import_error, None) or ""
    if "numpy" in problem.lower() or "_ARRAY_API" in problem:
        return warning(message, evidence=[*evidence, cite(torch.import_error)], fix=fix)
    return info(message, evidence=evidence, fix=fix, confidence="likely")
