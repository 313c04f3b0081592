"""``rocdoctor fleet``: which of many nodes to take out, and why, from the records that they make of themselves."""

from __future__ import annotations

import os
import shlex
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal, get_args

from rocdoctor.cli.arguments import Named, format_arguments, how_many, percent, whole_seconds
from rocdoctor.cli.commands.fleet_net import NetOptions, net_arguments
from rocdoctor.cli.main import EXIT_FINDINGS
from rocdoctor.fleet.engines import EngineName
from rocdoctor.fleet.fetching import FetchName
from rocdoctor.fleet.node_names import heard_of, unfolded
from rocdoctor.fleet.store import Batch, Store, StoreError
from rocdoctor.fleet.verdicts import FleetVerdict
from rocdoctor.host import output
from rocdoctor.model.printable import spelled
from rocdoctor.report.document import Document
from rocdoctor.service.errors import InputError, UsageError
from rocdoctor.service.evidence import standard_stream
from rocdoctor.service.new_files import write_files, write_new
from rocdoctor.service.options import EvidenceOptions, Format
from rocdoctor.service.session import print_json, rendered

HELP: str = "which of many nodes to drain and why, judged from the records of all nodes"
FORMATS: tuple[Format, ...] = ("text", "json", "markdown")
Action = Literal[
    "run", "tick", "ingest", "judge", "show", "why", "since", "page", "metrics", "apply", "forget", "emit", "net"
]
_RECORDS = "/shared/records"
_TARGETS = ("slurm", "k8s", "nfd", "ansible", "nhc", "npd", "systemd", "prometheus", "grafana")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(NetOptions):
    """What is done with which store; ``inputs`` are records, the name of a node, or the file of the page."""

    action: Action
    store: str | None = None
    inputs: tuple[str, ...] = ()
    at: int | None = None
    on: Literal["slurm", "k8s", "flux", "srun", "clush", "pdsh", "ansible"] | None = None
    yes: bool = False
    undo: bool = False
    share: float = 5.0
    most: int | None = None
    floor: int = 0
    rate: float = 2.0
    suspects: bool = False
    records: str = _RECORDS
    program: str | None = None
    image: str = ""
    key: str | None = None
    limit: int = 60
    at_once: int = 64
    inventory: str | None = None
    quiet: bool = False


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    format_arguments(parser, FORMATS)
    add = parser.add_argument
    told = "run: collect records from nodes and judge; tick: read records and judge; "
    told += "ingest: read records for the next tick; judge: show the last round again; "
    add(
        "action",
        choices=get_args(Action),
        help=told
        + "show: the same on a screen; why: all findings of one node; since: what changed since a time; "
        + "page: write an HTML file; metrics: write a file for Prometheus; apply: drain nodes; "
        + "forget: drop the history of nodes that are gone or were rebuilt; "
        + "emit: write files for your scheduler and monitoring; net: measure the network, run on each node",
    )
    told = f"folder that keeps the fleet's records; emit: {', '.join(_TARGETS[:-1])} or {_TARGETS[-1]}; "
    told += "net: the nodes, e.g. gpu[01-40] (within srun: none)"
    add("store", nargs="?", type=Named, metavar="STORE", help=told)
    told = (
        "run: nodes, e.g. gpu[01-40]; tick, ingest: folders of NODE.json, files with lines 'NODE: RECORD', or -; "
        "why, forget: nodes; since: a time, written as for --at (a day before the last round); "
        "page, metrics, emit: what to write"
    )
    add("inputs", nargs="*", type=Named, metavar="INPUT", help=told)
    add("--at", type=when, metavar="TIME", help="as of this time (2026-11-24T13:00Z, or seconds since 1970)")
    add(
        "--on",
        choices=tuple(dict.fromkeys((*get_args(EngineName), *get_args(FetchName)))),
        help="apply: slurm, k8s or flux (slurm); run: srun, clush, pdsh, ansible or flux",
    )
    add("--limit", type=whole_seconds, metavar="S", help="run: time limit per node (60 s)")
    add("--at-once", type=how_many, metavar="N", help="run: nodes asked at once; not for srun (64)")
    add("--inventory", type=Named, metavar="FILE", help="run: inventory for ansible (node names as given)")
    add("--key", metavar="FILE", help="run: path of the key on the nodes, as in record --key")
    add("--yes", action="store_true", help="apply: make the calls; without it they are only printed")
    add(
        "--undo",
        action="store_true",
        help="apply: undo the last apply where the reasons are still ours",
    )
    add("--share", type=percent, metavar="PERCENT", help="apply: most nodes that rocdoctor may keep drained (5)")
    add("--most", type=int, metavar="N", help="apply: the same as a number")
    add("--floor", type=int, metavar="N", help="apply: nodes that must stay in service (0)")
    add("--rate", type=percent, metavar="PERCENT", help="apply: most nodes to drain within an hour (2)")
    told = "apply: also set aside nodes to test, in a reservation of Slurm or by a taint of Kubernetes"
    add("--suspects", action="store_true", help=told)
    add("--records", metavar="DIR", help=f"emit: folder that all nodes write to ({_RECORDS})")
    add(
        "--program",
        metavar="PATH",
        help="run, emit: path of rocdoctor on the nodes (run: from PATH; emit: this one)",
    )
    add("--image", metavar="IMAGE", help="emit k8s: container image with rocdoctor and kubectl in it")
    add("--no-color", action="store_true", help="no colours (NO_COLOR does the same)")
    add("--quiet", action="store_true", help="print only nodes that need action, one per line")
    net_arguments(parser)


def when(text: str) -> int:
    """A time from the command line, in seconds since 1970."""
    try:
        if text.isdecimal():
            return int(datetime.fromtimestamp(int(text[:12]), timezone.utc).timestamp())
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return int((found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp())
    except (ValueError, OverflowError):
        raise ArgumentTypeError(f"'{text}' is not a time such as 2026-11-24T13:00Z") from None


def run(options: Options) -> int:
    """Do what was asked; 1 where a node is to be taken out."""
    if options.action == "since" and options.format == "json":
        raise UsageError("since has no --json; judge --at gives the verdict of both times")
    if options.format != "text" and options.action not in ("run", "tick", "judge", "why", "since", "net"):
        raise UsageError(f"{options.action} has no --{options.format}; run, tick, judge, why and net have")
    if options.action == "net":
        return _net(options)
    if options.store is None:
        raise UsageError(f"{options.action} takes a STORE, or emit a target: rocdoctor fleet {options.action} STORE")
    if options.action == "emit":
        return _emit(options)
    store = Store(Path(options.store))
    if options.action == "show":
        return _screen(options, store)
    try:
        if options.action == "since":
            return _since(options, store)
        if options.action == "forget":
            return _forget(options, store)
        if options.action == "apply" and options.undo:
            store.safe()
            return _apply(options, None)
        if options.action == "ingest":
            batch = _batch(options.inputs)
            store.keep(batch)
            output.note(f"{batch.came()}; judged by the next tick", "")
            return 0
        if options.action in ("run", "tick"):
            if options.action == "run":
                store.safe()
            batch = store.kept(_fetched(options) if options.action == "run" else _batch(options.inputs))
            found = store.tick(batch, int(time.time()) if options.at is None else options.at)
            if batch.problems or batch.unnamed or batch.beyond or batch.doubles:
                output.note(batch.came(), "")
        else:
            found = store.again(options.at)
    except StoreError as error:
        raise UsageError(f"{options.store}: {error}") from None
    if options.action == "why":
        return _why(options, found)
    if options.action == "page":
        return _page(options, found)
    if options.action == "metrics":
        return _metrics(options, found)
    if options.action == "apply":
        return _apply(options, found)
    _show(options, found)
    if options.action == "run" and not found.told:
        return EXIT_FINDINGS
    return EXIT_FINDINGS if any(one.proposal == "drain" for one in found.nodes) else 0


def _screen(options: Options, store: Store) -> int:
    """The last round on a screen, until somebody leaves it."""
    from rocdoctor.cli.commands.tui import shown

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        same = shlex.join(("rocdoctor", "fleet", "judge", str(options.store)))
        raise UsageError(f"show needs a terminal; {same} prints the same")

    def judged() -> FleetVerdict:
        return store.again(options.at)

    try:
        store.safe()
    except StoreError as error:
        raise UsageError(f"{options.store}: {error}") from None
    from rocdoctor.tui.fleet.fleet_app import FleetApp

    shown(FleetApp(str(options.store), judged))


def _net(options: Options) -> int:
    from rocdoctor.cli.commands.fleet_net import run as measure

    if options.inputs:
        raise UsageError("net takes the nodes in one word: rocdoctor fleet net 'gpu[01-40]'")
    return measure(options.store, options)


def _fetched(options: Options) -> Batch:
    """What nodes say of themselves when they are asked now."""
    from rocdoctor.fleet.fetching import Asking, FetchError
    from rocdoctor.service.fleet_fetch import fetched

    engine = next((one for one in get_args(FetchName) if one == options.on), None)
    if engine is None:
        raise UsageError(f"run takes --on {', '.join(get_args(FetchName)[:-1])} or {get_args(FetchName)[-1]}")
    try:
        nodes = tuple(unfolded(" ".join(options.inputs)))
        if not nodes:
            raise UsageError(f"run takes the nodes to ask: rocdoctor fleet run STORE 'gpu[01-40]' --on {engine}")
        program = options.program or "rocdoctor"
        asking = Asking(nodes, program, options.key, options.limit, options.at_once, options.inventory)
        return fetched(engine, asking, lambda words: output.note(f"+ {words}", ""))
    except (FetchError, ValueError) as error:
        raise UsageError(str(error)) from None


def _since(options: Options, store: Store) -> int:
    """What changed; 1 where a node is to be drained that was not."""
    from rocdoctor.report.fleet.changes_document import document

    if len(options.inputs) > 1:
        raise UsageError("since takes one time: rocdoctor fleet since STORE 2026-11-24T13:00Z")
    try:
        at = when(options.inputs[0]) if options.inputs else None
    except ArgumentTypeError as error:
        raise UsageError(str(error)) from None
    found = store.since(at)
    output.show(_rendered(options, document(found)))
    return EXIT_FINDINGS if found.to_drain else 0


def _forget(options: Options, store: Store) -> int:
    if not options.inputs:
        raise UsageError("forget takes names of nodes: rocdoctor fleet forget STORE NODE...")
    batch = Batch()
    batch.forget = _named(options.inputs, store.again())
    store.keep(batch)
    output.note(f"the next tick forgets what is kept of {', '.join(options.inputs)}; records from then on count", "")
    return 0


def _named(inputs: Sequence[str], last: FleetVerdict) -> tuple[str, ...]:
    """The nodes of lists as they are printed. Raises UsageError for one that was never heard of."""
    try:
        return heard_of(inputs, {*last.kinds, *(one.node for one in last.nodes)})
    except ValueError as error:
        raise UsageError(str(error)) from None


def _batch(inputs: Sequence[str]) -> Batch:
    batch = Batch()
    for name in inputs:
        try:
            batch.read_lines(standard_stream()) if name == "-" else batch.read(Path(name))
        except OSError as error:
            raise InputError(f"{name}: {error.strerror or error}") from None
    return batch


def _show(options: Options, found: FleetVerdict) -> None:
    if options.format == "json":
        from rocdoctor.report.fleet.fleet_json import report

        print_json(report(found))
    else:
        from rocdoctor.report.fleet.fleet_document import document

        output.show(_rendered(options, document(found, quiet=options.quiet)))


def _rendered(options: Options, blocks: Document) -> str:
    return rendered(EvidenceOptions(format=options.format, no_color=options.no_color), blocks)


def _why(options: Options, found: FleetVerdict) -> int:
    names, said = _named(options.inputs, found), {one.node: one for one in found.nodes}
    if not names:
        raise UsageError("why takes names of nodes: rocdoctor fleet why STORE NODE...")
    if options.format == "json":
        from rocdoctor.report.fleet.fleet_json import report

        data = report(found)
        print_json({**data, "nodes": [each for each in data["nodes"] if each["node"] in names]})
    else:
        from rocdoctor.report.fleet.fleet_document import why

        for name in names:
            if name in said:
                output.show(_rendered(options, why(said[name])))
            else:
                output.line(f"{name}: no findings")
    return EXIT_FINDINGS if any(said[name].proposal == "drain" for name in names if name in said) else 0


def _page(options: Options, found: FleetVerdict) -> int:
    if len(options.inputs) != 1:
        raise UsageError("page takes the file to write: rocdoctor fleet page STORE FILE.html")
    from rocdoctor.report.fleet.fleet_page import page

    write_new(Path(options.inputs[0]), page(found), force=True)
    return 0


def _metrics(options: Options, found: FleetVerdict) -> int:
    if len(options.inputs) != 1:
        raise UsageError("metrics takes the file to write: rocdoctor fleet metrics STORE FILE.prom")
    from rocdoctor.host.live import new_file
    from rocdoctor.report.fleet.fleet_metrics import metrics

    path = Path(options.inputs[0])
    try:
        with new_file.folder_for(path.parent) as folder:  # the collector runs as another user: it may read this
            new_file.write_new(path, metrics(found).encode(), 0o644, replace=True, folder=folder)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    return 0


def _emit(options: Options) -> int:
    from rocdoctor.fleet.site_files import SiteError, SitePlaces, SiteTarget, site_files

    target = next((one for one in get_args(SiteTarget) if one == options.store), None)
    if target is None or len(options.inputs) != 1:
        raise UsageError(f"emit takes a target and a folder: rocdoctor fleet emit {'|'.join(get_args(SiteTarget))} DIR")
    program = options.program or os.path.abspath(sys.argv[0])
    try:
        files = site_files(target, SitePlaces(program, options.records, options.image))
    except SiteError as error:
        raise UsageError(str(error)) from None
    for path in write_files(Path(options.inputs[0]), files):
        output.note(f"wrote {spelled(str(path))}", "")
    return 0


def _apply(options: Options, found: FleetVerdict | None) -> int:
    """Print the calls, or make them; 1 where one failed. Without a verdict the last apply is taken back."""
    from rocdoctor.fleet.acting import ActionLimits
    from rocdoctor.fleet.engines import ENGINES
    from rocdoctor.report.fleet.fleet_document import action_lines
    from rocdoctor.service.fleet_apply import Acting

    engine = next((one for one in get_args(EngineName) if one == (options.on or "slurm")), None)
    if engine is None:
        raise UsageError(f"apply takes --on {' or '.join(get_args(EngineName))}")
    acting = Acting(Path(str(options.store)), on=ENGINES[engine])
    limits = ActionLimits(options.share / 100, options.most, options.floor, options.rate / 100, options.suspects)
    failed: list[str] = []
    if found is None:
        calls, failed = acting.undo(do=options.yes)
        said = list[str]()
    else:
        if options.yes:
            plan, failed = acting.apply(found, limits)
        else:
            plan = acting.planned(found, limits, int(time.time()))
        calls, said = list(plan.calls), action_lines(plan)
    for one in calls:
        for argv in acting.on.commands(one):
            output.line(shlex.join(argv))
    if not calls:
        output.line("nothing to do")
    for line in said:
        output.note(line, "")
    if calls and not options.yes:
        output.note("dry run: nothing was changed. --yes makes these calls.", "")
    for line in failed:
        output.note(f"failed: {line}", "")
    return EXIT_FINDINGS if failed else 0
