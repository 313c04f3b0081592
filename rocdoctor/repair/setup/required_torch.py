"""What torch has to be built for on this machine, and which wheel the tables have for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rocdoctor.insight.gpus.gfx_override import NAME, override_of, physical_gfx
from rocdoctor.insight.gpus.nvidia import for_one_driver
from rocdoctor.insight.gpus.presence import is_driven, is_integrated, is_reserved, kfd_path
from rocdoctor.insight.software.torch_command import pythons, rocm_wheel
from rocdoctor.insight.software.torch_stack import VENDOR_OF, WORDS, backend
from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.knowledge.gpus.gfx import arch_list_covers, gfx_target, override_gfx_name, same_isa_group
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.software.wheel_indexes import cuda_rows
from rocdoctor.model.evidence import Known, Unknown, value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.model.finding import Evidence
from rocdoctor.model.subject import MACHINE, Subject
from rocdoctor.repair.setup.situation import Situation

Backend = Literal["rocm", "cuda", "cpu"]
# The oldest compute capability of official wheels (Maxwell), as in torch_stack.wheels_have.
_OLDEST_CUDA = (5, 0)
# Stands for a capability that nobody knows yet where only Python matters: all flavours are published for the same ones.
_ANY_CUDA = "8.0"


@dataclass(frozen=True, slots=True)
class RequiredTorch:
    """The back end that serves this machine. ``why`` speaks of its GPUs, or says why it is the CPU.

    ``gpus`` train, ``gfx`` and ``capability`` are what a wheel needs code for (capability None: not known yet).
    """

    backend: Backend
    why: str
    gpus: tuple[Gpu, ...] = ()
    gfx: tuple[str, ...] = ()
    capability: str | None = None
    evidence: tuple[Evidence, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The back end as people write it."""
        return WORDS[self.backend]

    @property
    def subjects(self) -> frozenset[Subject]:
        """The subjects of verdicts that are about these GPUs, or about the whole machine."""
        return frozenset({MACHINE, *(gpu.subject for gpu in self.gpus)})


def wanted(situation: Situation) -> RequiredTorch | Unknown:
    """The back end for the GPUs that would train here; Unknown where the evidence does not show them."""
    machine = situation.machine
    if machine.gpus_gap is not None and not situation.wsl:
        return Unknown(f"which GPUs this machine has is unknown ({machine.gpus_gap.why})")
    if not machine.gpus:
        if situation.wsl:
            return _under_windows(situation)
        if not machine.gpus_complete:
            return Unknown("which GPUs this machine has is not in this evidence")
        if jetson := install.unseen_jetson(situation.kernel, situation.arch):
            return Unknown(jetson)
        return RequiredTorch("cpu", "No GPU is on the bus, so torch computes on the CPU.")
    found = [one for one in (_amd(situation), _nvidia(situation)) if one is not None]
    usable = [one for one in found if isinstance(one, RequiredTorch) and one.backend != "cpu"]
    if len(usable) > 1:
        return _of_two(situation, usable)
    if usable:
        return usable[0]
    gap = next((one for one in found if isinstance(one, Unknown)), None)
    if gap is not None:
        return gap
    if found:
        return found[0]
    other = machine.gpus[0]
    maker = {"intel": "Intel"}.get(other.vendor, "another vendor")
    return RequiredTorch(
        "cpu",
        f"The GPU here is of {maker}, and the tables have no wheel for it: torch computes on the CPU.",
        evidence=(cite(other.pci_id),),
    )


def _under_windows(situation: Situation) -> RequiredTorch | Unknown:
    """Inside WSL no GPU is on a bus: what torch itself counts, or the NVIDIA tool, tells which one there is."""
    torch = situation.machine.torch
    if value_or(torch.device_count, 0) > 0:
        kind = value_or(backend(torch), "")
        gfx = tuple(dict.fromkeys(one.gfx.value for one in torch.devices if isinstance(one.gfx, Known)))
        why = "torch counts a GPU of Windows."
        if kind == "rocm":
            return RequiredTorch("rocm", why, gfx=gfx, evidence=(cite(torch.device_count),))
        if kind == "cuda":
            return RequiredTorch("cuda", why, evidence=(cite(torch.device_count),))
    return Unknown("which GPU Windows gives to WSL is not in this evidence")


def _amd(situation: Situation) -> RequiredTorch | Unknown | None:
    machine = situation.machine
    if not situation.gpus("amd") or all(found.vendor != "amd" for found in situation.targets):
        return None
    gpus = [gpu for gpu in situation.amd if not is_reserved(gpu)]
    able = [gpu for gpu in gpus if kfd_path(gpu) is not False]
    if not able:
        if not gpus:
            return RequiredTorch("cpu", "The AMD GPUs are kept for virtual machines, so torch computes on the CPU.")
        name = value_or(gpus[0].name, value_or(gpus[0].pci_id, "this AMD GPU"))
        return RequiredTorch(
            "cpu",
            f"The compute driver does not support {name}, so torch computes on the CPU.",
            evidence=(cite(gpus[0].pci_id),),
        )
    if alone := install.no_rocm_for(situation.arch):
        why = f"{alone}, and this processor is {situation.arch}: torch computes on the CPU."
        return RequiredTorch("cpu", why, tuple(able), evidence=(cite(machine.cpus.arch),))
    targets: dict[str, Gpu] = {}
    for gpu in able:
        fact = physical_gfx(machine, gpu)
        if not isinstance(fact, Known):
            return Unknown(f"the target (gfx) of {gpu.label} is not known: {fact.why}", fact.reason, fact.source)
        targets.setdefault(fact.value, gpu)
    if all(is_integrated(gpu) for gpu in able) and not _for_compute(targets):
        names = ", ".join(targets)
        return RequiredTorch(
            "cpu",
            f"The integrated GPU ({names}) is on none of AMD's lists, and the CPU trains just as "
            "well, so this plans torch for the CPU.",
            evidence=tuple(cite(gpu.gfx) for gpu in able[:1]),
            notes=_tried(tuple(targets)),
        )
    evidence = tuple(cite(gpu.gfx, gfx) for gfx, gpu in targets.items())
    if not _any_wheel(tuple(targets)):
        names = ", ".join(targets)
        return RequiredTorch(
            "cpu",
            f"No wheel in the tables has code for {names}, so torch computes on the CPU.",
            tuple(able),
            evidence=evidence,
            notes=("The only other way is to build torch from source for that target, which is not supported.",),
        )
    return RequiredTorch(
        "rocm", f"torch needs code for {', '.join(targets)}.", tuple(able), tuple(targets), evidence=evidence
    )


def _tried(targets: tuple[str, ...]) -> tuple[str, ...]:
    """What people do with such a GPU all the same."""
    found = next((one for python in pythons() if (one := install.wheel(targets, python)) is not None), None)
    return () if found is None or found.risk is None else (f"To try the GPU anyway: {found.risk}",)


def _for_compute(targets: Iterable[str]) -> bool:
    """Whether AMD lists one of these targets, or it is that of an Instinct."""
    found = [gfx_target(one) for one in targets]
    instinct = any(one is not None and one.family.startswith("cdna") for one in found)
    return instinct or bool(install.current_targets() & set(targets))


def _nvidia(situation: Situation) -> RequiredTorch | Unknown | None:
    target = next((one for one in situation.targets if one.vendor == "nvidia"), None)
    gpus = [gpu for gpu in for_one_driver(situation.machine) if not is_reserved(gpu)]
    if target is None:
        return None
    if not gpus:
        return RequiredTorch("cpu", "The NVIDIA GPUs are kept for virtual machines, so torch computes on the CPU.")
    evidence = tuple(cite(gpu.compute_capability) for gpu in gpus[:1] if isinstance(gpu.compute_capability, Known))
    new = [gpu for gpu in gpus if numbers(value_or(gpu.compute_capability, "5.0")) >= _OLDEST_CUDA]
    if not new:
        return RequiredTorch(
            "cpu",
            f"Official wheels have no code for compute capability {target.capability}, so torch computes on the CPU.",
            tuple(gpus),
            evidence=evidence,
        )
    lowest, highest = _ends(new)
    if install.driver_needed(lowest) == "closed" and install.driver_needed(highest) == "open":
        running = [gpu for gpu in new if is_driven(gpu)]
        if not running:
            return Unknown(f"no build of torch has code for both compute capability {lowest} and {highest}")
        new, lowest = running, _ends(running)[0]
    needs = f"compute capability {lowest}" if lowest else "the NVIDIA GPU here"
    return RequiredTorch("cuda", f"torch needs code for {needs}.", tuple(new), capability=lowest, evidence=evidence)


def _ends(gpus: Sequence[Gpu]) -> tuple[str | None, str | None]:
    """The lowest and the highest compute capability that is known of these GPUs."""
    told = [one.compute_capability.value for one in gpus if isinstance(one.compute_capability, Known)]
    return min(told, key=numbers, default=None), max(told, key=numbers, default=None)


def _of_two(situation: Situation, usable: Sequence[RequiredTorch]) -> RequiredTorch:
    """GPUs of two vendors: those that the installed torch is for, else those of AMD."""
    vendor = VENDOR_OF.get(value_or(backend(situation.machine.torch), ""))
    mine = next((one for one in usable if VENDOR_OF[one.backend] == vendor), usable[0])
    note = (
        "This machine has GPUs of two vendors: each torch build uses the GPUs of one vendor, so the "
        "others need their own environment."
    )
    return RequiredTorch(mine.backend, mine.why, mine.gpus, mine.gfx, mine.capability, mine.evidence, (note,))


# -- the wheel


def wheel_for(situation: Situation, want: RequiredTorch, python: str) -> install.WheelIndex | None:
    """The wheel to propose for a Python series; None where the tables have none (for this processor)."""
    if situation.arch not in install.wheel_processors() or (want.backend == "rocm" and situation.arch != "x86_64"):
        return None
    chosen = situation.choice
    if want.backend == "rocm":
        if chosen.wheels:
            return install.amd_wheel(want.gfx, python, chosen.rocm, chosen.torch)
        if chosen.words:
            return install.chosen_rocm_wheel(want.gfx, python, chosen.rocm, chosen.torch)
        return rocm_wheel(situation.machine, want.gfx, python, _overridden(situation, want.gfx, python))
    if want.backend == "cuda":
        driver = situation.nvidia_release
        if chosen.torch and want.capability:
            rows, arch = cuda_rows(want.capability, driver), situation.arch
            flavours = [one for row in rows if install.cuda_built_for(one := row["flavour"], want.capability, arch)]
            return install.chosen_other_wheel(flavours, python, chosen.torch)
        return install.cuda_wheel(want.capability, python, driver, situation.arch) if want.capability else None
    return install.chosen_other_wheel(["cpu"], python, chosen.torch) if chosen.torch else install.cpu_wheel(python)


def _overridden(situation: Situation, gfx: tuple[str, ...], python: str) -> install.WheelIndex | None:
    """The wheel that runs by an override, where the installed torch does so, or may do so; None elsewhere.

    What works is not replaced by a build with code for the target itself.
    """
    found = next((one for one in install.wheels(gfx, python) if one.environment), None) if len(gfx) == 1 else None
    archs = situation.machine.torch.arch_list
    if found is None or not isinstance(archs, Known) or not situation.amd_able:
        return None
    stand_in = override_gfx_name((found.environment or {}).get(NAME, ""))
    if stand_in is None or not arch_list_covers(archs.value, stand_in):
        return None
    told = override_of(situation.machine, situation.amd_able[0])
    target = told.value.target if isinstance(told, Known) and told.value is not None else None
    if target is None:
        return None if situation.machine.environment.complete else found
    return found if same_isa_group(gfx[0], target) else None


def pythons_for(situation: Situation, want: RequiredTorch) -> tuple[str, ...]:
    """The Python series for which the tables have a wheel."""
    if want.backend == "cuda" and want.capability is None:
        want = replace(want, capability=_ANY_CUDA)
    return tuple(one for one in pythons() if wheel_for(situation, want, one) is not None)


def _any_wheel(targets: tuple[str, ...]) -> bool:
    return any(install.wheel(targets, python) is not None for python in pythons())
