"""What pip is told: packages of one build of torch go and come together, and what was there can come back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rocdoctor.insight.software.torch_stack import local_part, preliminary
from rocdoctor.knowledge import install
from rocdoctor.knowledge.software.compat import torch_release
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import TorchBuild
from rocdoctor.repair.setup.plan import Action
from rocdoctor.repair.setup.situation import safe_word
from rocdoctor.repair.setup.torch_environment import Interpreter

TRITONS = ("triton", "pytorch-triton", "pytorch-triton-rocm", "triton-rocm")
# What belongs to one build of torch, and what of it has to be named to bring it back (triton comes with torch).
FAMILY = ("torch", "torchvision", "torchaudio", *TRITONS)
_NAMED = ("torch", "torchvision", "torchaudio")


def family(torch: TorchBuild) -> dict[str, str]:
    """The installed packages of the build: name -> version."""
    packages = torch.packages.value if isinstance(torch.packages, Known) else {}
    return {name: packages[name] for name in FAMILY if name in packages}


def pinned(name: str, version: str) -> str:
    """A package with its version, where the version of the evidence may stand in a command."""
    return f"{name}=={version}" if safe_word(version) else name


def with_pip(into: Interpreter, torch: TorchBuild, here: bool) -> tuple[Action, ...]:
    """The action that brings pip into an environment that is known to lack it (those of uv do)."""
    lacks = here and isinstance(torch.packages, Known) and "pip" not in torch.packages.value
    return (Action(words=(into.path, "-m", "ensurepip")),) if lacks else ()


def uninstall(into: Interpreter, names: Sequence[str]) -> Action:
    """Packages go without a question."""
    return Action(words=(*into.pip, "uninstall", "-y", *names))


def index_of(version: str) -> tuple[str, ...] | None:
    """The option that leads pip to the index from which torch or torchvision came; () is PyPI, None is not known."""
    label, row = local_part(version), torch_release(version)
    if preliminary(version):  # also what is no version at all
        return None
    if not label:
        return ()
    named = row is not None and (row.flavour is not None or label in (row.cuda or ()))
    if not named and re.fullmatch(r"rocm\d+\.\d+|cu\d{2,3}|cpu", label) is None:
        return None
    return ("--index-url", f"{install.hosts()['pytorch_whl'].base}/{label}")


def bring_back_alone(into: Interpreter, old: Mapping[str, str]) -> tuple[Action, ...]:
    """Packages as they were, each from its own index and without what it asks for; () where one's is not known."""
    by_index: dict[tuple[str, ...], list[str]] = {}
    for name, version in old.items():
        index = index_of(version)
        if index is None:
            return ()
        by_index.setdefault(index, []).append(pinned(name, version))
    back = [Action(words=(*into.pip, "install", "--no-deps", *names, *index)) for index, names in by_index.items()]
    return (uninstall(into, tuple(old)), *back)


def bring_back(into: Interpreter, old: Mapping[str, str], new: Sequence[str] = ()) -> tuple[Action, ...]:
    """Exactly the packages that were there, in place of new ones; () where nobody knows the index they came from."""
    named = [pinned(name, old[name]) for name in _NAMED if name in old]
    index = index_of(old.get("torch", ""))
    if not named or index is None or "torch" not in old:
        return ()
    gone = tuple(dict.fromkeys([*new, *_NAMED[:2]]))
    return (uninstall(into, gone), Action(words=(*into.pip, "install", *named, *index)))
