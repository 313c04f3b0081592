"""``rocdoctor emit``: the plan as files that launchers read."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocdoctor.cli.main import EXIT_FINDINGS, UsageError, suggestion
from rocdoctor.host import output
from rocdoctor.service.session import wants, width
from rocdoctor.train.emit.files import File
from rocdoctor.train.emit.targets import TARGETS, Order, Target, target
from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.plan import Plan
from rocdoctor.train.recommend.search.candidates import Refuses


def run(options: argparse.Namespace) -> int:
    """Plan once for all targets, then print one file or write them all."""
    if wants(options) != "text":
        raise UsageError("emit writes files of its targets' own formats; recommend --json prints the plan")
    named = checked(options.targets)
    if options.model is None:
        if named != ["env"]:
            raise UsageError("emit needs --model (env alone can do without: what helps on this machine in general)")
        return _bare(options)
    from rocdoctor.service.planning import recommendation

    limits = limits_of(named)
    answer = recommendation(options, limits.refuses, limits.only, limits.transformers)
    if answer.plan is None:
        from rocdoctor.report.plan.recommend_text import render

        output.notes(render(answer, width()))
        return EXIT_FINDINGS
    return _deliver(options, files_of(named, answer.plan, _order(options)), answer.plan)


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
        if name not in TARGETS:
            raise UsageError(f"no target '{name}'{suggestion(name, list(TARGETS))}; there are: {', '.join(TARGETS)}")
    if "accelerate" in named and "deepspeed" in named:
        raise UsageError("accelerate brings the ds_config.json that goes with it (its script makes the optimizer); "
                         "leave deepspeed out, and --framework deepspeed asks for it")  # fmt: skip
    return named


def limits_of(named: Sequence[str]) -> Limits:
    """The limits of these targets; UsageError where no framework serves all of them."""
    modules = [target(name) for name in named]
    return Limits(
        tuple(one.refuses for one in modules), _common(modules, named),
        any(getattr(one, "TRANSFORMERS", False) for one in modules),
    )  # fmt: skip


def files_of(named: Sequence[str], plan: Plan, order: Order) -> list[File]:
    """The files of all these targets."""
    return [file for name in named for file in target(name).files(plan, order)]


def _common(modules: Sequence[Target], named: Sequence[str]) -> tuple[Framework, ...]:
    """The frameworks that all targets can express, in the order of the first."""
    common: list[Framework] = [
        one for one in modules[0].FRAMEWORKS if all(one in other.FRAMEWORKS for other in modules)
    ]
    if not common:
        raise UsageError(f"no framework serves {' and '.join(named)} together; emit them one by one")
    return tuple(common)


def _order(options: argparse.Namespace) -> Order:
    return Order(
        script=options.script, image=options.image, job=options.job, partition=options.partition, time=options.time,
        machine=getattr(options, "machine", None),
    )  # fmt: skip


def _bare(options: argparse.Namespace) -> int:
    """The environment that helps on a machine whatever is trained."""
    from rocdoctor.service.planning import fleet_of
    from rocdoctor.train.emit.targets import env

    return _deliver(options, list(env.bare(fleet_of(options))), None)


def _deliver(options: argparse.Namespace, files: list[File], plan: Plan | None) -> int:
    """One file goes to standard output, several into the folder that the user names."""
    if not options.quiet:
        said = "what you named and what the evidence holds is not masked in these files, since launchers need it"
        output.note(said if options.output is None else f"{said}; they are written for you alone to read (mode 0600)")
    if options.output is None:
        # The pair of env is one thing in two spellings.
        if len(files) == 1 or options.targets == ["env"]:
            output.exact(files[0].text)
            return 0
        names = ", ".join(file.name for file in files)
        raise UsageError(f"this makes {len(files)} files ({names}); -o DIR says where to write them")
    from rocdoctor.service.new_files import write_files

    for path in write_files(Path(options.output), files, force=options.force):
        output.note(f"wrote {path}", "")
    if plan is not None:
        from rocdoctor.report.plan.recommend_text import headline_of

        output.note(headline_of(plan), "")
    return 0
