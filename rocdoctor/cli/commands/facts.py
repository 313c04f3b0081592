"""``rocdoctor facts``: what the machine is."""

from __future__ import annotations

import argparse

from rocdoctor.collect import collect
from rocdoctor.host import output
from rocdoctor.service.session import Progress, open_host, print_json, wants


def run(options: argparse.Namespace) -> int:
    """Collect and print."""
    progress = Progress(options.quiet)
    progress.say("asking the machine" if options.source is None else "reading the evidence")
    host = open_host(options)
    machine = collect(host, import_torch=options.import_torch, wake=options.wake)
    progress.done()
    if wants(options) == "json":
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
