"""What programs say in pasted text, for checks: which messages stand, their values, and how they become evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rocdoctor.insight.gpus.presence import is_integrated
from rocdoctor.judging.check import Selector, quote
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Gpu, Machine, Message
from rocdoctor.model.finding import Evidence, NotApplicable, Selected, Subjects
from rocdoctor.model.of_same import of_same
from rocdoctor.model.subject import MACHINE

SOURCE = "text"
_SHOWN = 3


def when_said(*kinds: str) -> Selector[None]:
    """The machine, when the text holds a message of one of these kinds."""

    def select(machine: Machine) -> Subjects[None]:
        if said(machine, *kinds):
            return [Selected(MACHINE, None)]
        return NotApplicable("no message of this kind in this evidence")

    return select


def said(machine: Machine, *kinds: str) -> tuple[Message, ...]:
    """Messages of these kinds that the writer shows as a present state; else those in quoted parts."""
    by_kind = _by_kind(machine.messages)
    placed = [one for kind in dict.fromkeys(kinds) for one in by_kind.get(kind, ())]
    found = [machine.messages[at] for at in (placed if len(kinds) == 1 else sorted(placed))]
    now = tuple(message for message in found if message.role == "now")
    return now or tuple(message for message in found if message.role == "quoted")


@of_same
def _by_kind(messages: tuple[Message, ...]) -> Mapping[str, Sequence[int]]:
    """The places of the messages of each kind."""
    found: dict[str, list[int]] = {}
    for at, message in enumerate(messages):
        found.setdefault(message.kind, []).append(at)
    return found


def shown(messages: Sequence[Message]) -> tuple[Evidence, ...]:
    """The first messages as evidence."""
    return tuple(replace(quote(SOURCE, one.text, one.line), kind=one.kind) for one in messages[:_SHOWN])


def first_value(messages: Sequence[Message], *names: str) -> str | None:
    """The first value of these names in the messages, as text."""
    for message in messages:
        for name in names:
            if name in message.values:
                return str(message.values[name])
    return None


def all_values(messages: Sequence[Message], *names: str) -> tuple[str, ...]:
    """The different values of these names, in order."""
    return tuple(
        dict.fromkeys(str(message.values[name]) for message in messages for name in names if name in message.values)
    )


@of_same
def vendors(machine: Machine) -> frozenset[str]:
    """The vendors of GPUs that training could use, as far as the evidence names GPUs or, without a model, AMD's."""
    named = frozenset(gpu.vendor for gpu in machine.gpus if gpu.vendor in ("amd", "nvidia"))
    return named or (frozenset(("amd",)) if _amd_is_meant(machine) else named)


def _amd_is_meant(machine: Machine) -> bool:
    """No card is named; a ROCm build of torch, or the words "AMD GPU", tell whose it is."""
    rocm = isinstance(machine.torch.hip, Known) and machine.torch.hip.value is not None
    return (rocm or bool(said(machine, "names-amd-gpu"))) and "nvidia" not in machine.drivers


def gfx_names(machine: Machine, integrated: bool | None = None) -> tuple[str, ...]:
    """The gfx targets of the AMD GPUs here; only integrated or only other ones when asked."""
    wanted = [gpu for gpu in machine.gpus if integrated is None or is_integrated(gpu) is integrated]
    return tuple(dict.fromkeys(gpu.gfx.value for gpu in wanted if isinstance(gpu.gfx, Known)))


@of_same
def training_gpus(machine: Machine) -> tuple[Gpu, ...]:
    """The GPUs that a job is meant to run on: no integrated one where a discrete one is named."""
    return tuple(gpu for gpu in machine.gpus if not is_integrated(gpu)) or machine.gpus


@of_same
def training_gfx(machine: Machine) -> tuple[str, ...]:
    """The gfx targets of the AMD GPUs that a job is meant to run on."""
    return gfx_names(machine, integrated=False) or gfx_names(machine)


def capabilities(machine: Machine) -> tuple[str, ...]:
    """The compute capabilities of the NVIDIA GPUs here, such as "8.6"."""
    facts = [gpu.compute_capability for gpu in machine.gpus if gpu.vendor == "nvidia"]
    return tuple(dict.fromkeys(fact.value for fact in facts if isinstance(fact, Known)))


def gpu_words(gpus: Sequence[Gpu]) -> str:
    """The names of GPUs, each once, for a sentence; "the GPU" when none is known."""
    names = dict.fromkeys(value_or(gpu.name, "") for gpu in gpus)
    return " and ".join(name for name in names if name) or "the GPU"


def in_container(machine: Machine) -> bool:
    """The evidence speaks of a container: as a fact, or in the words of the writer, for whom the host is well."""
    kind = value_or(machine.container.kind, "none")
    spoken = bool(said(machine, "mentions-container")) and not said(machine, "host-fails-alike")
    return kind not in ("none", "wsl") or spoken


def in_slurm(machine: Machine) -> bool:
    """The evidence speaks of a Slurm job."""
    return any(name.startswith("SLURM_") for name in machine.environment.variables) or bool(
        said(machine, "mentions-slurm")
    )


def in_wsl(machine: Machine) -> bool:
    """The evidence speaks of the Windows Subsystem for Linux."""
    return value_or(machine.container.kind, "") == "wsl" or bool(said(machine, "wsl-environment"))
