"""What a text says of the Python of a machine and of those that a wheel or an index is for, as values of sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rocdoctor.insight.texts.pasted import all_values, said
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.lookup import TorchRelease, torch_release, torch_releases
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.lazy_re import regex

_FOLDER = regex(r"/whl/(rocm\d{1,2}\.\d{1,2}(?:\.\d{1,2})?|cu\d{2,3})(?:[/?#]|$)")


def python_values(machine: Machine) -> dict[str, str]:
    """``python`` and ``python_tag`` of this machine; ``pythons``: those of the wanted torch, where this is not one."""
    python = value_or(machine.torch.python, "")
    have = numbers(python)[:2]
    if len(have) < 2:
        return {}
    found = {"python": python, "python_tag": f"cp{have[0]}{have[1]}"}
    listed = {numbers(one.removesuffix("t"))[:2] for one in _of_wanted(machine)}
    if listed and have not in listed:
        ends = (".".join(map(str, one)) for one in (min(listed), max(listed)))
        found["pythons"] = " to ".join(dict.fromkeys(ends))
    return found


def _of_wanted(machine: Machine) -> Iterable[str]:
    """The Pythons that the wanted torch was published for: of its release, else of all in the index."""
    wanted = [one.removeprefix("==") for one in all_values(_of_torch(machine), "wanted") if one.startswith("==")]
    if wanted:
        release = torch_release(wanted[0].partition("+")[0])
        return release.python if release is not None else ()
    folders = [
        one[1] for url in all_values(said(machine, "pip-install-torch"), "index") if (one := _FOLDER.search(url))
    ]
    if len(set(folders)) != 1:
        return ()
    return [one for release in torch_releases() if _has(release, folders[0]) for one in release.python]


def _of_torch(machine: Machine) -> Sequence[Message]:
    return [one for one in said(machine, "pip-no-version") if one.values.get("package") == "torch"]


def _has(release: TorchRelease, folder: str) -> bool:
    """Whether a release was published in a folder of the index (rocm6.3, cu128)."""
    return folder in (release.cuda or ()) or any(one.flavour == folder for one in release.rocm or ())
