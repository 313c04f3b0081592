"""Every configuration that may suit, with its memory and speed.

A candidate is estimated by the functions behind ``rocdoctor estimate``, so a plan can be checked with that command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.estimate import efficiency
from rocdoctor.train.recommend.memory.fit import fits
from rocdoctor.train.recommend.memory.gpu_memory import GpuMemory, memory
from rocdoctor.train.recommend.memory.step_memory import owned
from rocdoctor.train.recommend.model.layout import Framework, Parallel, read_parallel
from rocdoctor.train.recommend.model.megatron_code import other_code
from rocdoctor.train.recommend.model.spec import Work, read_spec
from rocdoctor.train.recommend.model.specification import framework_field
from rocdoctor.train.recommend.model.torchtitan_code import without_code
from rocdoctor.train.recommend.plan import Fleet, Workload
from rocdoctor.train.recommend.search.forms import batches, compiles, forms, recomputes, step_level
from rocdoctor.train.recommend.search.layouts import layouts
from rocdoctor.train.recommend.search.savers import PLAIN, Saver, applied
from rocdoctor.train.recommend.software import attention, precision
from rocdoctor.train.recommend.speed.pipeline import Schedule, schedule
from rocdoctor.train.recommend.speed.step_time import Speed, speed

Refuses = Callable[[Work], "str | None"]

# Share of a node's main memory that states moved there may take; the rest is for data, loaders and the system.
HOST_SHARE = 0.8
# A plan must be this much faster for each thing more that has to be set up: a choice, not measured.
LEVEL = 0.05
# Rates by which plans are ordered, and nothing is said, where those of the GPU or the processors are not known: FLOP/s
# and bytes/s. Their ratio is what orders; it is that of GPUs with matrix units, or of processors.
_NOMINAL = {"cpu": (2e12, 50e9)}
_NOMINAL_GPU = (50e12, 500e9)
# Levels of Megatron-LM where nobody asked for it and it is not installed: other model code, other checkpoints. AMD has
# recipes for it (Primus). On other GPUs its lead in the table is one of time, not of framework: plain PyTorch's
# attention was rated by runs of 2024, before it had cuDNN's kernel. How many levels that are is a choice, not measured.
_OWN_PROGRAM = {"amd": 1.0, "nvidia": 4.0}
# Levels of FSDP2 over nodes for a model that torchtitan has no 16-bit configuration of: it, or model code, sharding,
# checkpoints and data, have to be written. One more than a change to another program takes (Megatron-LM on NVIDIA): a
# choice.
_OWN_CODE = 5.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """One configuration with its estimate; ``level`` counts what must be set up.

    ``pace``: tokens/s a GPU by which plans are ordered: ``speed``'s, or by nominal rates where that is unknown.
    """

    work: Work
    schedule: Schedule
    memory: GpuMemory
    speed: Speed | None
    fits: str
    level: float
    pace: float
    saver: Saver = PLAIN

    @property
    def score(self) -> float:
        """The pace, less what each level must earn."""
        return float(self.pace * (1 - LEVEL) ** self.level)

    @property
    def sequences(self) -> int:
        """Sequences of one step over all ranks."""
        return self.work.micro_batch * self.work.microbatches * self.work.parallel.dp


def _has_megatron(fleet: Fleet) -> bool:
    """Whether Megatron-LM is set up already: then its own model code costs nobody anything more."""
    return "megatron-core" in (fleet.software.packages or {})


def usual_frameworks(fleet: Fleet, workload: Workload) -> tuple[Framework, ...]:
    """Frameworks that are compared where the user names none: plain PyTorch, and Megatron-LM for pretraining what its
    model code computes.

    DeepSpeed joins where states move to main memory.
    """
    if workload.products == "fp8":
        return ("megatron",)
    if fleet.gpus == 1 or fleet.vendor == "cpu":
        return ("ddp",)
    pretrain = workload.method == "pretrain" and other_code(workload.model) is None
    return ("ddp", "fsdp2", "megatron") if pretrain else ("ddp", "fsdp2")


def base_work(fleet: Fleet, workload: Workload, framework: Framework, transformers: bool = False) -> Work:
    """A configuration of one framework with the fleet's GPU, kernel and precision; its sizes are still to be chosen.

    ``transformers``: the model code is that of Hugging Face also where all weights are trained from the start.
    """
    spec: dict[str, Any] = {
        "model": workload.model_field,
        "gpu": fleet.spec_gpu,
        "gpus": fleet.gpus,
        "seq": workload.seq,
        "micro_batch": 1,
        "grad_accum": 1,
        "framework": framework_field(framework, transformers),
        "parallel": {},
        "recompute": "none",
        "precision": "fp8" if workload.products == "fp8" else precision(fleet).value,
        "attention": attention(fleet).value,
        "lora_rank": workload.lora_rank,
    }
    if workload.method != "pretrain":
        spec["method"] = workload.method
    nics = {name: float(row["v"]) * 1e9 for name, row in efficiency()["network_gb_s"].items()}
    return read_spec(spec, nics, [])[0]


class Search:
    """Estimates configurations of one workload on one fleet; ``considered`` counts them.

    ``refuses`` are the limits of the files that are wanted, ``transformers`` as for ``base_work``; ``seen`` is called
    with each configuration that was estimated, and ends the search by raising.
    """

    def __init__(
        self,
        fleet: Fleet,
        workload: Workload,
        refuses: Sequence[Refuses] = (),
        transformers: bool = False,
        seen: Callable[[], None] | None = None,
    ) -> None:
        self.fleet = fleet
        self.workload = workload
        self.refuses = refuses
        self.transformers = transformers
        self.seen = seen
        self.rows: Mapping[str, Any] = efficiency()
        self.speed_rows = {**self.rows["speed"], "generations": self.rows["generations"]}
        self.considered = 0
        self.refused: dict[str, int] = {}

    def like(self, fleet: Fleet | None = None, workload: Workload | None = None) -> Search:
        """The same search for another fleet or workload."""
        return Search(fleet or self.fleet, workload or self.workload, self.refuses, self.transformers, self.seen)

    def base(self, framework: Framework) -> Work:
        """The configuration of a framework whose sizes are still to be chosen."""
        return base_work(self.fleet, self.workload, framework, self.transformers)

    def estimated(self, work: Work, level: float, saver: Saver = PLAIN) -> Candidate:
        """One configuration with its memory and speed."""
        sizes = work.parallel
        plan = schedule(sizes.schedule, sizes.pp, sizes.chunks, work.microbatches)
        found = memory(work, plan, self.rows["memory"])
        told = speed(work, plan, self.speed_rows)
        self.considered += 1
        if self.seen is not None:
            self.seen()
        paced = told or speed(self._nominal(work), plan, self.speed_rows)
        pace = paced.tokens_per_s_per_gpu if paced is not None else 0.0
        return Candidate(work, plan, found, told, fits(found, work.gpu), level, pace, saver)

    def _nominal(self, work: Work) -> Work:
        """The same on a GPU whose rates are known."""
        peak, bandwidth = _NOMINAL.get(self.fleet.vendor, _NOMINAL_GPU)
        return replace(work, gpu=replace(work.gpu, peak=peak, bandwidth=work.gpu.bandwidth or bandwidth))

    def candidates(self, frameworks: Sequence[Framework], saver: Saver = PLAIN) -> Iterator[Candidate]:
        """All configurations that do not surely exceed the memory, by framework and division."""
        free = not self.refuses and self.workload.framework is None
        whole = self.workload.method in ("pretrain", "full")
        more: tuple[Framework, ...] = ("deepspeed",) if saver.offload and free and whole else ()
        for framework in dict.fromkeys((*frameworks, *more)):
            if self.workload.products == "fp8" and framework != "megatron":
                continue
            base = self.base(framework)
            asked = framework != "megatron" or self.workload.framework is not None or _has_megatron(self.fleet)
            own = 0.0 if asked else _OWN_PROGRAM.get(self.fleet.vendor, 0.0)
            own += _OWN_CODE if self._unwritten(framework) else 0.0
            for work, level in self._divided(base, saver):
                for form, extra in forms(work, self.fleet, self.workload):
                    yield from self._sized(form, level + extra + own, saver)

    def _unwritten(self, framework: Framework) -> bool:
        """Whether no program is known that pretrains this model sharded over nodes: torchtitan, which does, takes no
        sizes. In one node the Hugging Face Trainer or a script does."""
        pretrains = self.workload.method == "pretrain" and self.workload.framework is None and not self.transformers
        over = framework == "fsdp2" and self.fleet.nodes > 1
        return over and pretrains and without_code(self.workload.model) is not None

    def _divided(self, base: Work, saver: Saver) -> Iterator[tuple[Work, float]]:
        """Every division of a framework with the savers applied."""
        framework, changed = base.framework, applied(base, saver)
        if changed is None:
            return
        for raw, level in layouts(self.fleet, self.workload, framework):
            try:
                sizes = read_parallel(raw, base.model, self.fleet.gpus, framework, [])
            except SpecError:
                continue
            if saver.offload:
                # Moving states together with another division of the model is nobody's usual way.
                wide = max(sizes.tp, sizes.pp, sizes.cp, sizes.ep) > 1
                if wide or (saver.offload == "all" and sizes.zero != 3):
                    continue
                sizes = replace(sizes, offload_optimizer=True, offload_weights=saver.offload == "all")
            work = replace(changed, parallel=sizes)
            if not saver.offload or self.host_holds(work):
                yield work, level + saver.level

    def _sized(self, work: Work, level: float, saver: Saver) -> Iterator[Candidate]:
        """Recompute and micro-batches of one division, the micro-batches until they do not fit."""
        for recompute, layers, extra in recomputes(work):
            full: set[bool] = set()
            for micro, count in self.batches(work.parallel):
                if (count > 1) in full:
                    continue
                if work.step_in_backward and count > 1:
                    continue
                one = replace(work, recompute=recompute, recompute_layers=layers, micro_batch=micro, microbatches=count)
                reason = next((words for refuse in self.refuses if (words := refuse(one))), None)
                if reason is not None:
                    self.refused[reason] = self.refused.get(reason, 0) + 1
                    continue
                if not compiles(one, self.fleet.software.torch):
                    continue
                off = step_level(self.fleet, self.workload, micro * count * work.parallel.dp)
                found = self.estimated(one, level + extra + off, saver)
                if found.fits == "no" or not self.fits_as_it_is(one):
                    full.add(count > 1)
                    if False in full:
                        break
                    continue
                yield found

    def fits_as_it_is(self, work: Work) -> bool:
        """Whether model code of Hugging Face fits without compiling too: where its graph breaks, it is as it was."""
        if not (work.compile and work.transformers):
            return True
        sizes = work.parallel
        plan = schedule(sizes.schedule, sizes.pp, sizes.chunks, work.microbatches)
        return fits(memory(replace(work, compile=False), plan, self.rows["memory"]), work.gpu) == "yes"

    def smallest(self, base: Work, saver: Saver) -> Iterator[Candidate]:
        """One sequence a micro-batch in every division of a framework, fitting or not."""
        for work, level in self._divided(base, saver):
            first = next(iter(self.batches(work.parallel)), None)
            if first is not None:
                one = replace(work, micro_batch=first[0], microbatches=first[1])
                if not any(refuse(one) for refuse in self.refuses):
                    yield self.estimated(one, level, saver)

    def batches(self, sizes: Parallel) -> Iterator[tuple[int, int]]:
        """Micro-batch sizes with the micro-batches a step, ascending."""
        return batches(self.fleet, self.workload, sizes)

    def host_holds(self, work: Work) -> bool:
        """Whether a node's main memory holds what is moved there, as far as is known."""
        room = self.fleet.host_memory_bytes
        return (
            room is not None
            and not self.fleet.gpu_shares_memory
            and host_bytes(work, self.rows) * (self.fleet.per_node) <= HOST_SHARE * room
        )


def host_bytes(work: Work, rows: Mapping[str, Any]) -> float:
    """Bytes of main memory that one rank's states take there, in whole precision (16 B a parameter at most).

    Half as much again for gradients on their way and for pinned memory, which torch takes in powers of two: the factor
    of DeepSpeed's own estimators (``additional_buffer_factor`` in ``stage_1_and_2.py`` of 0.19.8).
    """
    sizes = work.parallel
    plan = schedule(sizes.schedule, sizes.pp, sizes.chunks, work.microbatches)
    kept = replace(work, parallel=replace(sizes, offload_optimizer=False, offload_weights=False))
    inside = memory(work, plan, rows["memory"]).states
    # DeepSpeed's gradients in fp32 are there too (``single_partition_of_fp32_groups`` of the same file).
    wide = 4.0 * owned(work) if work.framework == "deepspeed" and work.method == "full" else 0.0
    return (max(0.0, memory(kept, plan, rows["memory"]).states - inside) + wide) * 1.5
