"""``rocdoctor smoke``: prove that distributed training computes right, mode by mode."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from rocdoctor.cli import EXIT_FINDINGS, UsageError, suggestion
from rocdoctor.commands.common import Progress, print_json, wants, width
from rocdoctor.host.programs import find_interpreter
from rocdoctor.smoke.plan import MAX_WORLD, PlanError, plan
from rocdoctor.smoke.pool import Pool, PoolError
from rocdoctor.smoke.results import SmokeRun, to_json
from rocdoctor.smoke.runner import Setting, modes_named, run_modes
from rocdoctor.smoke.worker.mode import Mode, all_modes


def run(options: argparse.Namespace) -> int:
    """Plan, run, print. Exit status 1 when a mode computed wrongly or a rank was lost."""
    modes = _modes(options.modes, options.full)
    if options.list:
        sys.stdout.write("".join(f"{one.name:<24} {'full' if one.full else 'quick':<6} {one.title}\n" for one in modes))
        return 0
    if options.world is not None and not 1 <= options.world <= MAX_WORLD:
        raise UsageError(f"--world takes 1 to {MAX_WORLD} ranks, not {options.world}")
    if not sys.platform.startswith("linux"):
        raise UsageError("smoke tests run on Linux only")
    interpreter = find_interpreter(options.python)
    if interpreter is None:
        raise UsageError("no Python interpreter found; name the one that has torch with --python")
    progress = Progress(options.quiet)
    progress.say(f"importing torch in {interpreter}")
    try:
        with Pool(interpreter) as pool:
            runs = [_run(pool, one, modes, progress) for one in _settings(pool, options)]
    except PoolError as problem:
        raise UsageError(f"{interpreter}: {problem}; name another interpreter with --python") from None
    except PlanError as problem:
        raise UsageError(str(problem)) from None
    progress.done()
    _print(options, runs)
    return EXIT_FINDINGS if any(one.state in ("fail", "crashed") for each in runs for one in each.modes) else 0


def _modes(names: Iterable[str], full: bool) -> tuple[Mode, ...]:
    known = [one.name for one in all_modes()]
    for name in names:
        if name not in known:
            raise UsageError(f"no smoke mode '{name}'{suggestion(name, known)}; see rocdoctor smoke --list")
    return modes_named(names, full)


def _settings(pool: Pool, options: argparse.Namespace) -> list[Setting]:
    gpus: list[dict[str, object]] = []
    if options.device != "cpu" and (pool.hello.get("hip") or pool.hello.get("cuda")):
        seen = pool.survey()
        gpus = seen["gpus"]
        if seen.get("error"):
            print(f"rocdoctor: torch cannot use a GPU: {seen['error']}", file=sys.stderr)
    return plan(pool.hello, gpus, options.world, options.backend, options.device, options.deadline)


def _run(pool: Pool, setting: Setting, modes: tuple[Mode, ...], progress: Progress) -> SmokeRun:
    done = 0

    def told(what: str, mode: str, rank: int, state: str) -> None:
        nonlocal done
        done += what == "done"
        if what == "mode":
            progress.say(f"{mode} on {setting.world} ranks, {setting.backend} ({done} of {len(modes)} done)")

    return run_modes(pool, setting, modes, told)


def _print(options: argparse.Namespace, runs: list[SmokeRun]) -> None:
    form = wants(options)
    if form == "json":
        first, *more = [to_json(one) for one in runs]
        print_json({**first, "more": more} if more else first)
        return
    from rocdoctor.report.smoke_text import render

    sys.stdout.write(render(runs, width()))
