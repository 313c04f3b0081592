"""What HSA_OVERRIDE_GFX_VERSION does to each GPU.

The runtime reads the form with the KFD node number first, then the plain form; what is not three decimal numbers makes
its start fail (ROCm: libhsakmt, topology.c).
"""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.insight.gpus.presence import is_driven
from rocdoctor.insight.software.torch_stack import for_training
from rocdoctor.knowledge.lookup import gfx_of_device, gfx_target, override_gfx_name, override_row, same_isa_group
from rocdoctor.model.evidence import Fact, Known, Source, Unknown
from rocdoctor.model.facts import Environment, Gpu, Machine, Variable
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.question import Question

NAME = "HSA_OVERRIDE_GFX_VERSION"
_NODE = regex(rf"{NAME}_(\d{{1,6}})")
_RUNTIME = ("rocminfo", "amd-smi", "hipinfo", "clinfo")  # and torch


@dataclass(frozen=True, slots=True)
class Override:
    """A variable that holds for a GPU; ``target`` None: the runtime refuses the value."""

    variable: Variable
    target: str | None


def node_variables(environment: Environment) -> dict[int, Variable]:
    """The forms with a node number."""
    return {
        int(found.group(1)): variable
        for name, variable in environment.variables.items()
        if (found := _NODE.fullmatch(name)) is not None
    }


def override_of(machine: Machine, gpu: Gpu) -> Fact[Override | None]:
    """The override that holds for a GPU. Known(None): none is set, or none is in the evidence."""
    by_node, plain = node_variables(machine.environment), machine.environment.variables.get(NAME)
    if by_node:
        nodes = [node.kfd_node for node in gpu.compute_nodes] or [gpu.kfd_node]
        for node in nodes:
            if not isinstance(node, Known):
                return Unknown("which KFD node this GPU has is not known, and overrides are set by node", "not-asked")
            if node.value in by_node:
                return _override(by_node[node.value])
    return _override(plain) if plain is not None else Known(None, Source("env"))


def _override(variable: Variable) -> Fact[Override | None]:
    return Known(Override(variable, override_gfx_name(variable.value)), Source(variable.source, variable.line))


def _told_by_runtime(asked: Question) -> bool:
    return asked.verb == "python" or asked.program in _RUNTIME or asked.program.startswith("python")


def physical_gfx(machine: Machine, gpu: Gpu) -> Fact[str]:
    """The real target of a GPU.

    The kernel tells it whatever the environment says; the runtime (rocminfo, torch) tells what an override made of it,
    so there the PCI id decides.
    """
    if not isinstance(gpu.gfx, Known) or not _told_by_runtime(gpu.gfx.source.asked):
        return gpu.gfx
    override = override_of(machine, gpu)
    if isinstance(override, Known) and override.value is None:
        return gpu.gfx
    if isinstance(gpu.pci_id, Known) and gpu.pci_id.value.startswith("1002:"):
        revision = gpu.revision.value if isinstance(gpu.revision, Known) else None
        by_id = gfx_of_device(gpu.pci_id.value.split(":")[1], revision)
        if by_id is not None:
            return Known(by_id, gpu.pci_id.source)
    if isinstance(override, Known) and override.value is not None and override.value.target != gpu.gfx.value:
        return gpu.gfx  # not what the override would make of it, so it was asked without
    return Unknown(
        "only the runtime reports the target of this GPU, and an override changes what it reports", "not-asked"
    )


def best_value(gfx: str) -> str | None:
    """The override value whose code this target can run by the tables (same ISA group, no faults on record)."""
    found = gfx_target(gfx)
    if found is None or found.wheel_native:
        return None
    for value in ("10.3.0", "11.0.0", "9.0.0", "9.0.6", "12.0.0", "12.0.1"):
        target = override_gfx_name(value)
        known_target = gfx_target(target) if target else None
        native = known_target is not None and known_target.wheel_native
        if native and target and same_isa_group(gfx, target) and override_row(gfx, value).safety == "same-group":
            return value
    return None


def unlike_gpus_it_fits(machine: Machine, harmed: Gpu, override: Override) -> tuple[Gpu, ...]:
    """The other GPUs to train on for which one global value is right, while ``harmed`` cannot run its code.

    Integrated GPUs beside discrete ones do not count: what holds for these was hardly set for them.
    """
    if override.variable.name != NAME:
        return ()
    found: list[Gpu] = []
    for gpu in machine.gpus:
        real = physical_gfx(machine, gpu)
        if gpu is harmed or gpu.vendor != "amd" or not for_training(gpu) or is_driven(gpu) is False:
            continue
        if not isinstance(real, Known) or not _holds_for(machine, gpu, override.variable):
            continue
        if override_row(real.value, override.variable.value).safety in ("no-op", "same-group", "risky"):
            found.append(gpu)
    return tuple(found)


def _holds_for(machine: Machine, gpu: Gpu, variable: Variable) -> bool:
    override = override_of(machine, gpu)
    return isinstance(override, Known) and override.value is not None and override.value.variable == variable


def node_setting(gpu: Gpu, value: str) -> str:
    """The setting for this GPU alone; without its KFD node with a placeholder."""
    return f"{NAME}_{gpu.kfd_node.value if isinstance(gpu.kfd_node, Known) else 'NODE'}={value}"
