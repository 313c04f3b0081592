"""A program reports that two Python packages are not compatible.

Why
  torchvision, torchaudio, xFormers, flash-attn and other extensions are compiled for one release (and one CUDA or ROCm
  flavour) of torch. If only one of them was changed, operators are missing, symbols are undefined, or the package
  refuses to be imported. The driver and the GPU are not involved.

Fix
  Reinstall torch and its companion packages together, in one command and from one index; rebuild extensions from
  source after every change of torch.

References
  https://github.com/pytorch/vision#installation
  https://pytorch.org/get-started/previous-versions/
  https://numpy.org/devdocs/numpy_2_0_migration_guide.html
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_command import build_for_any
from rocdoctor.insight.software.torch_stack import any_wheel_index, label_backend
from rocdoctor.insight.texts.pasted import first_value, said, shown, vendors, when_said
from rocdoctor.judging.check import Confidence, Finding, Fix, Outcome, Severity, check, error, finding
from rocdoctor.knowledge.software.wheel_indexes import install_torch
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.shell_command import shell

_CERTAIN = (
    "companion-built-for-other-cuda",
    "torchvision-operator-missing",
    "cudnn-version-mismatch",
    "numpy-abi",
    "nccl-version-differs",
)
_LIKELY = ("extension-for-other-torch", "pip-conflict")


@check(when_said(*_CERTAIN, *_LIKELY), cause="python-package-mismatch")
def package_mismatch_message(machine: Machine) -> Outcome:
    messages = [one for one in said(machine, *_CERTAIN, *_LIKELY) if "weak" not in one.values]
    messages = messages or list(said(machine, *_CERTAIN, *_LIKELY))
    order = (*_CERTAIN, *_LIKELY)
    main = min(messages, key=lambda one: (order.index(one.kind), one.line))
    return _judge(machine, main, [one for one in messages if one.kind == main.kind])


def _judge(machine: Machine, main: Message, messages: list[Message]) -> Finding:
    package = str(main.values.get("package", "") or "")
    library = str(main.values.get("library", "") or "")
    version = value_or(machine.torch.version, None)
    release = f"torch {version}" if version else "the installed torch"
    together = Fix(
        "Reinstall torch, torchvision and torchaudio together: matching versions, in one command, from one wheel index "
        "(the same CUDA or ROCm flavour)",
        command=(build_for_any(machine, ("amd",)).command or install_torch(any_wheel_index("amd", machine)))
        if vendors(machine) == {"amd"}
        else install_torch("INDEX_OF_YOUR_FLAVOUR"),
        safety="risky",
        verify='python3 -c "import torch, torchvision; print(torch.__version__, torchvision.__version__)"',
    )
    weak = "weak" in main.values
    severity: Severity = "warning" if main.kind == "pip-conflict" or weak else "error"
    confidence: Confidence = "certain" if main.kind in _CERTAIN and not weak else "likely"
    if main.kind == "companion-built-for-other-cuda":
        ours, theirs = first_value(messages, "torch_cuda"), first_value(messages, "package_cuda")
        shape = f" (torch CUDA {ours}, {package} CUDA {theirs})" if ours and theirs else ""
        text = f"torch and {package} were built for different CUDA releases{shape}."
    elif main.kind == "torchvision-operator-missing":
        text = (
            f"The installed torchvision does not match {release}: its compiled operators "
            f"({main.values.get('operator', 'nms')}) are not registered. It was built for another release of torch, or "
            "it is a CPU build."
        )
    elif main.kind == "numpy-abi":
        text = "A package was compiled for another major version of NumPy (1.x or 2.x) than the one installed."
        together = Fix(
            "Install numpy<2, or newer releases of the packages that use it", 'pip install "numpy<2"', "risky"
        )
    elif main.kind == "cudnn-version-mismatch":
        wanted, found = first_value(messages, "wanted"), first_value(messages, "found")
        which = f" {found} (built with {wanted})" if wanted and found else ""
        text = f"The loader finds a different cuDNN{which} than the one that the program was built with."
        together = Fix(
            "Remove the other cuDNN from LD_LIBRARY_PATH (wheels include their own), or install the nvidia-cudnn "
            "version that torch requires",
            "unset LD_LIBRARY_PATH",
            "safe",
            unsets=("LD_LIBRARY_PATH",),
        )
    elif main.kind == "nccl-version-differs":
        text = (
            f"The ranks of this job loaded different releases of NCCL ({main.values.get('version')} and "
            f"{main.values.get('other')})."
        )
        together = Fix(
            "Install the same torch (and nvidia-nccl) on every node, preferably from one image, "
            "and unset LD_LIBRARY_PATH "
            "and LD_PRELOAD that point to another libnccl",
            'python3 -c "import torch; print(torch.cuda.nccl.version())"',
            "safe",
        )
    elif main.kind == "pip-conflict":
        text = (
            f"{package} {main.values.get('version')} requires "
            f"{main.values.get('what')}{main.values.get('wanted')}, but "
            f"{main.values.get('found')} is installed."
        )
    elif main.values.get("wanted") and (other := _other_vendor(main)) is not None:
        return other
    elif (python := _other_python(main)) is not None:
        text = f"{library} was built for Python {python[0]}, and this environment has Python {python[1]}."
        together = Fix(
            f"Install the {library} wheel for Python {python[1]} (cp{python[1].replace('.', '')}), or make the "
            f"environment with Python {python[0]}",
            "python3 --version",
            "safe",
        )
    elif main.values.get("wanted"):
        text = f"{library} was built for torch {main.values['wanted']}, but {main.values.get('found')} is installed."
        together = Fix(f"Install the {library} release for this torch, or rebuild it", "", "safe")
    else:
        text = (
            f"{library} was compiled against a different release of torch than {release}: a symbol of torch that it "
            f"needs "
            "is not defined."
        )
        together = Fix(
            "Reinstall or rebuild the extension for the installed torch: uninstall it, then pip install "
            "--no-build-isolation --no-cache-dir, or use the wheel named for this torch, CUDA and Python version",
            "pip install --force-reinstall --no-cache-dir --no-build-isolation PACKAGE",
            "risky",
        )
    return finding(
        severity,
        text,
        evidence=shown(messages),
        fix=together,
        confidence=confidence,
        explains=("missing-shared-library",),
    )


def _other_python(main: Message) -> tuple[str, str] | None:
    """The Python that an extension was built for and the one that is here, where only these differ."""
    built, here = (str(main.values.get(name, "")) for name in ("python", "python_here"))
    same_torch = main.values.get("wanted") == main.values.get("found")
    return (built, here) if built and here and built != here and same_torch else None


def _other_vendor(main: Message) -> Finding | None:
    """An extension built for the torch of one vendor beside the torch of another, as their local versions say."""
    library, wanted, found = (str(main.values.get(name, "")) for name in ("library", "wanted", "found"))
    built, here = label_backend(wanted), label_backend(found)
    if built is None or here is None or built == here:
        return None
    names = {"rocm": "ROCm", "cuda": "CUDA", "cpu": "CPU", "xpu": "XPU"}
    if here == "cpu":
        text = (
            f"torch {found} is the CPU build, and {library} was built for torch {wanted}: torch itself is the wrong "
            f"one."
        )
        way = f"Install torch in its {names[built]} build, with the index of that build"
    else:
        text = (
            f"{library} is a build for {names[built]} (torch {wanted}), and the installed torch is for {names[here]} "
            f"({found})."
        )
        way = (
            f"Uninstall {library} (torch has its own attention), or install a {names[here]} build of it that is "
            f"made "
            f"for torch {found}"
        )
    return error(
        text,
        evidence=shown([main]),
        fix=Fix(way, shell("pip list | grep -iE {names}", names="torch|xformers|flash|triton"), "safe"),
        cause="wrong-backend-build",
        confidence="likely",
        explains=("python-package-mismatch", "missing-shared-library"),
    )
