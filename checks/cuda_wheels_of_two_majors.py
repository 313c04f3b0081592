"""NVIDIA's libraries of two major versions of CUDA are installed in one Python environment.

Why
  torch includes CUDA as packages: nvidia-cublas-cu12, nvidia-cudnn-cu12 and so on. Packages of two majors unpack into
  the same folders (site-packages/nvidia/cudnn, nvidia/nccl), and libraries whose file name does not name the major,
  such as libcudnn.so and libnccl.so.2, overwrite each other: torch then loads a library for another CUDA and fails at
  import or at the first call.

Fix
  Remove the packages of the major version that torch was not built for, then install torch again, because the removal
  may have deleted shared files. A fresh environment is quicker than a repaired one.

References
  https://pypi.org/project/nvidia-cudnn-cu12/
  https://pypi.org/project/nvidia-nccl-cu12/
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_stack import needs_torch
from rocdoctor.insight.texts.pasted import said, shown
from rocdoctor.judging.check import Fix, Outcome, check, cite, finding, not_applicable, whole_machine
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.lazy_re import regex

_WHEEL = regex(r"nvidia-([a-z]{2,24}(?:-[a-z]{2,12}){0,2})-cu(1[1-9])\Z")
# Libraries whose names are the same in every major.
_SHARED = frozenset(("cudnn", "nccl", "cusparselt", "nvshmem"))
_SYMPTOMS = (
    "cuda-symbol-missing",
    "cudnn-version-mismatch",
    "cudnn-part-missing",
    "cudnn-status",
    "nccl-older-than-torch",
    "nvjitlink-older",
    "cuda-library-of-other-release",
    "missing-library",
)


@check(needs_torch(whole_machine), cause="python-package-mismatch")
def cuda_wheels_of_two_majors(machine: Machine) -> Outcome:
    packages = known(machine.torch.packages)
    majors: dict[str, set[str]] = {}
    for name in packages:
        if wheel := _WHEEL.match(name.lower().replace("_", "-")):
            majors.setdefault(wheel[1], set()).add(wheel[2])
    if not majors:
        return not_applicable("no CUDA libraries among the known packages")
    twice = sorted(name for name, found in majors.items() if len(found) > 1)
    if not twice:
        return None
    found = sorted(set.union(*(majors[name] for name in twice)))
    both = " and ".join(f"cu{major}" for major in found)
    built = (value_or(machine.torch.cuda, None) or "").partition(".")[0]
    other = [major for major in found if major != built] if built in found else []
    symptoms = said(machine, *_SYMPTOMS)
    broken = bool(symptoms) or bool(value_or(machine.torch.import_error, None))
    shared = bool(_SHARED & set(twice))
    which = ", ".join(f"nvidia-{name}" for name in twice[:4])
    return finding(
        "error" if broken else "warning" if shared and other else "info",
        f"Libraries of two major versions of CUDA are installed together ({both}: {which}): they "
        "overwrite each other's files.",
        evidence=(cite(machine.torch.packages, f"{which} for {both}"), *shown(symptoms)[:1]),
        fix=Fix(
            "Uninstall the packages of "
            f"{'cu' + other[0] if other else 'the major version that torch was not built for'} "
            "(nvidia-*-cu11 for a torch of CUDA 12), then install torch again with --force-reinstall, or make a fresh "
            "environment",
            command="python3 -m pip list | grep -i nvidia-",
            verify='python3 -c "import torch; print(torch.__version__, torch.version.cuda)"',
        ),
        confidence="likely",
        explains=("missing-shared-library", "known-message") if broken else (),
    )
