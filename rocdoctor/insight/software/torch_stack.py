"""What a torch build is for and whether this machine has it: judgements that several checks share.

Versions follow the version specifiers of the Python packaging guide (local parts after ``+`` count only when the
requirement names one). None means that the evidence does not decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import wraps
from typing import ParamSpec

from rocdoctor.insight.gpus.presence import is_driven, is_integrated
from rocdoctor.judging.check import Outcome, Selector
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.lookup import chip_of_device, gfx_target, torch_releases
from rocdoctor.knowledge.software.compat import series
from rocdoctor.knowledge.software.wheel_indexes import cuda_rows, flavour_rank, install_torch, wheel_url
from rocdoctor.model.evidence import Fact, Known, Unknown, known, unknown, value_or
from rocdoctor.model.facts import DeviceNode, Gpu, Machine, TorchBuild
from rocdoctor.model.finding import Finding, Fix, Item, NotApplicable, Subjects
from rocdoctor.model.lazy_re import regex

VENDOR_OF = {"rocm": "amd", "cuda": "nvidia", "xpu": "intel"}
WORDS = {"rocm": "ROCm", "cuda": "CUDA", "xpu": "Intel XPU", "cpu": "CPU-only"}
SELECTOR_PAGE = "https://pytorch.org/get-started/locally/"

_P = ParamSpec("_P")
# Where the interpreters of distributions lie, and what an active environment sets.
_SYSTEM = ("/usr/bin/", "/bin/", "/usr/local/bin/", "/run/current-system/")
_ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX")
_RELEASE = regex(r"(\d{1,6}(?:\.\d{1,8}){0,5})((?:\.?(?:a|b|rc|dev|post)\d{0,12}){0,3})(?:\+([A-Za-z0-9._-]{1,80}))?")
_CLAUSE = regex(r"(===|==|!=|<=|>=|<|>|~=)\s*([0-9][^\s,;)]{0,100})")


def installed(torch: TorchBuild) -> str:
    """The torch version of the interpreter under test; ends the check as unknown where there is none."""
    version = known(torch.version)
    if version is None:
        raise unknown("torch is not installed in the interpreter under test", "absent")
    return version


def needs_torch(selector: Selector[Item]) -> Selector[Item]:
    """The same subjects, but not applicable where torch is known not to be installed."""

    def select(machine: Machine) -> Subjects[Item]:
        version = machine.torch.version
        if isinstance(version, Known) and version.value is None:
            return NotApplicable("torch is not installed in the interpreter under test")
        return selector(machine)

    return select


def works(machine: Machine, name: str | None = None) -> bool:
    """Torch was imported here and counts GPUs; ``name`` asks that this is its back end."""
    torch = machine.torch
    if not isinstance(torch.import_error, Known) or torch.import_error.value is not None:
        return False
    return value_or(torch.device_count, 0) > 0 and name in (None, value_or(backend(torch), None))


def guessed(machine: Machine) -> bool:
    """The interpreter is the system's, taken because no environment is active: the job may well use another one.

    In a container the system's interpreter is the one that the image is for.
    """
    variables = machine.environment.variables
    if not machine.environment.complete or value_or(machine.container.kind, None) != "none":
        return False
    path = value_or(machine.torch.interpreter, "")
    return path.startswith(_SYSTEM) and not any(name in variables for name in _ACTIVE)


def of_interpreter(function: Callable[_P, Outcome]) -> Callable[_P, Outcome]:
    """For checks of what is installed in the interpreter: no error over one that was only guessed."""

    def weighed(one: Finding) -> Finding:
        if one.severity != "error":
            return one
        message = f"{one.message} The system's Python was examined; use --python to name the job's interpreter."
        return replace(one, severity="warning", message=message, confidence="likely")

    @wraps(function)
    def judge(*args: _P.args, **more: _P.kwargs) -> Outcome:
        outcome = function(*args, **more)
        machine = args[0]
        if outcome is None or isinstance(outcome, NotApplicable) or not isinstance(machine, Machine):
            return outcome
        if not guessed(machine):
            return outcome
        return weighed(outcome) if isinstance(outcome, Finding) else [weighed(one) for one in outcome]

    return judge


def local_part(version: str) -> str:
    """The build label of a version: ``2.9.0+rocm6.4`` is ``rocm6.4``; "" when there is none."""
    return version.partition("+")[2].lower()


def label_backend(version: str) -> str | None:
    """The back end that a build label names (rocm, cuda, xpu, cpu), or None when it names none."""
    label = local_part(version)
    if label.startswith("rocm"):
        return "rocm"
    if re.match(r"cu\d{2,3}", label):
        return "cuda"
    if label.startswith("xpu"):
        return "xpu"
    return "cpu" if label == "cpu" or label.startswith("cpu.") else None


def wheel_abi(version: str) -> str:
    """The setting of the C++11 ABI in the wheels of a torch release, "" where it is not known."""
    release, _, label = version.partition("+")
    if not numbers(release) or "a0" in release or label.startswith(("git", "nv")) or "nv" in label:
        return ""
    if numbers(release)[:2] == (2, 6):
        return "TRUE" if label.startswith(("cu126", "rocm6.2.4", "xpu")) else "FALSE" if label.startswith("cu1") else ""
    return "FALSE" if numbers(release) < (2, 6) else "TRUE"


def backend(torch: TorchBuild) -> Fact[str]:
    """Which back end a torch build has: rocm, cuda, xpu or cpu."""
    version = value_or(torch.version, None)
    if isinstance(torch.hip, Known) and torch.hip.value:
        return Known("rocm", torch.hip.source)
    if isinstance(torch.cuda, Known) and torch.cuda.value:
        return Known("cuda", torch.cuda.source)
    if isinstance(torch.version, Known) and version is not None and (named := label_backend(version)):
        return Known(named, torch.version.source)
    if isinstance(torch.hip, Known) and isinstance(torch.cuda, Known):
        return Known("cpu", torch.cuda.source)
    return Unknown("what torch was built for is not in this evidence", "not-asked")


def rocm_label(torch: TorchBuild) -> str | None:
    """The ROCm release that a build label names: ``2.9.0+rocm6.4`` is ``6.4``."""
    found = re.match(r"rocm(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)", local_part(value_or(torch.version, None) or ""))
    return found.group(1) if found else None


def _node_missing(nodes: Sequence[DeviceNode], prefix: str) -> bool:
    found = [node for node in nodes if node.path.startswith(prefix)]
    return bool(found) and all(isinstance(node.exists, Known) and not node.exists.value for node in found)


def kept_out(machine: Machine, vendor: str) -> bool:
    """The device nodes of a vendor are known not to be in here, as in a container that was given no GPU."""
    return _node_missing(machine.nodes, "/dev/kfd" if vendor == "amd" else "/dev/nvidia")


def compute_gpus(machine: Machine, vendor: str) -> list[Gpu]:
    """GPUs of a vendor with their driver bound, that this process was not kept away from."""
    if kept_out(machine, vendor):
        return []
    return [gpu for gpu in machine.gpus if gpu.vendor == vendor and is_driven(gpu)]


def wheels_have(gpu: Gpu) -> bool | None:
    """Whether official torch wheels hold code for this GPU: AMD by the gfx table, NVIDIA from Maxwell (5.0) on."""
    if gpu.vendor == "amd":
        chip = chip_of_device(value_or(gpu.pci_id, "").split(":")[-1])
        if not isinstance(gpu.gfx, Known) and chip is not None and chip.gfx is None:
            return False  # the compute driver has no target for this chip
        gfx = value_or(gpu.gfx, chip.gfx if chip is not None else None)
        target = gfx_target(gfx) if gfx is not None else None
        return target.wheel_native if target is not None else None
    capability = re.match(r"(\d{1,2})\.", value_or(gpu.compute_capability, ""))
    return int(capability.group(1)) >= 5 if capability else None


def for_training(gpu: Gpu) -> bool:
    """A GPU that somebody buys to compute: discrete, or the integrated GPU of an Instinct (MI300A)."""
    target = gfx_target(value_or(gpu.gfx, ""))
    return not is_integrated(gpu) or (target is not None and target.family.startswith("cdna"))


def _parts(version: str) -> tuple[tuple[int, ...], str, str] | None:
    found = _RELEASE.fullmatch(version.strip().lower().removeprefix("v"))
    if found is None:
        return None
    release = tuple(int(part) for part in found.group(1).split("."))
    return release, found.group(2) or "", found.group(3) or ""


def _padded(release: tuple[int, ...], length: int) -> tuple[int, ...]:
    return release + (0,) * (length - len(release))


def satisfies(version: str, requirement: str) -> bool | None:
    """Whether a version meets a requirement such as ``torch (==2.5.1)``; None for forms that are not judged here.

    Requirements with a marker (after ``;``), and preliminary versions other than by equality, are not judged.
    """
    if ";" in requirement or "@" in requirement:
        return None
    clauses = _CLAUSE.findall(requirement)
    have = _parts(version)
    if not clauses or have is None:
        return None
    answers = [_meets(have, operator, wanted) for operator, wanted in clauses]
    if False in answers:
        return False
    return None if None in answers else True


def _meets(have: tuple[tuple[int, ...], str, str], operator: str, wanted: str) -> bool | None:
    release, stage, local = have
    if operator in ("==", "!=") and wanted.endswith(".*"):
        prefix = _parts(wanted[:-2])
        if prefix is None:
            return None
        equal = _padded(release, len(prefix[0]))[: len(prefix[0])] == prefix[0]
        return equal if operator == "==" else not equal
    asked = _parts(wanted)
    if asked is None:
        return None
    length = max(len(release), len(asked[0]))
    mine, theirs = _padded(release, length), _padded(asked[0], length)
    if operator in ("==", "===", "!="):
        equal = mine == theirs and stage == asked[1] and asked[2] in ("", local)
        return not equal if operator == "!=" else equal
    if stage or asked[1]:
        return None
    if operator == "~=":
        return mine >= theirs and release[: len(asked[0]) - 1] == asked[0][:-1]
    return {"<": mine < theirs, "<=": mine <= theirs, ">": mine > theirs, ">=": mine >= theirs}[operator]


def preliminary(version: str) -> bool:
    """A nightly, alpha, beta or candidate, whose numbers say little about what fits."""
    found = _parts(version)
    return found is None or any(word in found[1] for word in ("a", "b", "rc", "dev"))


def any_wheel_index(vendor: str, machine: Machine) -> str | None:
    """The index for GPUs of a vendor where nothing tells which one: the newest ROCm flavour of the tables, CUDA 12.

    Of ROCm it has wheels for the Python of the machine; None where the tables know of none.
    """
    if vendor == "nvidia":
        return _cuda_index("", "")
    line = series(value_or(machine.torch.python, ""))
    fitting = [one for one in torch_releases() if not line or line in one.python]
    flavours = {one.flavour for release in fitting for one in release.rocm or ()}
    return _newest(flavours) if flavours else None


def _cuda_index(capability: str, driver: str) -> str:
    return wheel_url(cuda_rows(capability, driver)[0]["flavour"])


def _newest(flavours: Collection[str]) -> str:
    return wheel_url(max(flavours, key=flavour_rank))


def reinstall(index: str | None) -> Fix:
    """The fix for a wrong torch build: torch and its companions again, together, from one index."""
    return Fix(
        "Reinstall torch and its companion packages together, in this interpreter's environment, from the index of "
        f"the right build ({SELECTOR_PAGE})",
        command=install_torch(index),
        safety="risky",
        verify='python3 -c "import torch; print(torch.__version__, torch.version.hip, torch.version.cuda)"',
    )
