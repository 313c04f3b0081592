"""Which sets of ranks a run uses on this machine. Pure: what torch says of itself and its GPUs in, settings out."""

from __future__ import annotations

from typing import Any

from rocdoctor.train.smoke.run import gpu_notes
from rocdoctor.train.smoke.run.runner import CPU_LIMIT_S, GPU_LIMIT_S, RunSetting

MAX_WORLD = 64
_DEFAULT_CPU_WORLD = 2
_MAX_DEFAULT_WORLD = 8


class PlanError(Exception):
    """What was asked for cannot run here; the message says why and what would."""


def plan(
    hello: dict[str, Any],
    gpus: list[dict[str, Any]],
    world: int | None,
    backend: str,
    device: str,
    limit_s: float | None = None,
) -> list[RunSetting]:
    """The settings to run one after another.

    Several GPUs: one rank each on nccl (RCCL on ROCm builds). One GPU: each mode alone on it, then two ranks that share
    it over gloo, where gloo takes device tensors. No GPU: gloo on the CPU.

    Raises:
        PlanError: an explicit ``--backend nccl`` without the GPUs or the build for it, or no back end at all.
    """
    library = "RCCL" if hello.get("hip") else "NCCL"
    count = 0 if device == "cpu" else len(gpus)
    if backend == "nccl":
        _need_nccl(hello, count, world, library, device)
    if backend == "gloo" and not hello.get("gloo"):
        raise PlanError("this torch was built without gloo; use --backend nccl")
    if not count:
        if not hello.get("gloo"):
            raise PlanError("without a GPU the tests need gloo, and this torch was built without it")
        nothing = ("GPUs", f"{library} or any link between GPUs")
        return [RunSetting(world or _DEFAULT_CPU_WORLD, "gloo", "cpu", limit_s or CPU_LIMIT_S, nothing)]
    limit = limit_s or GPU_LIMIT_S
    if backend != "gloo" and hello.get("nccl") and (world or count) <= count and (count > 1 or world == 1):
        ranks = world or min(count, _MAX_DEFAULT_WORLD)
        untested = () if ranks > 1 else ("links between GPUs",)
        notes = (
            ()
            if world or ranks == count
            else (f"{count - ranks} of {count} GPUs are left out: request more with --world",)
        )
        whole, chosen = gpu_notes.partitions(gpus), gpu_notes.one_of_each(gpus, ranks)
        if whole:
            notes = (f"torch's {count} GPUs are partitions of {whole}", *notes)
        return [RunSetting(ranks, "nccl", "cuda", limit, untested, notes, chosen)]
    if backend == "nccl":
        return [RunSetting(world or count, "nccl", "cuda", limit, ("links between GPUs",) if count == 1 else ())]
    return _sharing(hello, count, world, backend, library, limit)


def _need_nccl(hello: dict[str, Any], count: int, world: int | None, library: str, device: str) -> None:
    if device == "cpu":
        raise PlanError("--backend nccl needs GPUs; it cannot be used with --device cpu")
    if not hello.get("nccl"):
        raise PlanError(f"this torch was built without {library} (the nccl backend); use --backend gloo")
    if (world or 1) > count:
        raise PlanError(
            f"--backend nccl needs a GPU for each rank: {world or 1} requested, but torch sees {count}; "
            f"use --world {count} or --backend gloo"
            if count
            else "--backend nccl needs a GPU, but torch sees none; use --backend gloo"
        )


def _sharing(
    hello: dict[str, Any], count: int, world: int | None, backend: str, library: str, limit: float
) -> list[RunSetting]:
    """More ranks than GPUs: they share over gloo."""
    found: list[RunSetting] = []
    if world is None and backend == "auto" and hello.get("nccl"):
        found.append(RunSetting(1, "nccl", "cuda", limit, ("links between GPUs",)))
    if hello.get("gloo"):
        ranks = world or max(2, min(count, _MAX_DEFAULT_WORLD))
        notes: tuple[str, ...] = ()
        if backend == "auto" and ranks > count:
            owners = "one GPU" if count == 1 else f"{count} GPUs"
            notes = (
                f"{ranks} ranks share {owners}, so they communicate over gloo: {library} allows only one rank per GPU",
            )
        found.append(RunSetting(ranks, "gloo", "cuda", limit, (library, "links between GPUs"), notes))
    return found
