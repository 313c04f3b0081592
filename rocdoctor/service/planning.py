"""What ``recommend`` and ``emit`` share: options to a fleet and a workload, and these to a recommendation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rocdoctor.collect import collect
from rocdoctor.host.live.regular_files import read_regular
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.judging.gpu_standing import Unfit, failing
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.printable import spelled
from rocdoctor.service.errors import UsageError
from rocdoctor.service.options import EvidenceOptions
from rocdoctor.service.plan_trials import fleet_with_trials
from rocdoctor.service.session import Progress, chosen_checks, open_host
from rocdoctor.train.recommend.advise import recommend
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.fleet.described_fleet import described
from rocdoctor.train.recommend.fleet.machine_fleet import machine_fleet
from rocdoctor.train.recommend.fleet.measured import with_measured
from rocdoctor.train.recommend.model.hugging_face import fields_of
from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.workload import read_workload
from rocdoctor.train.recommend.plan import Fleet, Goal, Method, Products, Recommendation, Workload
from rocdoctor.train.recommend.search.candidates import Refuses

# A configuration of a model is a page; more is none.
_MOST_BYTES = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions(EvidenceOptions):
    """What is to be trained (sequences in tokens, batches in sequences), and on what (``ram`` in GiB)."""

    model: str | None = None
    method: Method | None = None
    seq: int | None = None
    global_batch: int | None = None
    goal: Goal = "speed"
    framework: str | None = None
    lora_rank: int | None = None
    products: Products = "16-bit"
    gpus: str | None = None
    nodes: int | None = None
    ram: float | None = None
    measure: bool = False


@dataclass(frozen=True, slots=True)
class Site:
    """Where training is to run; ``machine`` is the one that was looked at, None for a fleet that was described."""

    fleet: Fleet
    machine: Machine | None = None


def site_of(options: PlanOptions) -> Site:
    """The fleet that the options name: a described one, or the machine (this one or that of the evidence).

    Raises SpecError for a description that is none, UsageError for options that do not go together.
    """
    nodes = nodes_of(options.nodes)
    if options.gpus is not None:
        if options.source is not None:
            raise UsageError("--gpus describes a fleet; it cannot be used with --from")
        if options.measure:
            raise UsageError("--measure measures this machine; it cannot be used with --gpus")
        if options.ram is not None and not 0 < options.ram <= 1_000_000:
            raise UsageError(f"--ram must be between 1 and 1000000 GiB, not {options.ram:g}")
        return Site(described(options.gpus, nodes, options.ram))
    if options.ram is not None:
        raise UsageError("--ram belongs to --gpus; the machine's own memory is known")
    progress = Progress(options.quiet)
    progress.say("asking the machine" if options.source is None else "reading the evidence")
    machine = collect(open_host(options), smoke=_measuring(options))
    progress.done()
    fleet = fleet_on(machine, nodes)
    return Site(fleet if options.source is not None else fleet_with_trials(fleet), machine)


def unfit_for(diagnosis: Diagnosis, fleet: Fleet) -> tuple[Unfit, ...]:
    """What findings say against GPUs of the machine that was judged, of those that a plan for the fleet uses."""
    if fleet.origin != "machine" or fleet.vendor == "cpu":
        return ()
    return failing(diagnosis, {seat.bdf for seat in fleet.seats} - {None} or None)


def unfit_at(site: Site) -> tuple[str, ...]:
    """The same of a place to train, in sentences; the machine is judged for it."""
    if site.machine is None:
        return ()
    checks, problems = chosen_checks((), ())
    return tuple(one.counted for one in unfit_for(diagnose(site.machine, checks, problems), site.fleet))


def nodes_of(given: int | None) -> int:
    """The number of nodes; one where none is given."""
    if given is not None and not 1 <= given <= 100_000:
        raise UsageError(f"--nodes must be between 1 and 100000, not {given}")
    return given or 1


def fleet_on(machine: Machine, nodes: int) -> Fleet:
    """So many nodes like this machine, with the rates that were measured on it."""
    return with_measured(machine_fleet(machine, nodes), machine)


def _measuring(options: PlanOptions) -> str:
    """The question that measures this machine's rates, where the user asks for it."""
    if not options.measure:
        return ""
    if options.source is not None:
        raise UsageError("--measure measures this machine; it cannot be used with --from")
    from rocdoctor.train.smoke.run.request import Request

    return Request(figures=True, no_modes=True).question()


def workload_of(options: PlanOptions, model: str) -> Workload:
    """The workload that the options name, with the model of that name."""
    if options.lora_rank is not None and options.method not in ("lora", "qlora"):
        raise UsageError("--lora-rank is the rank of adapters; use it with --method lora or qlora")
    try:
        return read_workload(
            model_field(model),
            options.method,
            options.seq,
            options.global_batch,
            options.goal,
            options.framework,
            options.lora_rank,
            options.products,
        )
    except SpecError as error:
        raise UsageError(str(error)) from None


def model_field(name: str) -> Any:
    """A name or sizes as they are; a file is read. Raises UsageError."""
    if not name.strip():
        raise UsageError("--model needs a name, a config.json, or sizes such as layers=32,hidden=4096")
    path = Path(name)
    if not name.endswith(".json") and not path.is_dir():
        return name
    if path.is_dir():
        path = path / "config.json"
    try:
        content = read_regular(path, _MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{spelled(str(path))}: {error.strerror or error}") from None
    try:
        read = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise UsageError(f"{spelled(str(path))}: not readable as JSON") from None
    if not isinstance(read, dict):
        raise UsageError(f"{spelled(str(path))}: no configuration of a model")
    # A configuration has no name of its own; its folder often is the model's.
    return {"name": path.resolve().parent.name, **fields_of(read)}


def recommendation(
    options: PlanOptions,
    model: str,
    refuses: Sequence[Refuses] = (),
    only: Sequence[Framework] = (),
    transformers: bool = False,
) -> tuple[Recommendation, Site]:
    """The recommendation for a model with these options, and for where; every impossible input is a UsageError."""
    workload = workload_of(options, model)
    try:
        site = site_of(options)
        answer = recommend(site.fleet, workload, refuses, only, transformers)
    except SpecError as error:
        raise UsageError(str(error)) from None
    return replace(answer, unfit=unfit_at(site)), site
