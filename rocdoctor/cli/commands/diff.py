"""``rocdoctor diff``: what differs between machines, or between two looks at one."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from argparse import ArgumentParser
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocdoctor.cli.arguments import Named, evidence_arguments
from rocdoctor.cli.main import EXIT_FINDINGS
from rocdoctor.compare.differences import compare
from rocdoctor.compare.snapshot import Snapshot
from rocdoctor.host import output
from rocdoctor.service.errors import InputError, UsageError
from rocdoctor.service.evidence import open_evidence
from rocdoctor.service.options import EvidenceOptions, Format
from rocdoctor.service.session import Progress, chosen_checks, print_json, rendered
from rocdoctor.service.snapshots import read_snapshot

if TYPE_CHECKING:
    from rocdoctor.judging.check import Check

HELP: str = "what differs between machines, or between two bundles of the same one"
FORMATS: tuple[Format, ...] = ("text", "json", "markdown")
_MOST = 10_000
_FEW = 4  # inputs that one process reads in less time than others take to start
_MOST_PROCESSES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(EvidenceOptions):
    """The evidence of two or more machines, or looks at one."""

    inputs: tuple[str, ...]


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    evidence_arguments(parser, FORMATS)
    told = "two or more bundles, folders, archives or pasted texts"
    parser.add_argument("inputs", nargs="+", type=Named, metavar="FILE|DIR|-", help=told)


def run(options: Options) -> int:
    """Read all inputs, compare, print."""
    names = options.inputs
    if options.source is not None or options.add:
        raise UsageError("diff takes its inputs by name: rocdoctor diff A B; it cannot be used with --from and --add")
    if not 2 <= len(names) <= _MOST:
        raise UsageError(f"diff compares two or more inputs (bundles, folders, texts), not {len(names)}")
    if names.count("-") > 1:
        raise UsageError("standard input can be read once")
    progress = Progress(options.quiet)
    progress.say("reading the evidence")
    found = compare(snapshots(names, options.include_identity))
    progress.done()
    if options.format == "json":
        from rocdoctor.report.diff.diff_json import report

        print_json(report(found))
    else:
        from rocdoctor.report.diff.diff_document import document

        output.show(rendered(options, document(found, quiet=options.quiet)))
    return EXIT_FINDINGS if found.drift else 0


def snapshots(names: Sequence[str], identity: bool = False) -> list[Snapshot]:
    """The machines in the order of their names, read by several processes where there are many; raises InputError.

    ``identity``: with the names and secrets of evidence that nobody has masked.
    """
    checks = chosen_checks((), ())[0]
    workers = min(_processors(), len(names), _MOST_PROCESSES)
    files = [name for name in names if name != "-"]
    if len(files) < _FEW or workers < 2 or "fork" not in multiprocessing.get_all_start_methods():
        return [_read(name, checks, identity) for name in names]
    # A fork has the checks and tables that are loaded; the first input loads the tables.
    found = {name: _read(name, checks, identity) for name in (files[0], *(["-"] if "-" in names else []))}
    rest = list(dict.fromkeys(name for name in files if name not in found))
    global _checks, _identity
    _checks, _identity = checks, identity
    context = multiprocessing.get_context("fork")
    gc.freeze()  # what is shared stays shared
    chunk = max(1, len(rest) // (workers * 4))
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_in_silence) as pool:
        try:
            for name, answer in zip(rest, pool.map(_in_worker, rest, chunksize=chunk), strict=True):
                if isinstance(answer, str):
                    raise InputError(answer)
                found[name] = answer
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [found[name] for name in names]


_checks: Sequence[Check] = ()
_identity = False


def _in_silence() -> None:
    """An interrupt is answered by the process that the user started; a worker would print where it was."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # a worker ends before its garbage is much: this saves a fifth of its time


def _in_worker(name: str) -> Snapshot | str:
    """The machine, or why it cannot be read."""
    try:
        return _read(name, _checks, _identity)
    except InputError as problem:
        return str(problem)


def _read(name: str, checks: Sequence[Check], identity: bool) -> Snapshot:
    return read_snapshot(name, open_evidence(name), checks, identity)


def _processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
