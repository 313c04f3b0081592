"""``rocdoctor emit``: the plan as files that launchers read."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

from rocdoctor.cli.arguments import Named, evidence_arguments
from rocdoctor.cli.commands.recommend import plan_arguments
from rocdoctor.cli.main import EXIT_FINDINGS
from rocdoctor.host import output
from rocdoctor.model.facts import Machine
from rocdoctor.model.printable import spelled
from rocdoctor.service.emitting import checked, files_of, limits_of
from rocdoctor.service.errors import UsageError
from rocdoctor.service.options import Format
from rocdoctor.service.planning import PlanOptions, recommendation, site_of
from rocdoctor.service.session import width
from rocdoctor.train.emit.files import File
from rocdoctor.train.emit.targets import TARGETS, Order
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.plan import Plan

HELP: str = "write a training configuration as files for launchers"
FORMATS: tuple[Format, ...] = ("text",)  # files have the formats of their targets


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(PlanOptions):
    """The targets, where their files go, and what they say of the run (as of ``Order``)."""

    targets: tuple[str, ...]
    output: str | None = None
    force: bool = False
    script: str = "train.py"
    image: str | None = None
    job: str = "train"
    partition: str | None = None
    time: str | None = None


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    evidence_arguments(parser, FORMATS)
    add = parser.add_argument
    add("targets", nargs="+", metavar="TARGET", help=", ".join(TARGETS))
    add("-o", "--output", type=Named, metavar="DIR", help="where to write the files (one file goes to standard output)")
    add("--force", action="store_true", help="overwrite existing files")
    add("--script", metavar="FILE", help="the training program that is started (train.py)")
    add("--image", metavar="NAME", help="the container image (kubernetes, compose)")
    add("--job", metavar="NAME", help="the job's name (slurm, kubernetes, compose)")
    add("--partition", metavar="NAME", help="the partition (slurm)")
    add("--time", metavar="HH:MM:SS", help="the time limit (slurm)")
    plan_arguments(parser)
    parser.epilog = "Files have the formats of their targets; recommend --json prints the plan."


def run(options: Options) -> int:
    """Plan once for all targets, then print one file or write them all."""
    named = checked(options.targets)
    for option in ("script", "image", "job", "partition", "time"):
        value = getattr(options, option)
        if value is not None and spelled(value) != value:
            raise UsageError(f"--{option} contains a character that is not allowed: {spelled(value)}")
    if options.model is None:
        if named != ["env"]:
            raise UsageError("emit needs --model (env alone can do without: what helps on this machine in general)")
        return _bare(options)
    limits = limits_of(named)
    answer, site = recommendation(options, options.model, limits.refuses, limits.only, limits.transformers)
    if answer.plan is None:
        from rocdoctor.report.plan.recommend_document import document
        from rocdoctor.report.text import render

        output.notes(render(document(answer), width()))
        return EXIT_FINDINGS
    for one in answer.unfit:
        output.note(one)
    return _deliver(options, files_of(named, answer.plan, _order(options, site.machine)), answer.plan)


def _order(options: Options, machine: Machine | None) -> Order:
    return Order(
        script=options.script,
        image=options.image,
        job=options.job,
        partition=options.partition,
        time=options.time,
        machine=machine,
    )


def _bare(options: Options) -> int:
    """The environment that helps on a machine whatever is trained."""
    from rocdoctor.train.emit.targets import env

    try:
        fleet = site_of(options).fleet
    except SpecError as error:
        raise UsageError(str(error)) from None
    return _deliver(options, list(env.bare(fleet)), None)


def _deliver(options: Options, files: list[File], plan: Plan | None) -> int:
    """One file goes to standard output, several into the folder that the user names."""
    if not options.quiet:
        said = "what you named and what the evidence holds is not masked in these files, since launchers need it"
        output.note(said if options.output is None else f"{said}; only you can read them (mode 0600)")
    if options.output is None:
        # The pair of env is one thing in two spellings.
        if len(files) == 1 or options.targets == ("env",):
            output.exact(files[0].text)
            return 0
        names = ", ".join(file.name for file in files)
        raise UsageError(f"this makes {len(files)} files ({names}); -o DIR says where to write them")
    from rocdoctor.service.new_files import write_files

    for path in write_files(Path(options.output), files, force=options.force):
        output.note(f"wrote {spelled(str(path))}", "")
    if plan is not None:
        from rocdoctor.report.plan.recommend_document import headline_of

        output.note(headline_of(plan), "")
    return 0
