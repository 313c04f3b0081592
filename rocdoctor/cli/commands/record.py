"""``rocdoctor record``: what a node of a fleet says of itself, in about 8 KB."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

from rocdoctor.cli.arguments import Named, evidence_arguments
from rocdoctor.fleet.record import as_data
from rocdoctor.host import output
from rocdoctor.host.evidence.capture import pack
from rocdoctor.host.live.new_file import folder_for, write_new
from rocdoctor.model.printable import spelled
from rocdoctor.service.errors import UsageError
from rocdoctor.service.node_places import record_folder, record_name
from rocdoctor.service.options import EvidenceOptions, Format
from rocdoctor.service.recording import checked_name, key_of, recorded
from rocdoctor.service.session import Progress

HELP: str = "write what this node of a fleet is and what is wrong with it, as a record of about 8 KB"
FORMATS: tuple[Format, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(EvidenceOptions):
    """Where it is written, for which node, and whether figures are measured."""

    out: str | None = None
    node: str | None = None
    key: str | None = None
    keep_bundle: bool = False
    with_figures: bool = False


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    evidence_arguments(parser, FORMATS)
    add = parser.add_argument
    add(
        "--out",
        type=Named,
        metavar="DIR|-",
        help="folder of records (/run/rocdoctor as root); - prints the record on one line",
    )
    add("--node", metavar="NAME", help="the name of this node ($SLURMD_NODENAME, or that of the host)")
    add(
        "--key",
        type=Named,
        metavar="FILE",
        help="the fleet's key: it reveals a swapped GPU without revealing serial numbers to others",
    )
    add("--keep-bundle", action="store_true", help="keep the evidence alongside it, so that it can be judged again")
    add("--with-figures", action="store_true", help="measure how fast this node is too")


def run(options: Options) -> int:
    """Ask, judge, write; what was found is for those who read the record, so the status is 0."""
    if options.with_figures and options.source is not None:
        raise UsageError("--with-figures runs tests on this machine; it cannot be used with --from")
    if options.source is not None and options.node is None:  # it may be any machine's, and this one would be drained
        raise UsageError("--from does not say which node it is: name the node with --node")
    node = checked_name(options.node)
    key = key_of(options.key) if options.key is not None else None
    question = ""
    if options.with_figures:
        from rocdoctor.train.smoke.run.request import Request

        question = Request(figures=True, no_modes=True).question()
    progress = Progress(options.quiet)
    progress.say("asking the machine" if options.source is None else "reading the evidence")
    record, bundle = recorded(options, node, key, question)
    progress.done()
    data = as_data(record)
    if not options.keep_bundle:
        data["bundle"] = None
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True) + "\n"
    if options.out == "-":
        output.structured(text)
        return 0
    folder = Path(options.out or record_folder())
    if options.keep_bundle:  # first, so that no record names a bundle that is not there
        _write(folder / f"{node}.txt.gz", pack(bundle))
    path = folder / record_name(node)
    _write(path, text.encode())
    output.note(f"wrote {spelled(str(path))} ({len(text) // 1024 + 1} KiB)", "")
    return 0


def _write(path: Path, data: bytes) -> None:
    try:
        with folder_for(path.parent, make=True) as folder:
            write_new(path, data, replace=True, folder=folder)
    except OSError as error:
        raise UsageError(f"{spelled(str(path))}: {error.strerror or error}") from None
