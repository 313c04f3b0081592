"""A wheel of a compiled extension was built for another torch, C++ ABI, CUDA or Python than the one here.

Why
  The file name of such a wheel says what it was compiled for: flash_attn-2.5.5+cu118torch2.2cxx11abiTRUE-cp38 is for
  CUDA 11.8, torch 2.2 with the C++11 ABI, and Python 3.8. With another torch, its import fails with "undefined symbol".
  torch's wheels have the old ABI (FALSE) up to 2.5, and in 2.6 for CUDA 11.8 and 12.4; the new one (TRUE) in 2.6 for
  CUDA 12.6 and from 2.7 on. The builds in NVIDIA's containers and on conda-forge have the new one.

Fix
  Use the wheel whose name fits torch.__version__, torch.compiled_with_cxx11_abi() and the Python version, or build
  the extension from source with --no-build-isolation.

References
  https://github.com/Dao-AILab/flash-attention/releases
  https://pytorch.org/blog/pytorch2-6/
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_stack import wheel_abi
from rocdoctor.insight.texts.own_trouble import trouble
from rocdoctor.insight.texts.pasted import said, shown, when_said
from rocdoctor.judging.check import Confidence, Fix, Outcome, Severity, check, finding
from rocdoctor.knowledge.load import numbers
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.lazy_re import regex

_LOADING = regex(r"(?i)\b(?:imports?|imported|importing|loads?|loaded|pip|refuses?|not a supported wheel)\b")
_BROKEN = ("undefined-symbol-said", "extension-for-other-torch", "cxx-abi-differs")


@check(when_said("extension-wheel-named"), cause="python-package-mismatch")
def extension_wheel_message(machine: Machine) -> Outcome:
    wheel = said(machine, "extension-wheel-named")[0]
    differing = _differing(machine, wheel)
    broken = said(machine, *_BROKEN) or (trouble(machine, _LOADING, "packages-refused") if differing else ())
    if not broken or (not differing and value_or(machine.torch.version, None)):
        return None
    package, torch = str(wheel.values["package"]), value_or(machine.torch.version, None)
    built, here = _built_for(wheel), f" {torch}" if torch else ""
    text = f"The wheel of {package} is built for {built}"
    text += (
        f", and {'; '.join(differing)}: it fits a different torch than the one here."
        if differing
        else (
            ": the installed torch must be that one, with the same C++ ABI, CUDA and Python, or symbols are undefined."
        )
    )
    severity: Severity = "error" if differing else "warning"
    confidence: Confidence = "likely" if differing else "possible"
    return finding(
        severity,
        text,
        evidence=(*shown([wheel]), *shown(broken[:1])),
        fix=Fix(
            f"Install the wheel of {package} whose name fits torch{here}, its C++ ABI "
            "(cxx11abiTRUE or FALSE, as torch.compiled_with_cxx11_abi() says), CUDA and Python, or build it here "
            "(pip install --no-build-isolation --no-binary)",
            "python3 -c 'import torch; print(torch.__version__, torch.version.cuda, torch.compiled_with_cxx11_abi())'",
            "safe",
        ),
        confidence=confidence,
        explains=("missing-shared-library", "package-mismatch-message", "abi-mismatch-message", "like-known-reports"),
    )


def _torch_of(wheel: Message) -> str:
    short = str(wheel.values.get("pt", ""))
    return str(wheel.values.get("torch", "")) or f"{short[0]}.{short[1:]}" if short or "torch" in wheel.values else ""


def _built_for(wheel: Message) -> str:
    values = wheel.values
    cuda, abi, python = (str(values.get(name, "")) for name in ("cuda", "abi", "python"))
    parts = [f"torch {_torch_of(wheel)}"]
    parts += [f"the C++11 ABI {abi} (cxx11abi)"] if abi else []
    parts += [f"CUDA {cuda[:2]}{'.' + cuda[2:] if len(cuda) > 2 else ''}"] if cuda else []
    return ", ".join([*parts, f"Python {python[2]}.{python[3:]}"])


def _differing(machine: Machine, wheel: Message) -> list[str]:
    """What the machine has otherwise than the wheel wants, in words."""
    version, python = value_or(machine.torch.version, None) or "", value_or(machine.torch.python, "")
    found: list[str] = []
    if version and numbers(version)[:2] != numbers(_torch_of(wheel))[:2]:
        found.append(f"torch {version} is installed")
    abi = wheel.values.get("abi")
    if abi and version and not found and (own := wheel_abi(version)) and own != abi:
        found.append(f"the wheels of torch {version} have the C++11 ABI {own}")
    if python and numbers(python)[:2] != (3, int(str(wheel.values["python"])[3:])):
        found.append(f"Python is {python}")
    return found
