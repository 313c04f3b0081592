"""torch.cuda.is_available() is False after torch was installed from an index that gives another build.

Why
  pip picks the highest version of all indexes that it is given. With --extra-index-url PyPI's CPU or CUDA build can win
  over the ROCm build, and without an index pip installs PyPI's CUDA build. If the named index has no wheel for the
  Python version, pip also silently falls back to PyPI.

Fix
  Look at torch.version.hip and torch.version.cuda. Uninstall torch and install it with --index-url (not
  --extra-index-url) from the index for this GPU, with a Python version that the index has wheels for.

References
  https://pytorch.org/get-started/locally/
  https://pip.pypa.io/en/stable/cli/pip_install/
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_command import build_for_any, right_build
from rocdoctor.insight.software.torch_stack import (
    VENDOR_OF,
    WORDS,
    any_wheel_index,
    backend,
    for_training,
)
from rocdoctor.insight.texts.pasted import first_value, gpu_words, said, shown, vendors
from rocdoctor.judging.check import Finding, Fix, NotApplicable, Outcome, Subjects, check, cite, not_applicable, warning
from rocdoctor.knowledge.software.wheel_indexes import install_torch
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Gpu, Machine, Message
from rocdoctor.model.finding import Selected
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.subject import MACHINE

_TROUBLE = ("torch-sees-no-gpu", "told-trouble", "gpu-said-unused", "prose-cpu-instead")
_PLAIN = regex(r"\d{1,2}\.\d{1,2}\.\d{1,2}\Z")  # a release without a label, as the wheels of PyPI have


def when_told_of_no_gpu(machine: Machine) -> Subjects[None]:
    """The machine, when torch sees no GPU, or when trouble is told of a torch for another vendor than the card's."""
    if said(machine, "torch-sees-no-gpu") or (said(machine, *_TROUBLE) and _foreign(machine)):
        return [Selected(MACHINE, None)]
    return NotApplicable("no message of this kind in this evidence")


def _foreign(machine: Machine) -> bool:
    vendor = VENDOR_OF.get(value_or(backend(machine.torch), ""))
    return vendor is not None and bool(_cards(machine)) and all(gpu.vendor != vendor for gpu in machine.gpus)


@check(when_told_of_no_gpu, cause="wrong-backend-build")
def torch_sees_no_gpu_message(machine: Machine) -> Outcome:
    messages, installs = said(machine, *_TROUBLE), said(machine, "pip-install-torch")
    built = backend(machine.torch)
    if isinstance(built, Known) and built.value == "cpu" and (cards := _cards(machine)):
        return _cpu_only(machine, messages, cards)
    if _foreign(machine):
        return _other_vendor(machine, messages, _cards(machine), WORDS[value_or(built, "")])
    if isinstance(built, Known):
        return not_applicable("what torch was built for is known; other checks judge it")
    version = value_or(machine.torch.version, None) or ""
    amd = vendors(machine) == {"amd"} or (not machine.gpus and bool(said(machine, "sign-amd")))
    if not installs and amd and _PLAIN.match(version) and not isinstance(built, Known):
        return _of_pypi(machine, messages, version)
    if not installs or vendors(machine) != {"amd"}:
        return not_applicable("how torch was installed on this AMD machine is not in the text")
    option, index = first_value(installs, "option"), first_value(installs, "index")
    python = machine.torch.python.value if isinstance(machine.torch.python, Known) else None
    if option == "--index-url" and index and "rocm" in index:
        return None
    how = (
        "with --extra-index-url, which only adds an index to PyPI"
        if option == "--extra-index-url"
        else ("without the index of the ROCm builds")
    )
    wheel = f"Python {python}" if python else "the Python version in use"
    own = any_wheel_index("amd", machine)
    where = f"from one ROCm index that has wheels for {wheel}"
    if own is None:  # an index that nobody knows of is no advice
        where = f"in an environment of another Python: no ROCm index that we know has wheels for {wheel}"
    return warning(
        f"torch sees no GPU, and it was installed {how}: pip probably installed the CPU or CUDA build, not a ROCm "
        f"build.",
        evidence=shown((*messages[:1], *installs)),
        fix=Fix(
            "Check torch.version.hip (None means that it is not a ROCm build); uninstall torch and install it with "
            f"--index-url {where}",
            command=build_for_any(machine, ("amd",)).command or install_torch(own),
            safety="risky",
            verify='python3 -c "import torch; print(torch.__version__, torch.version.hip)"',
        ),
        confidence="likely",
        explains=("gpu-arch-not-built",),
    )


def _of_pypi(machine: Machine, messages: tuple[Message, ...], version: str) -> Finding:
    return warning(
        f"torch sees no GPU, and its version ({version}) has no label such as +rocm6.4: it is probably the build "
        "from PyPI, which is for CUDA on Linux and for the CPU on Windows.",
        evidence=(cite(machine.torch.version), *shown(messages[:1])),
        fix=Fix(
            "Check torch.version.hip (None means that it is not a ROCm build); uninstall torch and install it with "
            "--index-url from the ROCm index",
            command=build_for_any(machine, ("amd",)).command or install_torch(any_wheel_index("amd", machine)),
            safety="risky",
            verify='python3 -c "import torch; print(torch.__version__, torch.version.hip)"',
        ),
        confidence="possible",
        explains=("gpu-arch-not-built",),
    )


def _cards(machine: Machine) -> list[Gpu]:
    """The GPUs to train on, where nothing shows what drives them: with a driver another check judges."""
    if any(isinstance(gpu.driver, Known) for gpu in machine.gpus):
        return []
    return [gpu for gpu in machine.gpus if gpu.vendor in ("amd", "nvidia") and for_training(gpu)]


def _cpu_only(machine: Machine, messages: tuple[Message, ...], cards: list[Gpu]) -> Finding:
    version = value_or(machine.torch.version, None) or ""
    return warning(
        f"torch {version} is a CPU-only build: it sees no GPU, whatever the driver of the {gpu_words(cards)} does.",
        evidence=(cite(machine.torch.version), *shown(messages[:1])),
        fix=right_build(machine, cards[0]),
        confidence="likely",
        explains=("gpu-arch-not-built",),
    )


def _other_vendor(machine: Machine, messages: tuple[Message, ...], cards: list[Gpu], word: str) -> Finding:
    version = value_or(machine.torch.version, None) or ""
    return warning(
        f"torch {version} is a {word} build and sees no GPU: whatever the driver does, the {gpu_words(cards)} needs a "
        f"{WORDS['rocm' if cards[0].vendor == 'amd' else 'cuda']} build.",
        evidence=(cite(machine.torch.version), *shown(messages[:1])),
        fix=right_build(machine, cards[0]),
        confidence="likely",
        explains=("gpu-arch-not-built", "driver-too-old"),
    )
