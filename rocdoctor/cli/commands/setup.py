"""``rocdoctor setup``: the ordered plan from this machine as it is to one that trains, and the script of it."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import get_args

from rocdoctor.cli.arguments import Named, evidence_arguments
from rocdoctor.cli.main import EXIT_FINDINGS
from rocdoctor.collect import collect
from rocdoctor.host import output
from rocdoctor.host.base import Host
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.printable import spelled
from rocdoctor.repair.setup.plan import Goal, Maker, ReleaseChoice, SetupPlan
from rocdoctor.repair.setup.planner import plan as plan_of
from rocdoctor.report.machine.summary import machine_lines
from rocdoctor.service.errors import UsageError
from rocdoctor.service.new_files import write_new
from rocdoctor.service.options import EvidenceOptions, Format
from rocdoctor.service.session import Progress, chosen_checks, open_host, print_json, rendered, subject_of
from rocdoctor.service.setup_forms import FORMS, Form, Planned, as_form
from rocdoctor.service.setup_script import discretion, from_anywhere, made_for_root, setup_script, subject_words

HELP: str = "what to do, in order, until this machine trains: steps, commands, and what is done already"
FORMATS: tuple[Format, ...] = ("text", "json", "markdown", *FORMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(EvidenceOptions):
    """What the machine is for, the ``step`` to show, the script that is written (``force``: over one that exists).

    ``machines`` are more evidence beside ``source``, of one play for all of them.
    """

    goal: Goal = "pytorch"
    rocm: str = ""
    torch: str = ""
    maker: Maker = "venv"
    wheels_only: bool = False
    script: str | None = None
    step: int | None = None
    force: bool = False
    offline: bool = False
    machines: tuple[str, ...] = ()


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    evidence_arguments(parser, FORMATS)
    add = parser.add_argument
    add("--goal", choices=get_args(Goal), help="what the machine is for (pytorch)")
    add("--rocm", metavar="X", help="use this ROCm release instead of the proposed one (7.2, 10.0)")
    add("--torch", metavar="Y", help="use this torch instead of the newest that supports the GPU (2.11.0)")
    add("--with", dest="maker", choices=get_args(Maker), help="tool that creates a new environment (venv)")
    add("--wheels-only", action="store_true", help="ROCm from wheels alongside torch, no system packages")
    add("--step", type=int, metavar="N", help="show this step with its reason, commands, risk and undo")
    add("--script", type=Named, metavar="FILE", help="also write the steps as a shell script (mode 0700, for review)")
    add("--force", action="store_true", help="overwrite an existing script")
    add("--offline", action="store_true", help="list all downloads, and how to carry them to this machine")
    add(
        "machines",
        nargs="*",
        type=Named,
        metavar="MORE",
        help="with --from A --format ansible: more machines for that playbook",
    )


def run(options: Options) -> int:
    """Plan and print, or write the script; exit status 1 while steps are left to do, or nobody can say."""
    if options.script is None and options.force:
        raise UsageError("--force needs --script FILE")
    if options.step is not None and options.format not in ("text", "markdown"):
        raise UsageError("--step works with text and markdown only: the other forms contain every step")
    for name, release in (("--rocm", options.rocm), ("--torch", options.torch)):
        if release and not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3}){0,2}", release):
            raise UsageError(f"{name} {release[:40]}: a release looks like 7.2 or 2.11.0")
    if options.offline and (options.script is not None or options.format not in ("text", "markdown")):
        raise UsageError(
            "--offline is a list to read (text or markdown): it cannot be used with --script or another form"
        )
    if options.script == "-":
        raise UsageError("--script writes a file and needs its name; the plan goes to standard output")
    if options.machines and (options.source is None or options.format != "ansible"):
        raise UsageError("more than one machine needs --from A B C and --format ansible")
    progress = Progress(options.quiet)
    progress.say("asking the machine" if options.source is None else "reading the evidence")
    host = open_host(options)
    machine = collect(host)
    progress.say("planning")
    checks, problems = chosen_checks((), ())
    diagnosis = diagnose(machine, checks, problems)
    plan = _made(diagnosis, options.goal, options)
    said = _said(options, host)
    plan = plan.discreetly(said)
    progress.done()
    if options.step is not None and not 1 <= options.step <= len(plan.steps):
        raise UsageError(f"--step {options.step}: this plan has the steps 1 to {len(plan.steps)}")
    if options.format in FORMS:
        return _form(options.format, options, _planned(options, host, diagnosis, plan, said))
    if options.offline:
        _show_offline(options, diagnosis, plan)
        return 0 if plan.finished else EXIT_FINDINGS
    if options.script is not None:
        _write(Path(options.script), options, host, diagnosis, plan)
    show(options, host, diagnosis, plan, said, options.step)
    return 0 if plan.finished else EXIT_FINDINGS


def _made(diagnosis: Diagnosis, goal: Goal, options: Options) -> SetupPlan:
    """The plan as of today."""
    choice = ReleaseChoice(options.rocm, options.torch, options.maker, options.wheels_only)
    return plan_of(diagnosis, goal, choice, today=date.today().isoformat())


def show(
    options: EvidenceOptions,
    host: Host,
    diagnosis: Diagnosis,
    plan: SetupPlan,
    said: Callable[[str], str] = str,
    step: int | None = None,
) -> None:
    """Print a plan in the format that the options name; ``said``: how a line about the machine is put."""
    sudo = not made_for_root(diagnosis)
    if options.format == "json":
        from rocdoctor.report.setup.setup_json import as_json

        print_json(as_json(plan, subject_of(options, host), sudo))
    else:
        from rocdoctor.report.setup.setup_document import document

        lines = [said(line) for line in machine_lines(diagnosis.machine)]
        verbose = options.verbose or options.format == "markdown"
        blocks = document(plan, lines, sudo=sudo, quiet=options.quiet, verbose=verbose, only=step)
        output.show(rendered(options, blocks))


def _show_offline(options: Options, diagnosis: Diagnosis, plan: SetupPlan) -> None:
    from rocdoctor.report.setup.offline_document import offline_document

    blocks = offline_document(plan, sudo=not made_for_root(diagnosis), verbose=options.verbose)
    output.show(rendered(options, blocks))


def _said(options: Options, host: Host) -> Callable[[str], str]:
    """What becomes of a word of this evidence before it is told."""
    return str if options.include_identity else discretion(host)


def _planned(
    options: Options, host: Host, diagnosis: Diagnosis, plan: SetupPlan, said: Callable[[str], str]
) -> Planned:
    subject, python = subject_words(host), from_anywhere(options.python)
    name = os.path.basename(os.path.normpath(options.source)) if options.source else ""
    return Planned(plan, diagnosis, subject, made_for_root(diagnosis), name, python, said)


def _form(form: Form, options: Options, first: Planned) -> int:
    """The plan in the form of another tool; several machines make one playbook."""
    if options.script is not None:
        raise UsageError(f"--script writes a file of its own; it cannot be used with --format {form}")
    checks, problems = chosen_checks((), ())
    found = [first]
    for name in options.machines:
        one = replace(options, source=name)
        host = open_host(one)
        diagnosis, said = diagnose(collect(host), checks, problems), _said(one, host)
        found.append(_planned(one, host, diagnosis, _made(diagnosis, options.goal, options).discreetly(said), said))
    output.exact(as_form(form, found, lambda machine, goal: _made(diagnose(machine, checks, problems), goal, options)))
    return 0 if all(one.plan.finished for one in found) else EXIT_FINDINGS


def _write(path: Path, options: Options, host: Host, diagnosis: Diagnosis, plan: SetupPlan) -> None:
    """The script, with mode 0700; said on standard error, since the plan goes to standard output."""
    text = setup_script(plan, diagnosis, host, options.python)
    write_new(path, text, executable=True, force=options.force)
    output.note(f"wrote {spelled(str(path))}; read it, then run it with bash")
