"""What is known of a machine, by names that rows of the tables use as conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rocdoctor.insight.gpus.presence import is_integrated
from rocdoctor.insight.software.torch_stack import backend
from rocdoctor.insight.texts.pasted import gfx_names, said, training_gfx
from rocdoctor.knowledge.load import numbers
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Machine

OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"


def _has_apu(machine: Machine) -> bool:
    return any(is_integrated(gpu) for gpu in machine.gpus) or bool(said(machine, "mentions-apu"))


def _has_card(machine: Machine) -> bool:
    return any(gpu.vendor in ("amd", "nvidia") and not is_integrated(gpu) for gpu in machine.gpus)


def _has_several(machine: Machine) -> bool:
    return sum(gpu.vendor in ("amd", "nvidia") and not is_integrated(gpu) for gpu in machine.gpus) > 1


def _has_unlike_families(machine: Machine) -> bool:
    """Two AMD cards whose targets differ before their last two signs: gfx1031 and gfx1200, not gfx1100 and gfx1101."""
    return len({name[:-2] for name in gfx_names(machine, integrated=False)}) > 1


def _rocm_differs(machine: Machine) -> bool:
    """Two ROCm releases are named: of installations, and of the torch that brings its own."""
    torch = value_or(machine.torch.hip, None)
    named = [one.version.value for one in machine.rocm if isinstance(one.version, Known)] + ([torch] if torch else [])
    return len({numbers(one)[:2] for one in named}) > 1


def _is_instinct(machine: Machine) -> bool:
    targets = training_gfx(machine)
    return bool(targets) and all(one.startswith(("gfx908", "gfx90a", "gfx94", "gfx950")) for one in targets)


TRAITS: Mapping[str, Callable[[Machine], bool]] = {
    "apu": _has_apu,
    "card": _has_card,
    "several-cards": _has_several,
    "unlike-cards": lambda machine: len(gfx_names(machine, integrated=False)) > 1,
    "unlike-families": _has_unlike_families,
    "gpu-named": lambda machine: any(gpu.vendor in ("amd", "nvidia") for gpu in machine.gpus),
    "torch-named": lambda machine: bool(value_or(machine.torch.version, None)),
    "torch-rocm": lambda machine: value_or(backend(machine.torch), "") == "rocm",
    "torch-cuda": lambda machine: value_or(backend(machine.torch), "") == "cuda",
    "instinct": _is_instinct,
    "rocm-releases-differ": _rocm_differs,
    "two-selections": lambda machine: (
        {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"} <= set(machine.environment.variables)
    ),
    "override": lambda machine: OVERRIDE in machine.environment.variables,
}
"""Each of a name without ``not-``."""


def has_trait(machine: Machine, name: str) -> bool:
    """Whether the machine has a trait; ``not-NAME``: it is not known to have it."""
    known = TRAITS[name.removeprefix("not-")](machine)
    return not known if name.startswith("not-") else known
