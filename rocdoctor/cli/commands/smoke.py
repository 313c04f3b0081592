"""``rocdoctor smoke``: prove that distributed training computes right, mode by mode."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, get_args

from rocdoctor.cli.arguments import Named, evidence_arguments
from rocdoctor.cli.commands import smoke_nodes
from rocdoctor.cli.main import EXIT_FINDINGS
from rocdoctor.host import output
from rocdoctor.host.base import Host
from rocdoctor.model.facts import SmokeRun
from rocdoctor.parsers.own.smoke_results import from_text
from rocdoctor.service.errors import UsageError, suggestion
from rocdoctor.service.options import Format
from rocdoctor.service.session import Progress, open_host, print_json, rendered
from rocdoctor.train.smoke.figures.expected import with_expected
from rocdoctor.train.smoke.figures.judge_figures import LowFigure, low_figures
from rocdoctor.train.smoke.run.rank_sets import MAX_WORLD
from rocdoctor.train.smoke.run.request import Aside, Request
from rocdoctor.train.smoke.run.runner import modes_named
from rocdoctor.train.smoke.worker.mode import Mode, all_modes

HELP: str = "prove that distributed training computes correctly, mode by mode"
FORMATS: tuple[Format, ...] = ("text", "json", "markdown", "junit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(smoke_nodes.NodeOptions):
    """Which modes run, and what is measured (``soak`` in minutes).

    ``trace`` and ``plan`` are files, ``nnodes`` is a number or auto.
    """

    world: int | None = None
    nnodes: str | None = None
    quick: bool = False
    full: bool = False
    figures: bool = False
    soak: float | None = None
    trace: str | None = None
    plan: str | None = None
    list: bool = False
    explain: bool = False


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    evidence_arguments(parser, FORMATS)
    add = parser.add_argument
    add("modes", nargs="*", metavar="MODE", help="modes to run (the quick set)")
    add("--world", type=int, metavar="N", help="number of ranks (one per GPU; 2 without GPUs)")
    add("--backend", choices=get_args(smoke_nodes.Backend), help="what the ranks communicate over (auto)")
    add("--device", choices=get_args(smoke_nodes.Device), help="cpu: leave the GPUs alone (auto)")
    sets = parser.add_mutually_exclusive_group()
    sets.add_argument("--quick", action="store_true", help="the quick set of modes (this is the default)")
    sets.add_argument("--full", action="store_true", help="all modes, even those that take minutes, and --figures")
    add("--figures", action="store_true", help="measure how fast this machine is (alone: runs no modes)")
    add("--soak", type=float, metavar="MINUTES", help="sustained load, to see how heat affects speed and clock")
    add(
        "--trace",
        type=Named,
        metavar="FILE",
        help="write a torch.profiler trace of three training steps (with --figures)",
    )
    add("--plan", type=Named, metavar="FILE", help="run a plan (recommend --json) or a specification for a few steps")
    add("--deadline", type=float, metavar="SECONDS", help="time limit per mode (30 on the CPU, 120 on GPUs)")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--list", action="store_true", help="list the modes and exit")
    shown.add_argument(
        "--explain",
        action="store_true",
        help="print what modes compute and compare, and the tolerance",
    )
    smoke_nodes.node_arguments(parser)


def run(options: Options) -> int:
    """Run the tests (or take recorded ones), print. Exit status 1 when numbers were wrong or a rank was lost."""
    _known(options.modes)
    modes = modes_named(options.modes, options.full)
    if options.list or options.explain:
        _print_modes(options, modes)
        return 0
    if options.source is None and find_spec("psutil") is None:  # the single file holds nothing that is compiled
        lacks = f"smoke tests need psutil, which {sys.executable} lacks"
        raise UsageError(f"{lacks} (pip: psutil; Debian, Fedora: python3-psutil; Arch: python-psutil)")
    if options.plan is not None:
        _alone(options)
        from rocdoctor.cli.commands import smoke_plan

        request = Request(no_modes=True, world=options.world, device=options.device, deadline_s=options.deadline)
        host = open_host(options)
        return smoke_plan.run(options.plan, options, lambda word: _asked(host, options, replace(request, plan=word)))
    if options.nnodes is not None:
        if options.source is not None or options.world is not None:
            raise UsageError("--nnodes cannot be used with --from or --world (use --nproc-per-node)")
        return smoke_nodes.run(options.nnodes, options, modes)
    host = open_host(options)
    runs = _recorded(host) if options.source is not None else _perform(host, options, len(modes))
    runs, low = _beside_peaks(host, runs)
    _print(options, runs, low)
    return EXIT_FINDINGS if any(one.state in ("fail", "crashed") for each in runs for one in each.modes) else 0


def _alone(options: Options) -> None:
    """A plan is tried by itself, on this machine."""
    others = {
        "MODE": options.modes,
        "--full": options.full,
        "--quick": options.quick,
        "--figures": options.figures,
        "--soak": options.soak is not None,
        "--trace": options.trace is not None,
        "--nnodes": options.nnodes is not None,
        "--from": options.source is not None,
        "--backend": options.backend != "auto",
    }
    given = next((name for name, there in others.items() if there), None)
    if given is not None:
        raise UsageError(f"--plan tries a plan alone, on this machine; it cannot be used with {given}")
    if options.format == "junit":
        raise UsageError("--plan prints text, json or markdown, not junit")
    _within_limits(options)


def _print_modes(options: Options, modes: Sequence[Mode]) -> None:
    """The modes that the options name, or what they show; tests that did not run are no JUnit."""
    from rocdoctor.report.smoke import mode_list, mode_proof

    page, flag = (mode_proof, "--explain") if options.explain else (mode_list, "--list")
    if options.format == "json":
        print_json(page.as_json(modes))
    elif options.format in ("text", "markdown"):
        output.show(rendered(options, page.document(modes)))
    else:
        raise UsageError(f"{flag} prints text, json or markdown, not {options.format}")


def _known(names: Sequence[str]) -> None:
    known = [one.name for one in all_modes()]
    for name in names:
        if name not in known:
            raise UsageError(f"no smoke mode '{name}'{suggestion(name, known)}; see rocdoctor smoke --list")


def _recorded(host: Host) -> tuple[SmokeRun, ...]:
    question = next((one for one in host.available() if one.startswith("smoke ")), None)
    runs = from_text(host.ask(question).text) if question else ()
    if not runs:
        raise UsageError(f"{host.origin} holds no results of smoke tests; rocdoctor bundle --with-smoke records them")
    return runs


def _within_limits(options: Options) -> None:
    if not sys.platform.startswith("linux"):
        raise UsageError("smoke tests run on Linux only")
    if options.world is not None and not 1 <= options.world <= MAX_WORLD:
        raise UsageError(f"--world takes 1 to {MAX_WORLD} ranks, not {options.world}")
    if options.deadline is not None and not 1 <= options.deadline <= 3600:
        raise UsageError(f"--deadline takes 1 to 3600 seconds, not {options.deadline:g}")
    if options.soak is not None and not 0.05 <= options.soak <= 1440:
        raise UsageError(f"--soak takes 0.05 to 1440 minutes, not {options.soak:g}")


def _perform(host: Host, options: Options, count: int) -> tuple[SmokeRun, ...]:
    _within_limits(options)
    measuring = options.figures or options.soak is not None or options.trace is not None
    no_modes = measuring and not options.modes and not options.full and not options.quick
    figures = (options.full and not options.modes) or options.figures or options.trace is not None
    if options.trace is not None and os.path.lexists(options.trace):
        raise UsageError(f"{options.trace}: there is such a file; --trace writes a new one")
    request = Request(
        options.full,
        options.modes,
        options.world,
        options.backend,
        options.device,
        options.deadline,
        figures,
        options.soak or 0.0,
        no_modes,
    )
    aside = Aside(os.path.abspath(options.trace) if options.trace is not None else "")
    return _asked(host, options, request, aside, 0 if no_modes else count)


def _asked(
    host: Host, options: Options, request: Request, aside: Aside | None = None, count: int = 0
) -> tuple[SmokeRun, ...]:
    """Run what is requested, and say meanwhile how far it is."""
    aside = aside or Aside()
    progress = Progress(options.quiet)
    progress.say("importing torch")
    seen = _listen(host, progress, count, aside)
    try:
        answer = host.ask(request.question())
    except KeyboardInterrupt:
        if not any(name.startswith("figures-") for name in seen):
            raise
        aside.stop.set()  # figures end with what there is; a second interrupt ends at once
        progress.say("ending with what was measured so far")
        answer = host.ask(request.question())
    progress.done()
    if not answer.ok:
        raise UsageError(answer.note or answer.unknown().why)
    runs = from_text(answer.text)
    if not runs:
        raise UsageError("the smoke tests ran, and what they answered cannot be read; please report it")
    return runs


def _listen(host: Any, progress: Progress, count: int, aside: Aside) -> set[str]:
    """Have the live host say how far it is; the names of what was begun."""
    while hasattr(host, "inner"):
        host = host.inner
    done, begun = 0, set[str]()

    def told(what: str, mode: str, rank: int, state: str) -> None:
        nonlocal done
        done += what == "done"
        if what == "mode":
            begun.add(mode)
            progress.say(mode if mode.startswith("figures-") else f"{mode} ({done} of {count} done)")

    host.told, host.aside = told, aside
    return begun


def _beside_peaks(host: Host, runs: tuple[SmokeRun, ...]) -> tuple[tuple[SmokeRun, ...], tuple[LowFigure, ...]]:
    """The runs with figures beside what this machine could reach, and those that are far too low."""
    if not any(run.figures for run in runs):
        return runs, ()
    machine = None
    if any(run.figures and run.device != "cpu" for run in runs):
        from rocdoctor.collect import collect

        machine = collect(host)
    found = tuple(replace(run, figures=with_expected(run.figures, machine)) for run in runs)
    low = tuple(one for run in found if machine is not None for one in low_figures(run.figures, machine))
    return found, low


def _print(options: Options, runs: tuple[SmokeRun, ...], low: tuple[LowFigure, ...]) -> None:
    form = options.format
    if form == "json":
        from rocdoctor.report.smoke.smoke_document import as_json

        print_json(as_json(runs, low))
        return
    if form == "junit":
        from rocdoctor.report.smoke.smoke_junit import render as render_junit

        output.show(render_junit(runs))
        return
    from rocdoctor.report.smoke.smoke_document import document

    output.show(rendered(options, document(runs, low)))
