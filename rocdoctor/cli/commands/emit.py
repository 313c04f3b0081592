"""``rocdoctor emit``: the plan as files that launchers read."""

from __future__ import annotations

import argparse
from pathlib import Path

from rocdoctor.cli.main import EXIT_FINDINGS
from rocdoctor.host import output
from rocdoctor.service.emitting import checked, files_of, limits_of
from rocdoctor.service.errors import UsageError
from rocdoctor.service.session import wants, width
from rocdoctor.train.emit.files import File
from rocdoctor.train.emit.targets import Order
from rocdoctor.train.recommend.plan import Plan


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
