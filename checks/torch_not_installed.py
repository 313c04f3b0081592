"""torch is not installed in the interpreter that was examined.

Why
  A training job needs torch in the interpreter that runs it. Often it is installed in another environment: the one that
  rocdoctor found (the active virtual or conda environment, else `~/torch-venv`, which `rocdoctor setup` makes, else
  `python3` on PATH) is then not the one of the job.

Fix
  Activate the job's environment, or name its interpreter: `rocdoctor --python PATH`. To install torch, take the command
  for this machine's GPU from the selector page; plain `pip install torch` gives the CUDA build on Linux.

References
  https://pytorch.org/get-started/locally/
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_stack import SELECTOR_PAGE, compute_gpus, for_training, wheel_index
from rocdoctor.judging.check import Fix, Outcome, check, cite, info, whole_machine
from rocdoctor.knowledge.software.wheel_indexes import install_torch
from rocdoctor.model.evidence import NOT_ASKED, known, value_or
from rocdoctor.model.facts import Machine


@check(whole_machine)
def torch_not_installed(machine: Machine) -> Outcome:
    if known(machine.torch.version) is not None:
        return None
    python = value_or(machine.torch.python, None)
    driver = value_or(machine.drivers.get("nvidia", {}).get("version", NOT_ASKED), "")
    gpus = [gpu for vendor in ("amd", "nvidia") for gpu in compute_gpus(machine, vendor) if for_training(gpu)]
    index = wheel_index(gpus[0], driver) if gpus else None
    return info(
        f"torch is not installed in the interpreter that was examined{f' (Python {python})' if python else ''}.",
        evidence=[cite(machine.torch.version, "no torch"), cite(machine.torch.interpreter)],
        fix=Fix(
            f"Name the interpreter of the job with --python, or install torch for this machine ({SELECTOR_PAGE})",
            command=install_torch(index, how="install"),
            safety="safe",
        ),
    )
