"""The installed CUDA toolkit is a different major version than the one torch was built with.

Why
  torch includes the CUDA libraries that it runs with; the toolkit (nvcc) is needed only to compile extensions. For
  that, its major version has to match torch's: otherwise torch's extension builder refuses. DeepSpeed compiles its
  operators at run time, so there it matters even if you compile nothing yourself.

Fix
  Install the toolkit of torch's CUDA version alongside the other (without its driver) and point CUDA_HOME to it, or
  install a torch built for the toolkit's version. Prebuilt wheels of an extension avoid the problem.

References
  https://developer.nvidia.com/cuda-toolkit-archive
  PyTorch source: torch/utils/cpp_extension.py (_check_cuda_version)
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_stack import installed, needs_torch
from rocdoctor.judging.check import Fix, Outcome, check, cite, info, not_applicable, quote, warning, whole_machine
from rocdoctor.knowledge.load import numbers
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import CudaToolkit, Machine

_COMPILES = ("deepspeed",)


def _toolkits(machine: Machine) -> list[CudaToolkit]:
    found = [one for one in machine.cuda_toolkits if isinstance(one.version, Known) and numbers(one.version.value)]
    home = machine.environment.variables.get("CUDA_HOME") or machine.environment.variables.get("CUDA_PATH")
    named = [one for one in found if home is not None and home.value.rstrip("/") == one.root]
    return named or found


@check(needs_torch(whole_machine), cause="cuda-toolkit-mismatch")
def cuda_toolkit_mismatch(machine: Machine) -> Outcome:
    torch = machine.torch
    version = installed(torch)
    cuda = known(torch.cuda)
    if cuda is None:
        return not_applicable("this torch is not a CUDA build")
    toolkits = _toolkits(machine)
    if not toolkits:
        return not_applicable("no CUDA toolkit is known here; only compiling extensions needs one")
    if any(numbers(value_or(one.version, ""))[:1] == numbers(cuda)[:1] for one in toolkits):
        return None
    has = ", ".join(value_or(one.version, "") for one in toolkits)
    message = f"torch {version} is built with CUDA {cuda}, and the CUDA toolkit is {has}: extensions do not compile."
    evidence = [cite(torch.cuda), *(cite(one.version) for one in toolkits)]
    home = machine.environment.variables.get("CUDA_HOME")
    if home is not None:
        evidence.append(quote(home.source, f"CUDA_HOME={home.value}", home.line))
    major = numbers(cuda)[0] if numbers(cuda) else cuda
    fix = Fix(
        f"Install the CUDA {major} toolkit and point CUDA_HOME to it, or a torch built for CUDA {has}",
        safety="manual",
        verify="$CUDA_HOME/bin/nvcc --version",
    )
    if any(name in value_or(torch.packages, {}) for name in _COMPILES):
        return warning(
            f"{message} DeepSpeed is installed and compiles its operators at run time.",
            evidence=evidence,
            fix=fix,
            confidence="likely",
        )
    return info(message, evidence=evidence, fix=fix)
