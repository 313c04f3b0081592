"""Which targets go together, what they leave to a plan, and their files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rocdoctor.service.errors import UsageError, suggestion
from rocdoctor.train.emit.files import File
from rocdoctor.train.emit.targets import TARGETS, Order, TargetModule, target
from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.plan import Plan, Recommendation
from rocdoctor.train.recommend.search.candidates import Refuses

# Targets that are for one program, and the distribution that it comes in.
_PROGRAMS = {
    "torchtitan": "torchtitan",
    "megatron": "megatron-core",
    "deepspeed": "deepspeed",
    "trl": "trl",
    "llamafactory": "llamafactory",
    "axolotl": "axolotl",
    "accelerate": "accelerate",
}


# Programs that were targets, and why they are none.
_NO_MORE = {
    "torchtune": "torchtune has not been developed since July 2025 (meta-pytorch/torchtune issue 2883); trl, "
    "llamafactory and axolotl take the same plans",
}

# Of them those that train by themselves, without a program of the user's.
_LOOPS = ("trl", "llamafactory", "axolotl", "torchtitan", "megatron")


@dataclass(frozen=True, slots=True)
class Limits:
    """What some targets together leave to a plan, as ``recommend`` takes it."""

    refuses: tuple[Refuses, ...]
    only: tuple[Framework, ...]
    transformers: bool


def checked(targets: Sequence[str]) -> list[str]:
    """The targets, each once; UsageError for a name that is none and for targets that exclude each other."""
    named = list(dict.fromkeys(targets))
    for name in named:
        if name in _NO_MORE:
            raise UsageError(f"no target '{name}': {_NO_MORE[name]}")
        if name not in TARGETS:
            raise UsageError(f"no target '{name}'{suggestion(name, list(TARGETS))}; there are: {', '.join(TARGETS)}")
    if "accelerate" in named and "deepspeed" in named:
        raise UsageError(
            "accelerate writes the ds_config.json that goes with it (its script makes the optimizer); "
            "leave deepspeed out, and --framework deepspeed asks for it"
        )
    return named


def limits_of(named: Sequence[str]) -> Limits:
    """The limits of these targets; UsageError where no framework serves all of them."""
    modules = [target(name) for name in named]
    return Limits(
        tuple(one.refuses for one in modules),
        _common(modules, named),
        any(getattr(one, "TRANSFORMERS", False) for one in modules),
    )


def written_for(plan: Plan) -> tuple[str, ...]:
    """Which programs can be given this plan, and how, as a note: those of the interpreter that was examined, or, where
    none of them is there, all that bring a training loop of their own; () for none."""
    packages = plan.fleet.software.packages or {}
    takes = [
        (package, name)
        for name, package in _PROGRAMS.items()
        if plan.work.framework in target(name).FRAMEWORKS and target(name).refuses(plan.work) is None
    ]
    found = [(package, name) for package, name in takes if package in packages]
    if not found:
        own = [f"`rocdoctor emit {name}`" for _, name in takes if name in _LOOPS]
        return (f"{' or '.join(own)} with the same options writes this plan for that program.",) if own else ()
    installed = ", ".join(f"{package} {packages[package]}" for package, _ in found)
    targets = " or ".join(f"`rocdoctor emit {name}`" for _, name in found)
    return (f"Installed here: {installed}. {targets} with the same options writes this plan for it.",)


def with_programs(answer: Recommendation) -> Recommendation:
    """A recommendation with the note on programs that can be given its plan."""
    return answer if answer.plan is None else replace(answer, notes=(*answer.notes, *written_for(answer.plan)))


def files_of(named: Sequence[str], plan: Plan, order: Order) -> list[File]:
    """The files of all these targets."""
    order = replace(order, torchtitan=order.torchtitan or "torchtitan" in named)
    return [file for name in named for file in target(name).files(plan, order)]


def _common(modules: Sequence[TargetModule], named: Sequence[str]) -> tuple[Framework, ...]:
    """The frameworks that all targets can express, in the order of the first."""
    common: list[Framework] = [
        one for one in modules[0].FRAMEWORKS if all(one in other.FRAMEWORKS for other in modules)
    ]
    if not common:
        raise UsageError(f"no framework serves {' and '.join(named)} together; emit them one by one")
    return tuple(common)
