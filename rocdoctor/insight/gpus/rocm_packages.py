"""Whether any ROCm release that can be installed today has packages for a target, or torch still has code for it."""

from __future__ import annotations

from functools import cache

from rocdoctor.insight.software.torch_command import pythons
from rocdoctor.knowledge import install
from rocdoctor.knowledge.gpus.gfx import gfx_target
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import Gpu


def has_packages(gfx: str) -> bool:
    """Whether some release lists it, or one for a relative runs on it; also where nobody knows the target."""
    listed = any(gfx in (*stream.gfx, *stream.deprecated) for stream in install.streams())
    return listed or gfx_target(gfx) is None or install.override_of(gfx) is not None


@cache
def torch_serves(gfx: str) -> bool:
    """Whether a torch wheel that a plan proposes has code for it: of pytorch.org, or of AMD's own indexes.

    An integrated GPU that only AMD's build project names is left to the CPU, which trains as well.
    """
    target = gfx_target(gfx)
    if target is None or target.wheel_native:
        return target is not None
    return not target.integrated and any(install.wheel(gfx, python) is not None for python in pythons())


def trains_nothing(gpu: Gpu) -> bool:
    """Whether it is an AMD GPU for which there are neither packages nor torch wheels: nothing of ours would open it."""
    if gpu.vendor != "amd" or not isinstance(gpu.gfx, Known) or has_packages(gpu.gfx.value):
        return False
    return gfx_target(gpu.gfx.value) is not None and not torch_serves(gpu.gfx.value)
