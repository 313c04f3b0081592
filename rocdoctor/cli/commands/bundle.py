"""``rocdoctor bundle``: the evidence in one text file that is safe to post."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass

from rocdoctor.cli.arguments import Named, evidence_arguments, job_arguments
from rocdoctor.collect import collect
from rocdoctor.host import output
from rocdoctor.host.evidence.capture import pack
from rocdoctor.model.printable import spelled
from rocdoctor.service.bundles import bundle_of, recorder_of, write_bundle
from rocdoctor.service.errors import UsageError
from rocdoctor.service.options import EvidenceOptions, Format
from rocdoctor.service.session import Progress, open_host

HELP: str = "record the evidence in one text file that is safe to post"
FORMATS: tuple[Format, ...] = ("text",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(EvidenceOptions):
    """What is recorded, and where it is written."""

    wake: bool = False
    output: str | None = None
    with_smoke: bool = False
    with_figures: bool = False
    gzip: bool = False
    show: bool = False


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    evidence_arguments(parser, FORMATS)
    job_arguments(parser)
    add = parser.add_argument
    add("-o", "--output", type=Named, metavar="FILE", help="where to write (rocdoctor-<date>-<time>.txt)")
    add("--with-smoke", action="store_true", help="run the quick smoke tests too and record their results")
    add("--with-figures", action="store_true", help="measure how fast this machine is too and record that")
    add("--gzip", action="store_true", help="compress the file (automatic above 5 MB)")
    add("--show", action="store_true", help="print what would be written and what was masked; write nothing")


def run(options: Options) -> int:
    """Collect once, judge, write both: the report for people first, then every question with its answer."""
    question = _smoke(options)
    progress = Progress(options.quiet)
    progress.say("asking the machine" if options.source is None else "reading the evidence")
    host = open_host(options)
    recorder = recorder_of(host, options.include_identity)
    if question:
        progress.say("running smoke tests")
    machine = collect(recorder, smoke=question, wake=options.wake)
    made = bundle_of(recorder, machine, host.kind, options.include_identity)
    progress.done()
    if options.show:
        output.show(made.content)
        output.notes(f"{made.said}\nnothing was written\n")
        return 0
    _deliver(made.content, options)
    return 0


def _smoke(options: Options) -> str:
    """The question of the smoke tests to run, "" for none."""
    if not (options.with_smoke or options.with_figures):
        return ""
    option = "--with-smoke" if options.with_smoke else "--with-figures"
    if options.source is not None:
        raise UsageError(f"{option} runs tests on this machine; it cannot be used with --from")
    if options.pid is not None:
        raise UsageError(f"{option} tests the whole machine; it cannot be used with --pid")
    from rocdoctor.train.smoke.run.request import Request

    return Request(figures=options.with_figures, no_modes=not options.with_smoke).question()


def _deliver(content: str, options: Options) -> None:
    """Write the file, or print it where the output is ``-``."""
    if options.output == "-":
        if options.gzip:
            if output.on_terminal():
                raise UsageError("packed data cannot be shown on a terminal; name a file or use a pipe")
            output.packed(pack(content))
        else:
            output.exact(content)
        return
    path, size, packed = write_bundle(content, options.output, options.gzip)
    kib = size // 1024 + 1
    output.note(f"wrote {spelled(str(path))} ({kib} KiB{', packed' if packed else ''}); read it before you post it", "")
