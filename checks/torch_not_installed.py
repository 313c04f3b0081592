"""torch is not installed in the interpreter that was examined.

Why
  A training job needs torch in the interpreter that runs it. Often it is installed in another environment: the one that
  rocdoctor found (the active virtual or conda environment, else `~/torch-venv`, which `rocdoctor setup` creates, else
  `python3` on PATH) is then not the job's.

Fix
  Activate the job's environment, or name its interpreter: `rocdoctor --python PATH`. To install torch, use the command
  for this machine's GPU from the selector page; plain `pip install torch` gives the CUDA build on Linux.

References
  https://pytorch.org/get-started/locally/
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_command import install_command
from rocdoctor.insight.software.torch_stack import SELECTOR_PAGE, compute_gpus, for_training
from rocdoctor.judging.check import Fix, Outcome, check, cite, info, whole_machine
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Machine


@check(whole_machine)
def torch_not_installed(machine: Machine) -> Outcome:
    if known(machine.torch.version) is not None:
        return None
    python = value_or(machine.torch.python, None)
    gpus = [gpu for vendor in ("amd", "nvidia") for gpu in compute_gpus(machine, vendor) if for_training(gpu)]
    return info(
        f"torch is not installed in the interpreter that was examined{f' (Python {python})' if python else ''}.",
        evidence=[cite(machine.torch.version, "no torch"), cite(machine.torch.interpreter)],
        fix=Fix(
            f"Name the interpreter of the job with --python, or install torch for this machine ({SELECTOR_PAGE})",
            command=install_command(machine, gpus[0]) if gpus else "",
            safety="safe",
        ),
    )
