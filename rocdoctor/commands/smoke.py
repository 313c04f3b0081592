"""``rocdoctor smoke``: prove that distributed training computes right, mode by mode."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rocdoctor.cli import EXIT_FINDINGS, UsageError, suggestion
from rocdoctor.commands.common import Progress, open_host, print_json, wants, width
from rocdoctor.facts import SmokeRun
from rocdoctor.host.base import Host
from rocdoctor.smoke.live import Request
from rocdoctor.smoke.plan import MAX_WORLD
from rocdoctor.smoke.results import from_text, to_json
from rocdoctor.smoke.runner import modes_named
from rocdoctor.smoke.worker.mode import all_modes


def run(options: argparse.Namespace) -> int:
    """Run the tests (or take recorded ones), print. Exit status 1 when numbers were wrong or a rank was lost."""
    _known(options.modes)
    modes = modes_named(options.modes, options.full)
    if options.list:
        sys.stdout.write("".join(f"{one.name:<24} {'full' if one.full else 'quick':<6} {one.title}\n" for one in modes))
        return 0
    if options.nnodes is not None:
        from rocdoctor.commands import smoke_nodes

        return smoke_nodes.run(options, modes)
    host = open_host(options)
    runs = _recorded(host) if options.source is not None else _perform(host, options, len(modes))
    _print(options, runs)
    return EXIT_FINDINGS if any(one.state in ("fail", "crashed") for each in runs for one in each.modes) else 0


def _known(names: list[str]) -> None:
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


def _perform(host: Host, options: argparse.Namespace, count: int) -> tuple[SmokeRun, ...]:
    if not sys.platform.startswith("linux"):
        raise UsageError("smoke tests run on Linux only")
    if options.world is not None and not 1 <= options.world <= MAX_WORLD:
        raise UsageError(f"--world takes 1 to {MAX_WORLD} ranks, not {options.world}")
    if options.deadline is not None and not 1 <= options.deadline <= 3600:
        raise UsageError(f"--deadline takes 1 to 3600 seconds, not {options.deadline:g}")
    request = Request(
        options.full, tuple(options.modes), options.world, options.backend, options.device, options.deadline
    )
    progress = Progress(options.quiet)
    progress.say("importing torch")
    _listen(host, progress, count)
    answer = host.ask(request.question())
    progress.done()
    if not answer.ok:
        raise UsageError(answer.note or answer.unknown().why)
    return from_text(answer.text)


def _listen(host: Any, progress: Progress, count: int) -> None:
    """Have the live host say how far it is."""
    while hasattr(host, "inner"):
        host = host.inner
    done = 0

    def told(what: str, mode: str, rank: int, state: str) -> None:
        nonlocal done
        done += what == "done"
        if what == "mode":
            progress.say(f"{mode} ({done} of {count} done)")

    host.told = told


def _print(options: argparse.Namespace, runs: tuple[SmokeRun, ...]) -> None:
    form = wants(options)
    if form == "json":
        print_json(to_json(runs))
        return
    from rocdoctor.report.smoke_text import markdown, render

    sys.stdout.write(markdown(runs) if form == "markdown" else render(runs, width()))
