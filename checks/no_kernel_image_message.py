"""A program reports that a library has no code for this GPU's architecture.

Why
  Libraries for GPUs are compiled ahead of time for a list of architectures (gfx targets of AMD, sm versions of
  NVIDIA). On another one the first kernel fails with "no kernel image is available", "invalid device function" or a
  missing Tensile file. Driver and permissions are fine when this message appears.

Fix
  Install a build that names the architecture: a newer CUDA or ROCm flavour for new cards, an older release for cards
  that were dropped, or a build from source with the target named. On AMD an override to a target of the same
  instruction set group (HSA_OVERRIDE_GFX_VERSION) is a last resort that nobody supports.

References
  https://pytorch.org/get-started/locally/
  https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/
  https://llvm.org/docs/AMDGPUUsage.html#processors
"""

from __future__ import annotations

from rocdoctor.insight.gpus.gfx_override import best_value
from rocdoctor.insight.gpus.presence import is_integrated
from rocdoctor.insight.texts.pasted import (
    all_values,
    capabilities,
    first_value,
    gfx_names,
    said,
    shown,
    vendors,
    when_said,
)
from rocdoctor.judging.check import Finding, Fix, Outcome, check, error, warning
from rocdoctor.knowledge.lookup import gfx_target, override_gfx_name
from rocdoctor.knowledge.software.wheel_indexes import has_wheels, install_torch, wheel_url
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.shell_command import ShellCommand, shell

_KINDS = ("arch-not-in-torch", "no-kernel-image", "tensile-library-missing")
# The first CUDA toolkit that compiles for an architecture (CUDA release notes).
_FIRST_CUDA = {
    "70": "9.0",
    "75": "10.0",
    "80": "11.0",
    "86": "11.1",
    "89": "11.8",
    "90": "11.8",
    "100": "12.8",
    "103": "12.9",
    "120": "12.8",
    "121": "12.9",
}
_EXPLAINS = ("kernel-lib-arch-unsupported", "torch-wheel-lacks-gfx", "torch-wheel-lacks-sm")


@check(when_said(*_KINDS), cause="gpu-arch-not-built")
def no_kernel_image_message(machine: Machine) -> Outcome:
    messages = said(machine, *_KINDS)
    targets = all_values(messages, "gfx") or gfx_names(machine)
    levels = all_values(messages, "sm") or tuple(
        one.replace(".", "") for one in all_values(messages, "capability") or capabilities(machine)
    )
    if targets and (vendors(machine) != {"nvidia"} or not levels):
        return _amd(machine, messages, targets)
    if levels:
        return _nvidia(machine, messages, levels[0])
    if any("hip" in f"{one.text} {one.values.get('text', '')}".lower() for one in messages):
        return _unknown_amd(messages)
    return error(
        "A library was asked to run a kernel and has no code for the architecture of this GPU.",
        evidence=shown(messages),
        fix=Fix(
            "Compare the architecture of the GPU with torch.cuda.get_arch_list() and install a build that names it "
            "(a newer wheel, or a build from source with the target named); an extension must be rebuilt for it too",
            command='python3 -c "import torch; print(torch.__version__, torch.cuda.get_arch_list())"',
        ),
        confidence="likely",
        explains=_EXPLAINS,
    )


def _unknown_amd(messages: tuple[Message, ...]) -> Finding:
    """HIP says it, and nothing tells which card it is."""
    return error(
        "A library was asked by HIP to run a kernel and has no code for the target (gfx) of this AMD GPU.",
        evidence=shown(messages),
        fix=Fix(
            "Look up the target of the card and compare it with torch.cuda.get_arch_list(), then install a build that "
            "names it (a newer ROCm, AMD's multi-architecture wheels). Cards of RDNA 2 (gfx1031 to gfx1036) run the "
            "code for gfx1030 with HSA_OVERRIDE_GFX_VERSION=10.3.0, which is not supported",
            command="rocminfo | grep gfx",
        ),
        confidence="likely",
        explains=_EXPLAINS,
    )


def _amd(machine: Machine, messages: tuple[Message, ...], targets: tuple[str, ...]) -> Outcome:
    inside, outside = gfx_names(machine, True), gfx_names(machine, False)
    asked = all_values(messages, "gfx")
    if not inside and outside and asked and all(_of_processor(gfx) for gfx in asked) and not set(asked) & set(outside):
        return _integrated(messages, asked[0], outside[0])  # what the program runs on is none of the cards
    apu = any(is_integrated(gpu) for gpu in machine.gpus) or bool(said(machine, "mentions-apu"))
    if not inside and apu and outside and all(_native(gfx) for gfx in outside):
        return _integrated(messages, "of the processor", outside[0])
    if inside and any(_native(gfx) for gfx in outside) and not any(_native(gfx) for gfx in inside):
        return _integrated(messages, inside[0], outside[0])
    if not inside and apu and outside:
        return [_missing(messages, targets, True), _maybe_integrated(messages, outside[0])]
    return _missing(messages, targets, apu)


def _missing(messages: tuple[Message, ...], targets: tuple[str, ...], apu: bool) -> Finding:
    gfx = next((one for one in targets if not _native(one)), targets[0])
    value = best_value(gfx)
    library = first_value(messages, "library") or "the library"
    group = override_gfx_name(value) if value else None
    message = f"{library[:1].upper()}{library[1:]} has no code for {gfx}, the architecture of this AMD GPU."
    build = f"Install a build of {library} that has {gfx} (AMD's multi-architecture wheels or a newer ROCm release)"
    hide = " Hide the integrated GPU, which needs different code (HIP_VISIBLE_DEVICES)" if apu else ""
    source = f"or build it from source with {gfx} among its targets"
    if value is None or group == gfx:
        return error(
            message,
            evidence=shown(messages),
            fix=Fix(f"{build}, {source}.{hide}"),
            confidence="likely",
            explains=_EXPLAINS,
        )
    return error(
        f"{message} Most builds have code for {group}, which is in the same instruction set group.",
        evidence=shown(messages),
        fix=Fix(
            f"{build}, {source}. Until then run with HSA_OVERRIDE_GFX_VERSION={value}, so that "
            f"the code for {group} is used; this is not supported.{hide}",
            command=shell("export HSA_OVERRIDE_GFX_VERSION={value:number}", value=value),
            safety="risky",
            verify="python3 -c \"import torch; print(torch.ones(8, device='cuda').sum())\"",
        ),
        confidence="likely",
        explains=_EXPLAINS,
    )


def _native(gfx: str) -> bool:
    target = gfx_target(gfx)
    return target is not None and target.wheel_native is True


def _of_processor(gfx: str) -> bool:
    """Whether a target is the graphics of a processor only."""
    target = gfx_target(gfx)
    return target is not None and target.integrated is True


def _maybe_integrated(messages: tuple[Message, ...], outside: str) -> Finding:
    """The same message comes from a job that runs on the graphics of the processor, which has other code."""
    return warning(
        f"The processor has integrated graphics: if HIP numbers them before the card ({outside}), the program runs on "
        "the integrated GPU.",
        evidence=shown(messages),
        fix=Fix(
            "See which GPU is device 0; hide the integrated GPU (iGPU) with HIP_VISIBLE_DEVICES or "
            "ROCR_VISIBLE_DEVICES, or switch it off in the BIOS setup",
            command="rocminfo | grep -E 'Name:|Agent '",
            safety="safe",
        ),
        cause="igpu-shadows-dgpu",
        confidence="possible",
    )


def _integrated(messages: tuple[Message, ...], inside: str, outside: str) -> Finding:
    return error(
        f"The integrated GPU ({inside}) is used too, but the libraries have code only for the discrete card "
        f"({outside}).",
        evidence=shown(messages),
        fix=Fix(
            "Hide the integrated GPU (iGPU) from the runtime: choose the discrete card with HIP_VISIBLE_DEVICES or "
            "ROCR_VISIBLE_DEVICES (rocminfo lists the order), or switch it off in the BIOS setup",
            command="export HIP_VISIBLE_DEVICES=0",
            safety="safe",
            verify='python3 -c "import torch; print(torch.cuda.get_device_name(0))"',
        ),
        cause="igpu-shadows-dgpu",
        confidence="likely",
        explains=("gpu-arch-not-built", "mixed-gpu-archs"),
    )


def _nvidia(machine: Machine, messages: tuple[Message, ...], level: str) -> Finding:
    number = level.rstrip("a")
    built = first_value(messages, "built")
    version = value_or(machine.torch.version, None)
    cuda = machine.torch.cuda.value if isinstance(machine.torch.cuda, Known) else None
    what = f"torch {version}" if version else "The installed torch or extension"
    made = f" (built with CUDA {cuda})" if cuda and f"cu{cuda.replace('.', '')}" not in (version or "") else ""
    has = f" It has {' '.join(built.split())}." if built else ""
    first = _FIRST_CUDA.get(number)
    if first is not None:
        wheel = f"cu{first.replace('.', '')}"
        way = (
            f"Install a build for CUDA {first} or newer ({wheel} wheels or later), the first toolkit that compiles for "
            f"sm_{number}, and rebuild extensions with TORCH_CUDA_ARCH_LIST={number[:-1]}.{number[-1]}"
        )
    else:
        way = (
            f"Use an older release that still has sm_{number}, build it from source with "
            f"TORCH_CUDA_ARCH_LIST={number[:-1]}.{number[-1]}, or use a newer GPU: current wheels dropped it"
        )
    return error(
        f"{what}{made} has no code for sm_{number}, the architecture of this NVIDIA GPU.{has}",
        evidence=shown(messages),
        fix=Fix(way, command=_with_cuda(first), verify='python3 -c "import torch; print(torch.cuda.get_arch_list())"'),
        confidence="certain" if any(one.kind == "arch-not-in-torch" for one in messages) else "likely",
        explains=_EXPLAINS,
    )


def _with_cuda(release: str | None) -> ShellCommand:
    """torch of a CUDA release that has an index of its own; "" for another."""
    flavour = f"cu{(release or '').replace('.', '')}"
    return install_torch(wheel_url(flavour) if has_wheels(flavour) else None, how="upgrade")
