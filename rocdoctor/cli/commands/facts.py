"""``rocdoctor facts``: what the machine is."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass

from rocdoctor.cli.arguments import evidence_arguments, import_torch_argument, job_arguments
from rocdoctor.collect import collect
from rocdoctor.host import output
from rocdoctor.service.options import EvidenceOptions, Format
from rocdoctor.service.session import Progress, open_host, print_json

HELP: str = "print what the machine is, as JSON or text"
FORMATS: tuple[Format, ...] = ("text", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(EvidenceOptions):
    """How closely the machine is looked at."""

    wake: bool = False
    import_torch: bool = False


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    evidence_arguments(parser, FORMATS)
    job_arguments(parser)
    import_torch_argument(parser)


def run(options: Options) -> int:
    """Collect and print."""
    progress = Progress(options.quiet)
    progress.say("asking the machine" if options.source is None else "reading the evidence")
    host = open_host(options)
    machine = collect(host, import_torch=options.import_torch, wake=options.wake)
    progress.done()
    if options.format == "json":
        from rocdoctor.report.machine.json_facts import facts

        print_json(facts(machine))
    else:
        from rocdoctor.report.machine.summary import machine_lines
        from rocdoctor.report.masked import discretion_of

        lines = machine_lines(machine)
        if not options.include_identity:
            lines = discretion_of(host).texts(lines)
        output.show("".join(line + "\n" for line in lines))
    return 0
