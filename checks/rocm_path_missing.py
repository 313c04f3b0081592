"""A variable names a ROCm folder that is not there.

Why
  Build tools and some programs take ROCM_PATH, ROCM_HOME or HIP_PATH for the root of ROCm and do not look further.
  After an upgrade, the old folder is gone but the variable, set in a profile or an image, still names it. Builds of
  extensions fail with "hipcc not found", and programs miss their libraries.

Fix
  Unset the variable, or let it name the installed release (`/opt/rocm` follows upgrades).

References
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/post-install.html
  PyTorch source: torch/utils/cpp_extension.py (ROCM_HOME)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.visibility import where_set
from rocdoctor.insight.software.rocm_roots import install_of, root_of
from rocdoctor.insight.software.torch_stack import works
from rocdoctor.judging.check import Finding, Fix, Outcome, check, cite, info, quote, unknown, warning, whole_machine
from rocdoctor.model.change import Unset
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import shell

_NAMES = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH")


@check(whole_machine, cause="mixed-rocm-installs")
def rocm_path_missing(machine: Machine) -> Outcome:
    found: list[Finding] = []
    for name in _NAMES:
        variable = machine.environment.variables.get(name)
        # Only below /opt are all installations known; a root elsewhere may well be there.
        root = root_of(variable.value) if variable is not None else None
        if variable is None or root is None:
            continue
        if not machine.rocm_complete:
            raise unknown(f"{name} is set, and which ROCm folders there are is not in this evidence")
        if install_of(machine, root) is not None or any(_below(root, one.root) for one in machine.rocm):
            continue
        there = [cite(one.version, one.root) for one in machine.rocm if isinstance(one.version, Known)]
        has = f"installed is {', '.join(one.root for one in machine.rocm)}" if machine.rocm else "no ROCm is installed"
        found.append(
            (info if works(machine, "rocm") else warning)(
                f"{name} is {variable.value}, but there is no {root} ({has}).",
                evidence=[quote(variable.source, f"{name}={variable.value}", variable.line), *there],
                fix=Fix(
                    f"Unset {name} and remove it from {where_set(variable)}",
                    command=shell("unset {name:name}", name=name),
                    unsets=(name,),
                    safety="safe",
                    changes=(Unset(name),),
                ),
            )
        )
    if not found and not machine.environment.complete and not _set(machine):
        raise unknown("whether ROCM_PATH is set is not in this evidence")
    return found


def _set(machine: Machine) -> bool:
    return any(name in machine.environment.variables for name in _NAMES)


def _below(root: str, install: str) -> bool:
    # /opt/rocm is the folder of /opt/rocm/core-10.0, or a link to /opt/rocm-6.2.0 that nobody read
    return root in ("/opt/rocm", "/opt/rocm/core") and install.startswith("/opt/rocm")
