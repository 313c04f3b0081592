"""LD_LIBRARY_PATH puts other GPU libraries ahead of the ones in torch.

Why
  Wheels include their own ROCm or CUDA libraries. A folder of another ROCm release in LD_LIBRARY_PATH is searched
  first, and parts of both get loaded: undefined symbols, wrong kernels, crashes. CUDA's `stubs` folders contain empty
  libraries for linking only; a program that loads one sees no GPU.

Fix
  Unset LD_LIBRARY_PATH for training, or remove the named folder from the file that sets it.

References
  https://man7.org/linux/man-pages/man8/ld.so.8.html
  https://docs.nvidia.com/cuda/cuda-installation-guide-linux/index.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.visibility import where_set
from rocdoctor.insight.software.rocm_roots import roots_on, version_of
from rocdoctor.insight.software.torch_stack import label_backend, works
from rocdoctor.insight.texts.pasted import said, shown
from rocdoctor.insight.texts.symptoms import crashes
from rocdoctor.judging.check import Finding, Fix, Outcome, check, cite, info, quote, unknown, warning, whole_machine
from rocdoctor.knowledge.load import numbers
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Machine, Variable

_WHEEL = ("rocm-wheel-meant", "rocm-wheel-named")
_UNLOADABLE = (
    "path-said-harmful",
    "symbol-version-missing",
    "rocm-versions-differ",
    "extension-for-other-torch",
    "cuda-symbol-missing",
)


@check(whole_machine, cause="mixed-rocm-installs")
def ld_library_path_conflict(machine: Machine) -> Outcome:
    variable = machine.environment.variables.get("LD_LIBRARY_PATH")
    if variable is None:
        if not machine.environment.complete:
            raise unknown("whether LD_LIBRARY_PATH is set is not in this evidence")
        return None
    found = [one for one in (_stubs(variable), _rocm(machine, variable)) if one is not None]
    suspected = _suspected(machine, variable) if not found else None
    return found if suspected is None else [suspected]


def _fix(variable: Variable) -> Fix:
    return Fix(
        f"Unset LD_LIBRARY_PATH for training, or remove that folder from {where_set(variable)}",
        command="unset LD_LIBRARY_PATH",
        unsets=("LD_LIBRARY_PATH",),
        safety="safe",
        verify='python3 -c "import torch; print(torch.cuda.is_available())"',
    )


def _stubs(variable: Variable) -> Finding | None:
    folders = [one for one in variable.value.split(":") if one.rstrip("/").endswith("/stubs") and "cuda" in one.lower()]
    if not folders:
        return None
    return info(
        f"LD_LIBRARY_PATH names {folders[0][:120]}, which holds stub libraries for linking only.",
        evidence=[quote(variable.source, f"LD_LIBRARY_PATH={variable.value}"[:300], variable.line)],
        fix=_fix(variable),
    )


def _suspected(machine: Machine, variable: Variable) -> Finding | None:
    """ROCm's folder in front of a wheel that brings ROCm, in a text where something fails to load or crashes."""
    torch = machine.torch
    roots = roots_on(variable.value)
    label = label_backend(torch.version.value or "") if isinstance(torch.version, Known) else None
    wheel = label == "rocm" or (label is None and bool(said(machine, *_WHEEL)))
    if not roots or not wheel or works(machine, "rocm") or value_or(torch.bundled_rocm, True) is not True:
        return None
    failed = said(machine, *_UNLOADABLE) or crashes(machine)
    if not failed:
        return None
    return warning(
        f"LD_LIBRARY_PATH puts the libraries of {roots[0]} before those in the torch wheel for ROCm: parts of "
        f"two "
        "ROCm releases get loaded.",
        evidence=[quote(variable.source, f"LD_LIBRARY_PATH={variable.value}"[:300], variable.line), *shown(failed)[:1]],
        fix=_fix(variable),
        confidence="possible",
        explains=("torch-import-fails", "package-mismatch-message"),
    )


def _rocm(machine: Machine, variable: Variable) -> Finding | None:
    torch = machine.torch
    hip = value_or(torch.hip, None)
    if hip is None or value_or(torch.bundled_rocm, False) is not True:
        return None
    for root in roots_on(variable.value):
        version = version_of(machine, root)
        # Releases of one minor version share their library versions.
        if version is not None and numbers(version)[:2] != numbers(hip)[:2]:
            evidence = [
                quote(variable.source, f"LD_LIBRARY_PATH={variable.value}"[:300], variable.line),
                cite(torch.hip),
            ]
            if isinstance(torch.version, Known):
                evidence.append(cite(torch.version))
            return (info if works(machine, "rocm") else warning)(
                f"LD_LIBRARY_PATH puts the libraries of ROCm {version} ({root}) before the ROCm "
                f"{'.'.join(hip.split('.')[:2])} "
                "in the torch wheel.",
                evidence=evidence,
                fix=_fix(variable),
                explains=("torch-import-fails",),
            )
    return None
