"""A package that training imports is installed more than once, or a local file hides it.

Why
  Python takes the first one on its path. A torch in `~/.local` hides the one that was just installed in the
  environment; a folder `torch` next to the script hides both; of two packages that contain the same module (triton,
  pytorch-triton-rocm) the last one installed overwrote files of the other.

Fix
  See which one is used (`python3 -c "import torch; print(torch.__file__)"`), uninstall the others
  (`pip uninstall` once for each), and rename local files.

References
  https://docs.python.org/3/tutorial/modules.html#the-module-search-path
  https://docs.python.org/3/library/site.html#site.USER_SITE
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_stack import works
from rocdoctor.judging.check import About, Finding, Fix, Outcome, check, cite, info, warning, whole_machine
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import shell

_MATTER = ("torch", "torchvision", "torchaudio", "triton", "pytorch-triton", "pytorch-triton-rocm", "triton-rocm")
_TRITONS = ("triton", "pytorch-triton", "pytorch-triton-rocm", "triton-rocm")


def _names(words: str) -> str:
    """The package or module that a line of the fact speaks of."""
    if " is installed more than once" in words:
        return words.partition(" is installed")[0]
    return words.rpartition(" hides ")[2]


@check(whole_machine, cause="python-package-mismatch")
def torch_duplicates(machine: Machine) -> Outcome:
    torch = machine.torch
    packages = known(torch.packages)
    found: list[Finding] = []
    for words in torch.shadowed:
        name = _names(words)
        matters = name in _MATTER
        # A virtual environment over system packages has many packages twice, and that is how it is meant.
        twice = words.endswith("more than once")
        # An environment over the system's packages may well have a torch of its own, and the first one works.
        report = warning if matters and not (twice and works(machine)) else info
        message = (
            f"{name} is installed more than once; the first one on the path is imported and hides the others."
            if twice
            else f"A local file or folder hides the installed {name} from programs started in that folder."
        )
        fix = Fix(
            "Uninstall the copies that you do not want" if twice else "Rename the local file or folder",
            command=shell("python3 -m pip uninstall {package:package}", package=name) if twice and matters else "",
            safety="manual",
            verify=shell('python3 -c "import {module:name} as m; print(m.__file__)"', module=name.replace("-", "_")),
        )
        found.append(report(message, evidence=[cite(torch.packages, words)], fix=fix, about=About(packages=(name,))))
    tritons = [name for name in _TRITONS if name in packages]
    if len(tritons) > 1:
        shown = " and ".join(f"{name} {packages[name]}" for name in tritons)
        found.append(
            warning(
                f"{shown} are both installed and contain the same module, triton: the later one overwrote the other.",
                evidence=[cite(torch.packages, shown)],
                about=About(packages=tuple(tritons)),
                fix=Fix(
                    "Uninstall all of them, then reinstall torch from its own index, which has the right one",
                    command=shell("python3 -m pip uninstall -y {packages:package}", packages=tritons),
                    safety="manual",
                    verify='python3 -c "import triton; print(triton.__version__, triton.__file__)"',
                ),
            )
        )
    return found
