"""Something in ROCm fails on a GPU that ROCm does not support, or no longer supports.

Why
  AMD supports a GPU only in some ROCm releases. ROCm 4.0 dropped Polaris, Fiji and Tonga (gfx8) and Hawaii (gfx7), and
  the Vega graphics of Ryzen 2000 to 5000 processors (gfx902, gfx90c) were never supported. Parts of ROCm still run on
  many of them, with rebuilt libraries or a variable, so this is reported only if something fails.

Fix
  Use a program with a Vulkan backend, Mesa's OpenCL (rusticl), the last release that supported the GPU, or another GPU.

References
  https://github.com/ROCm/legacy-rocm-build/issues/1695
  https://github.com/ROCm/legacy-rocm-build/issues/1648
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_stack import works
from rocdoctor.insight.texts.pasted import said, shown, training_gpus
from rocdoctor.judging.check import Fix, NotApplicable, Outcome, Subjects, check, cite, not_applicable, warning
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.lookup import rocm_without
from rocdoctor.knowledge.messages.told import MENDED, NO_REPORT, SOUND
from rocdoctor.model.evidence import Fact, Known
from rocdoctor.model.facts import Gpu, Machine, Message
from rocdoctor.model.finding import Selected
from rocdoctor.model.subject import MACHINE

_ROCM = "mentions-rocm-program"
# What fails, hangs or is not found, in words of the writer or of programs.
_TROUBLE = (
    "told-rocm-without-gpu",
    "told-own-trouble",
    "tried-for-long",
    "no-gpu-for-program",
    "runtime-init-failed",
    "opencl-without-device",
)
# The same in words that name no GPU: only where nothing is said to work.
_WORDS = ("people-tell-of-crash", "people-tell-of-failure")
_NOT_HERE = (NO_REPORT, MENDED, "prose-is-request", "sign-of-wish", "sign-of-support-question")


def when_a_text_tells_of_rocm(machine: Machine) -> Subjects[None]:
    """The machine, when pasted text speaks of ROCm on it and of trouble."""
    if said(machine, _ROCM) and _trouble(machine) and not said(machine, *_NOT_HERE):
        return [Selected(MACHINE, None)]
    return NotApplicable("the evidence mentions no trouble with ROCm")


def _trouble(machine: Machine) -> tuple[Message, ...]:
    return said(machine, *_TROUBLE) or (() if said(machine, SOUND) else said(machine, *_WORDS))


@check(when_a_text_tells_of_rocm, cause="gpu-not-supported")
def gpu_left_by_rocm(machine: Machine) -> Outcome:
    gpus = training_gpus(machine)
    left = [(gpu, since) for gpu in gpus if (since := _left_since(gpu)) is not None]
    if not left or len(left) < len(gpus) or works(machine, "rocm"):
        return not_applicable("a GPU here is, or may be, one that ROCm supports")
    gpu, since = left[0]
    release = _release(machine)
    if since != "0" and (release is None or numbers(release.value) < numbers(since)):
        return not_applicable("the release of ROCm is not known here, or still supported this GPU")
    assert isinstance(gpu.gfx, Known)
    here = release.value if release is not None else ""
    name = gpu.name.value if isinstance(gpu.name, Known) else "This GPU"
    words = (
        f"{name} ({gpu.gfx.value}) is a processor's integrated graphics (APU), which no ROCm release supports"
        if since == "0"
        else f"AMD dropped {name} ({gpu.gfx.value}) with ROCm {since}, and this is ROCm {here}"
    )
    return warning(
        f"{words}: parts of ROCm may still run on it, but failures are to be expected.",
        evidence=(
            *shown(_trouble(machine))[:1],
            cite(gpu.gfx, gpu.gfx.value),
            *([cite(release)] if release else []),
        ),
        fix=Fix(
            "Use a program with a Vulkan backend, Mesa's OpenCL (rusticl) or the CPU, or another GPU; for an older "
            "card also the last ROCm release that supported it, or unofficial builds for this target",
            command="rocminfo | grep gfx; cat /opt/rocm/.info/version",
            safety="manual",
        ),
        confidence="possible",
    )


def _left_since(gpu: Gpu) -> str | None:
    return rocm_without(gpu.gfx.value) if gpu.vendor == "amd" and isinstance(gpu.gfx, Known) else None


def _release(machine: Machine) -> Known[str] | None:
    """The newest release of ROCm that is named here: installed, or inside torch."""
    facts: list[Fact[str]] = [one.version for one in machine.rocm]
    hip = machine.torch.hip
    named = [one for one in facts if isinstance(one, Known)]
    if isinstance(hip, Known) and hip.value is not None:
        named.append(Known(hip.value, hip.source))
    return max(named, key=lambda one: numbers(one.value), default=None)
