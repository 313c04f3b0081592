"""A kernel library (attention, BLAS-Lt, quantisation) does not support this GPU's architecture at all.

Why
  Flash attention, hipBLASLt, FP8 kernels and quantisation libraries are written for certain generations: matrix cores
  of CDNA2 and newer or RDNA3 and newer on AMD, tensor cores of Ampere (8.0) and newer on NVIDIA. On older GPUs they
  refuse, and no other wheel of the same library changes that.

Fix
  Turn the library off by its own option and use the implementation that supports the GPU: torch's built-in attention
  (SDPA, memory-efficient or math backend), rocBLAS instead of hipBLASLt, FP16 instead of BF16 or FP8.

References
  https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
  https://github.com/Dao-AILab/flash-attention#installation-and-features
  https://github.com/ROCm/hipBLASLt
"""

from __future__ import annotations

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
from rocdoctor.judging.check import Finding, Fix, Outcome, check, finding
from rocdoctor.knowledge.lookup import gfx_target
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.lazy_re import regex

_SAID = (
    "flash-attention-unsupported",
    "attention-operator-missing",
    "dtype-needs-newer-gpu",
    "supported-archs-of-amd",
)
# Generations without the matrix instructions that flash attention for ROCm is written for (its list of targets).
_NO_FLASH = ("gfx8", "gfx900", "gfx902", "gfx904", "gfx906", "gfx90c", "gfx101", "gfx103")
_MENTIONED = "mentions-flash-attention"
# What a program says of its choice: it works with that, or does without.
_CHOSEN = regex(
    r"(?i)\b(?:using|use|used|with|enabl\w+|disabl\w+|turn(?:ing|ed) (?:on|off)) (?:\w+ ){0,2}flash[ _-]?att|"
    r"flash[ _-]?att\w{0,40}(?: \w{1,40})?\s{0,8}(?:[=:]|is (?:on|off|enabled|disabled)|enabled|disabled|"
    r"not (?:found|installed|available))"
)


@check(when_said(*_SAID, _MENTIONED), cause="kernel-lib-arch-unsupported")
def kernel_library_unsupported(machine: Machine) -> Outcome:
    messages = said(machine, *_SAID)
    targets = all_values(messages, "gfx") or gfx_names(machine)
    if messages:
        harmless = all("harmless" in one.values for one in messages)
        return _judge(machine, messages, targets, harmless)
    without = [gfx for gfx in targets if gfx.startswith(_NO_FLASH)]
    if not without or len(without) != len(targets):
        return None
    named = tuple(one for one in said(machine, _MENTIONED) if not _CHOSEN.search(one.text))
    return _flash(without, named) if named else None


def _flash(targets: list[str], messages: tuple[Message, ...]) -> Finding:
    names = " and ".join(_named(gfx) for gfx in targets)
    return finding(
        "warning",
        f"Flash attention for ROCm has no implementation for {names}: this generation is not "
        "supported (unsupported architecture, or without the matrix cores that it needs).",
        evidence=shown(messages),
        fix=Fix(
            "Use another attention implementation: torch's scaled_dot_product_attention (SDPA) with the math or "
            "memory-efficient backend, attn_implementation='sdpa' or 'eager' in transformers; or a GPU of a newer "
            "generation (gfx90a, gfx942, gfx11)",
            safety="safe",
        ),
        confidence="likely",
    )


def _named(gfx: str) -> str:
    target = gfx_target(gfx)
    return f"{gfx} ({target.family})" if target is not None and target.family else gfx


def _judge(machine: Machine, messages: tuple[Message, ...], targets: tuple[str, ...], harmless: bool) -> Finding:
    library = first_value(messages, "library")
    what = first_value(messages, "what")
    level = first_value(messages, "found") or next(iter(capabilities(machine)), None)
    gpu = ", ".join(targets) if targets and vendors(machine) != {"nvidia"} else None
    gpu = gpu or (f"compute capability {level.replace(', ', '.')}" if level else "this GPU")
    needs = first_value(messages, "needs")
    wanted = first_value(messages, "capability")
    least = f" It needs {needs}." if needs else f" It needs {wanted.replace(', ', '.')}." if wanted else ""
    if what and not library:
        text = f"{what} is not supported on {gpu}: a newer generation of GPUs is needed.{least}"
        fix = Fix("Use float16 (dtype='half', --fp16) or float32 instead, or a newer GPU", "", "safe")
        if what.lower().startswith("quantization"):
            fix = Fix("Use a checkpoint in another quantisation, or a newer GPU", "", "safe")
    elif library == "hipBLASLt":
        text = f"hipBLASLt has no kernels for {gpu} (unsupported architecture); torch falls back to hipBLAS."
        fix = Fix("Turn it off to silence the message", "export TORCH_BLAS_PREFER_HIPBLASLT=0", "safe")
    else:
        name = library or "The kernel library"
        text = f"{name} has no implementation for {gpu}: the architecture is not supported.{least}"
        fix = Fix(
            "Use another implementation: torch's scaled_dot_product_attention (attn_implementation='sdpa' or "
            "'eager' in "
            f"transformers), and turn {name} off by its option or uninstall it",
            safety="safe",
        )
    return finding(
        "info" if harmless else "error",
        text,
        evidence=shown(messages),
        fix=fix,
        confidence="likely",
    )
