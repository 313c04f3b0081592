"""``rocdoctor read``: diagnose pasted text."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

from rocdoctor.collect import collect
from rocdoctor.commands.check import exit_code, show
from rocdoctor.commands.common import chosen_checks, open_host, print_json, wants
from rocdoctor.diagnose import diagnose
from rocdoctor.host.base import Host
from rocdoctor.host.text import TextHost
from rocdoctor.next_steps import missing_outputs
from rocdoctor.report.json_report import report


def run(options: argparse.Namespace) -> int:
    """The same as ``check --from`` with the text named directly, and what was recognised in it."""
    options.source = options.file
    checks, problems = chosen_checks(options.only, options.skip, options.checks)
    began = time.monotonic()
    host = open_host(options)
    machine = collect(host)
    diagnosis = diagnose(machine, checks, problems)
    parts = recognised(host)
    if host.kind == "text":
        steps = missing_outputs(machine, host.available())
        known = {step.command for step in diagnosis.next}
        diagnosis = replace(diagnosis, next=(*diagnosis.next, *(one for one in steps if one.command not in known)))
    seconds = time.monotonic() - began
    titles = {one.name: one.title for one in checks}
    if wants(options) == "json":
        subject = {"kind": host.kind, "origin": host.origin}
        data = report(diagnosis, subject, {"total_s": round(seconds, 3), "slowest": []}, titles)
        print_json({**data, "recognised": parts})
    else:
        show(options, host, diagnosis, seconds, titles)
        if wants(options) == "text" and not options.quiet and host.kind == "text":
            sys.stdout.write(_listing(parts))
    return exit_code(diagnosis, options.fail_on)


def recognised(host: Host) -> list[dict[str, object]]:
    """Every part of a pasted text that was recognised: its question, role, and first and last line."""
    base = getattr(host, "inner", host)  # --add lays answers over the text
    if not isinstance(base, TextHost):
        return []
    return [
        {"question": part.question, "role": part.role, "first_line": min(part.numbers), "last_line": max(part.numbers)}
        for part in base.recognised
    ]


def _listing(parts: list[dict[str, object]]) -> str:
    """The parts for people; of a long text the first ones."""
    if not parts:
        return "\nNothing in this text was recognised as evidence of a machine.\n"
    rows = []
    for part in parts[:40]:
        first, last = part["first_line"], part["last_line"]
        place = f"line {first}" if first == last else f"lines {first}-{last}"
        aside = "" if part["role"] == "now" else f"  (not used: {_ROLES[str(part['role'])]})"
        rows.append(f"  {place:<16} {_NAMES.get(str(part['question']), str(part['question']))}{aside}\n")
    more = f"  and {len(parts) - 40} more\n" if len(parts) > 40 else ""
    return "\nRecognised in this text:\n" + "".join(rows) + more


_ROLES = {
    "tried": "was tried or taken back",
    "advice": "advice",
    "other": "another machine, a quotation or a comparison",
}
_NAMES = {
    "stated": "cards, systems and versions named in words",
    "env": "environment variables",
    "log nccl": "log of NCCL or RCCL",
}
