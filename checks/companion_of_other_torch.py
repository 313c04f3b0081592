"""torchvision, torchaudio or xformers belongs to a different torch release.

Why
  Each release of these packages is compiled against one release of torch, and its operators do not load beside another
  one: "operator torchvision::nms does not exist", undefined symbols, or a crash at import. pip installs it all the same
  if one of the two was installed later or without its dependencies.

Fix
  Install torch and its companion packages together, in one command and from one index.

References
  https://github.com/pytorch/vision#installation
  https://pytorch.org/audio/stable/installation.html
  https://github.com/facebookresearch/xformers/blob/main/CHANGELOG.md
"""

from __future__ import annotations

from collections.abc import Iterator

from rocdoctor.insight.software.torch_stack import local_part, preliminary, reinstall, satisfies, works
from rocdoctor.insight.texts.own_trouble import names_several, trouble, when_trouble_is_told
from rocdoctor.insight.texts.pasted import all_values, said, shown
from rocdoctor.judging.check import Finding, Outcome, check, cite, not_applicable, warning
from rocdoctor.knowledge.software.combinations import torch_of
from rocdoctor.knowledge.software.wheel_indexes import has_wheels, wheel_url
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.lazy_re import regex

_NAMES = ("torchvision", "torchaudio", "xformers")
_LOADING = regex(
    r"(?i)\b(?:torchvision|torchaudio|xformers|torch|import\w*|load\w*|extensions?|operators?|start\w*|undefined)\b"
)


@check(when_trouble_is_told(_LOADING), cause="python-package-mismatch")
def companion_of_other_torch(machine: Machine) -> Outcome:
    if names_several(machine, "torch"):
        return not_applicable("the text names several versions")
    version = value_or(machine.torch.version, None)
    if version is None or preliminary(version):
        return not_applicable("no release of torch is known")
    if works(machine) or isinstance(machine.torch.packages, Known):
        return not_applicable("torch works, or a list of packages is judged")
    return list(_found(machine, version))


def _found(machine: Machine, version: str) -> Iterator[Finding]:
    label = local_part(version)
    for name in _NAMES:
        messages = said(machine, f"{name}-named")
        named = all_values(messages, "version")
        wanted = torch_of(name, named[0]) if len(named) == 1 else None
        if wanted is None or satisfies(version.partition("+")[0], f"=={wanted}.*") is not False:
            continue
        yield warning(
            f"{name} {named[0]} was built for torch {wanted}, and torch {version} is installed: its compiled parts do "
            "not load beside another release.",
            evidence=(*shown(trouble(machine, _LOADING))[:1], *shown(messages)[:1], cite(machine.torch.version)),
            fix=reinstall(wheel_url(label) if has_wheels(label) or label.startswith("rocm") else None),
            confidence="likely",
            explains=("like-known-reports", "missing-shared-library"),
        )
